"""Changes members of a JSONC document and keeps its comments and order."""

import re
from collections.abc import Sequence

from portico.domain.errors import InvalidInput

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<open>[{\[])
  | (?P<close>[}\]])
  | (?P<mark>[:,])
  | (?P<word>[^\s{}\[\]:,"]+)
    """,
    re.VERBOSE | re.DOTALL,
)

_COMMA = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*+,", re.DOTALL)


class _Member:
    """The position of one member of the top-level object."""

    def __init__(self, name: str, start: int) -> None:
        self.name = name
        self.start = start
        self.value_start = -1
        self.value_end = -1


def with_path(text: str, names: Sequence[str], value: str | None) -> str:
    """Return the document with a member of nested objects set to JSON text, or removed with None."""
    name, *rest = names
    if not rest:
        return with_member(text, name, value)
    found = [one for one in _members(text)[1] if one.name == name] if text.strip() else []
    if found:
        start, end = found[-1].value_start, found[-1].value_end
        return text[:start] + with_path(text[start:end], rest, value) + text[end:]
    if value is None:
        return text
    return with_member(text, name, with_path("{}", rest, value).replace("\n", "\n  "))


def with_member(text: str, name: str, value: str | None) -> str:
    """Return the document with a member of its top-level object set to JSON text, or removed with None."""
    if not text.strip():
        text = "{\n}\n"
    opening, members = _members(text)
    named = [one for one in members if one.name == name]
    if named and value is not None:
        # Of duplicate members the last one counts.
        return text[: named[-1].value_start] + value + text[named[-1].value_end :]
    if value is None:
        for member in reversed(named):
            text = _without(text, member)
        return text
    comma = "," if members else ""
    rest = text[opening + 1 :]
    separator = "" if rest.startswith("\n") else "\n"
    return f'{text[: opening + 1]}\n  "{name}": {value}{comma}{separator}{rest}'


def _without(text: str, member: _Member) -> str:
    """Remove a member, its comma and the line that becomes empty."""
    end = member.value_end
    before = text[: member.start].rstrip()
    if after := _COMMA.match(text, end):
        # A comment between the value and its comma belongs to the value.
        end = after.end()
    elif before.endswith(","):
        return before[:-1] + text[end:]
    line_end = re.compile(r"[ \t]*\n").match(text, end)
    start = len(text[: member.start].rstrip(" \t"))
    return text[:start] + text[line_end.end() if line_end else end :]


def _members(text: str) -> tuple[int, list[_Member]]:
    opening, depth, at = -1, 0, 0
    members: list[_Member] = []
    current: _Member | None = None
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise _broken()
        at = token.end()
        if token["space"]:
            continue
        if token["open"]:
            depth += 1
            if depth == 1:
                opening = token.start()
                continue
        if token["close"]:
            depth -= 1
        if depth == 0 or (depth == 1 and token["mark"]):
            if token["mark"] == ",":
                current = None
            continue
        if current is None:
            if depth != 1 or not token["string"]:
                raise _broken()
            current = _Member(token["string"][1:-1], token.start())
            members.append(current)
            continue
        if current.value_start < 0:
            current.value_start = token.start()
        current.value_end = token.end()
    if depth != 0 or opening < 0 or text[opening] != "{" or any(one.value_end < 0 for one in members):
        raise _broken()
    return opening, members


def _broken() -> InvalidInput:
    return InvalidInput(
        "The settings file is not a JSON object.",
        suggestion="Fix the file, or move it away to start over.",
    )
