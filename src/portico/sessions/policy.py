"""Rules that answer permission requests when they plainly cover them.

A rule is a tool kind, or `all`, and optionally a pattern: `read`, `edit:src/**`,
`execute:pytest*`. A denial wins over an allowance. What no rule covers is left to a person.
"""

import posixpath
import re
from fnmatch import fnmatchcase
from typing import get_args

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import DiffPart, PermissionRequested, ToolKind
from portico.sessions.permissions import Decision

_KINDS = (*get_args(ToolKind), "all")
_SHELL = re.compile(r"[;&|<>$`\n(){}\\]")


class Rule(msgspec.Struct, frozen=True):
    text: str
    kind: str
    pattern: str | None

    def covers(self, request: PermissionRequested, workspace: str) -> bool:
        """Whether everything that the request is about falls under this rule."""
        if self.kind not in ("all", request.tool_kind):
            return False
        subjects = _subjects(request, workspace)
        return self.pattern is None or (bool(subjects) and all(self._matches(one) for one in subjects))

    def touches(self, request: PermissionRequested, workspace: str) -> bool:
        """Whether anything that the request is about falls under this rule."""
        if self.kind not in ("all", request.tool_kind):
            return False
        subjects = _subjects(request, workspace)
        return self.pattern is None or not subjects or any(self._resembles(one) for one in subjects)

    def _matches(self, subject: str) -> bool:
        """A pattern never stretches over shell syntax: `pytest*` is not `pytest; rm -r .`."""
        return self.pattern == subject or (not _SHELL.search(subject) and self._resembles(subject))

    def _resembles(self, subject: str) -> bool:
        return self.pattern is not None and fnmatchcase(subject, self.pattern.replace("**", "*"))


class Policy(msgspec.Struct, frozen=True):
    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def decide(self, request: PermissionRequested, workspace: str) -> Decision | None:
        """A decision if a rule has one; None leaves the question to a person."""
        for rule in self.deny:
            if rule.touches(request, workspace):
                return Decision(option_id=None, by="policy", rule=rule.text)
        once = next((option for option in request.options if option.kind == "allow_once"), None)
        if once is not None:
            for rule in self.allow:
                if rule.covers(request, workspace):
                    return Decision(option_id=once.option_id, by="policy", rule=rule.text)
        return None


def parse_rule(text: str) -> Rule:
    kind, colon, pattern = text.partition(":")
    if kind not in _KINDS or (colon and not pattern):
        raise InvalidInput(
            f"{text!r} is not a permission rule.",
            suggestion=f"Write a kind ({', '.join(_KINDS)}), or kind:pattern, as in edit:src/** or execute:pytest*",
        )
    return Rule(text, kind, pattern or None)


class _Command(msgspec.Struct):
    command: str | list[str] | None = None
    args: list[str] = []


def _subjects(request: PermissionRequested, workspace: str) -> list[str]:
    """What the request is about: a command line, or paths relative to the workspace."""
    if request.tool_kind == "execute":
        return [_command_line(request)]
    paths = [location.path for location in request.locations]
    paths += [part.path for part in request.content if isinstance(part, DiffPart)]
    return [_relative(path, workspace) for path in paths]


def _command_line(request: PermissionRequested) -> str:
    if isinstance(request.input, msgspec.Raw):
        try:
            found = msgspec.json.decode(request.input, type=_Command)
        except msgspec.DecodeError:
            found = _Command()
        if found.command:
            words = [found.command] if isinstance(found.command, str) else found.command
            return " ".join([*words, *found.args])
    return request.title.strip("`")


def _relative(path: str, workspace: str) -> str:
    """As seen from the workspace; a path outside stays absolute, so that no relative rule covers it."""
    absolute = posixpath.normpath(posixpath.join(workspace, path.replace("\\", "/")))
    root = workspace.replace("\\", "/").rstrip("/") + "/"
    return absolute[len(root) :] if absolute.startswith(root) else absolute
