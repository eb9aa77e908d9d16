"""Problems in the output of compilers and linters: file, line and message, from JSON where a tool writes it."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from portico.domain import codecs
from portico.project.failed_tests import join_message

Severity = Literal["error", "warning"]

_MOST = 1000
_PATTERNS = (
    # TypeScript
    re.compile(r"(?P<path>[^\s(][^(\n]*)\((?P<line>\d+),(?P<column>\d+)\): (?P<severity>error|warning) (?P<code>TS\d+): (?P<message>.+)"),
    # Maven
    re.compile(r"\[(?P<severity>ERROR|WARNING)\] (?P<path>(?:/|[A-Za-z]:)[^:\[\n]+):\[(?P<line>\d+)(?:,(?P<column>\d+))?\] (?P<message>.+)"),
    # GCC, Clang, Go, mypy, javac and most others. Without a column or a severity it may be any text.
    re.compile(r"(?:vet: )?(?P<path>[^\s:\[\]()]+\.\w+):(?P<line>\d+):(?P<column>\d+):? (?:(?P<severity>fatal error|error|warning)[: ] *)?(?P<message>.+)"),
    re.compile(r"(?P<path>[^\s:\[\]()]+\.\w+):(?P<line>\d+): (?P<severity>fatal error|error|warning): (?P<message>.+)"),
)  # fmt: skip
_NOT_PROBLEMS = ("note:", "info:", "remark:")


class ProjectProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem at a place. Lines and columns count from 1."""

    path: str
    line: int
    column: int | None = None
    severity: Severity = "error"
    code: str = ""
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" + (f":{self.column}" if self.column else "")
        code = f" [{self.code}]" if self.code else ""
        return f"{place} {self.severity}{code}: {self.message}"


def read_problems(lines: Iterable[str], root: Path) -> tuple[ProjectProblem, ...]:
    """Each problem once, errors first. Paths in the project are relative to its root."""
    found: dict[ProjectProblem, None] = {}
    for line in lines:
        for problem in _read_line(line):
            found.setdefault(msgspec.structs.replace(problem, path=_relative(problem.path, root)))
            if len(found) >= _MOST:
                break
    return tuple(sorted(found, key=lambda one: one.severity != "error"))


def cargo_text(message: Any) -> str | None:
    """The text that cargo would have printed for people; None if the line is not one of its JSON messages."""
    if not isinstance(message, dict) or not isinstance(message.get("reason"), str):
        return None
    inner = message.get("message")
    rendered = inner.get("rendered") if isinstance(inner, dict) else None
    return rendered if isinstance(rendered, str) else ""


def decode_line(line: str) -> Any:
    """The JSON value on a line; None for any other line."""
    if line[:1] not in "{[" or not line:
        return None
    try:
        return codecs.decode_json(line)
    except (msgspec.DecodeError, RecursionError):
        return None


def _read_line(line: str) -> Iterator[ProjectProblem]:
    value = decode_line(line)
    if value is None:
        yield from _from_text(line)
        return
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            try:
                yield from _from_json(part)
            except (KeyError, TypeError, ValueError, AttributeError):
                continue  # Another JSON that happens to have some of the names.


def _from_text(line: str) -> Iterator[ProjectProblem]:
    for pattern in _PATTERNS:
        if (match := pattern.fullmatch(line.rstrip())) is not None:
            facts = match.groupdict()
            if facts["message"].startswith(_NOT_PROBLEMS):
                return
            yield ProjectProblem(
                path=facts["path"],
                line=int(facts["line"]),
                column=int(facts["column"]) if facts.get("column") else None,
                severity="warning" if (facts["severity"] or "").lower() == "warning" else "error",
                code=facts.get("code") or "",
                message=join_message(facts["message"]),
            )
            return


def _from_json(part: dict[str, Any]) -> Iterator[ProjectProblem]:
    if part.get("reason") == "compiler-message":
        yield from _from_cargo(part["message"])
    elif "filePath" in part and "messages" in part:  # ESLint
        for one in part["messages"]:
            yield ProjectProblem(
                path=str(part["filePath"]),
                line=int(one.get("line") or 1),
                column=one.get("column"),
                severity="error" if one.get("severity") == 2 else "warning",
                code=str(one.get("ruleId") or ""),
                message=join_message(str(one["message"])),
            )
    elif "filename" in part and "location" in part:  # Ruff
        yield ProjectProblem(
            path=str(part["filename"]),
            line=int(part["location"]["row"]),
            column=int(part["location"]["column"]),
            code=str(part.get("code") or ""),
            message=join_message(str(part["message"])),
        )


def _from_cargo(message: dict[str, Any]) -> Iterator[ProjectProblem]:
    if message["level"] not in ("error", "warning"):
        return
    code = message.get("code") or {}
    for span in message["spans"]:
        if span["is_primary"]:
            yield ProjectProblem(
                path=str(span["file_name"]),
                line=int(span["line_start"]),
                column=int(span["column_start"]),
                severity=message["level"],
                code=str(code.get("code", "")),
                message=join_message(str(message["message"])),
            )
            return


def _relative(path: str, root: Path) -> str:
    place = os.path.normpath(path)
    if Path(place).is_absolute():
        for folder in (str(root), os.path.realpath(root)):
            if place.startswith(folder + os.sep):
                return Path(place).relative_to(folder).as_posix()
        return place
    return Path(place).as_posix()
