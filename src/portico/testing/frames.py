"""Checks JSON-RPC frames against the official ACP schema.

The checker follows one connection: it has to see both directions, because an answer can only be judged by the
request it answers.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import jsonschema_rs
import msgspec
from msgspec import UnsetType

from portico.domain import codecs
from portico.rpc.frames import Direction
from portico.rpc.malformed import malformed_request_id
from portico.rpc.tap import TappedFrame

Side = Literal["client", "agent"]

_OTHER: dict[Side, Side] = {"client": "agent", "agent": "client"}
_MEMBERS = {"jsonrpc", "id", "method", "params", "result", "error"}
_UNREADABLE = "_unreadable"
_KINDS = ("Request", "Response", "Notification")


class FrameProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with one frame. `method` is empty where the frame does not tell it."""

    direction: Direction
    sender: Side
    method: str
    message: str
    frame: str

    def __str__(self) -> str:
        return f"{self.direction} by the {self.sender}: {self.method or 'a frame'}: {self.message} in {self.frame}"


class InvalidFrames(AssertionError):
    """Portico sent frames that the schema does not allow; its developer must act."""


class AcpSchema:
    """The definitions of the official schema, found by method and by who handles it. Validators are made once."""

    def __init__(self, path: Path) -> None:
        document = json.loads(path.read_bytes())
        self._definitions: dict[str, Any] = document["$defs"]
        self._dialect: str = document["$schema"]
        self._validators: dict[str, jsonschema_rs.Draft202012Validator] = {}
        self._names: dict[tuple[str, str, str], str] = {}
        for name, definition in self._definitions.items():
            kind = next((kind for kind in _KINDS if name.endswith(kind)), None)
            if kind is not None and "x-method" in definition:
                self._names[definition["x-method"], definition["x-side"], kind] = name

    def definition(self, method: str, handler: Side, kind: str) -> str | None:
        """The name of a message: of a method that this side handles, or that either side may."""
        sides = (handler, "protocol", "proxy")
        return next((name for side in sides if (name := self._names.get((method, side, kind)))), None)

    def problems(self, definition: str, value: object) -> Iterator[str]:
        if definition not in self._validators:
            reference = f"#/$defs/{definition}"
            schema = {"$schema": self._dialect, "$ref": reference, "$defs": self._definitions}
            self._validators[definition] = jsonschema_rs.Draft202012Validator(schema)
        try:
            for error in self._validators[definition].iter_errors(value):
                yield _explain(error)
        except UnicodeEncodeError as error:
            yield f"half of a character stands where text should: {error.reason}"


@cache
def load_schema(path: Path) -> AcpSchema:
    return AcpSchema(path)


class FrameChecker:
    """Judges the frames of one connection, in the order in which they went over it."""

    def __init__(self, schema: Path) -> None:
        self._schema = load_schema(schema)
        # What was asked and not yet answered, by who asked and by id: 1 and "1" are two ids.
        self._asked: dict[tuple[Side, type, object], list[str]] = {}

    def check(self, direction: Direction, line: bytes | str, sender: Side) -> list[FrameProblem]:
        """The problems of a line that `sender` sent; empty if it is valid."""
        try:
            frame = _parse(line)
        except (ValueError, RecursionError) as error:
            method, messages = "", [f"not a JSON object on one line: {error}"]
            self._expect_refusal(line if isinstance(line, bytes) else line.encode(), sender)
        else:
            method, messages = self._check_frame(frame, sender)
        text = line if isinstance(line, str) else line.decode("utf-8", "replace")
        return [
            FrameProblem(direction=direction, sender=sender, method=method, message=message, frame=text[:400])
            for message in messages
        ]

    def _expect_refusal(self, line: bytes, sender: Side) -> None:
        """A request that cannot be read may be answered all the same, if its id can."""
        request_id = malformed_request_id(line)
        if not isinstance(request_id, UnsetType):
            self._asked.setdefault(_key(sender, request_id), []).append(_UNREADABLE)

    def _check_frame(self, frame: dict[str, Any], sender: Side) -> tuple[str, list[str]]:
        problems = []
        if frame.get("jsonrpc") != "2.0":
            problems.append('"jsonrpc" is not "2.0"')
        if extra := frame.keys() - _MEMBERS:
            problems.append(f"JSON-RPC has no {', '.join(sorted(extra))}")
        if "id" in frame:
            problems.extend(self._schema.problems("RequestId", frame["id"]))
        method = frame.get("method")
        if method is None:
            method, found = self._check_answer(frame, sender)
        elif not isinstance(method, str):
            method, found = "", ['"method" is not text']
        else:
            found = self._check_call(frame, method, sender)
        return method, problems + found

    def _check_call(self, frame: dict[str, Any], method: str, sender: Side) -> list[str]:
        problems = [f'"{member}" beside "method"' for member in ("result", "error") if member in frame]
        kind = "Request" if "id" in frame else "Notification"
        if method == "initialize":
            # A connection begins here: what an earlier one of its name still waited for died with it.
            self._asked.clear()
        if kind == "Request":
            asked = self._asked.setdefault(_key(sender, frame["id"]), [])
            if asked:
                problems.append("the id belongs to a request that is not answered yet")
            asked.append(method)
        if method.startswith("_"):
            return problems
        definition = self._schema.definition(method, _OTHER[sender], kind)
        if definition is None:
            return [*problems, f"no {kind.lower()} that the {sender} may send"]
        params = frame.get("params")
        return problems + list(self._schema.problems(definition, {} if params is None else params))

    def _check_answer(self, frame: dict[str, Any], sender: Side) -> tuple[str, list[str]]:
        if ("result" in frame) == ("error" in frame):
            return "", ['neither a call nor an answer with one of "result" and "error"']
        if "id" not in frame:
            return "", ["an answer without an id"]
        broken = list(self._schema.problems("Error", frame["error"])) if "error" in frame else []
        if frame["id"] is None and "error" in frame:
            return "", broken
        asked = self._asked.get(_key(_OTHER[sender], frame["id"]))
        if not asked:
            return "", [*broken, "it answers no request"]
        method = asked.pop(0)
        if "error" in frame or method.startswith("_"):
            return method, broken
        definition = self._schema.definition(method, sender, "Response")
        return method, [] if definition is None else list(self._schema.problems(definition, frame["result"]))


def check_tap_file(tap: Path, schema: Path) -> int:
    """Check the frames that a tap wrote down; how many there were. InvalidFrames if Portico sent a wrong one.

    What peers sent is followed, not judged: they may be scripted to be wrong.
    """
    checkers: dict[str, FrameChecker] = {}
    problems: list[FrameProblem] = []
    # A last line without a line break was being written when its process was killed.
    lines = tap.read_bytes().split(b"\n")[:-1]
    for line in lines:
        tapped = codecs.decode_json(line, TappedFrame)
        checker = checkers.setdefault(tapped.connection, FrameChecker(schema))
        sender = tapped.role if tapped.direction == "sent" else _OTHER[tapped.role]
        problems += checker.check(tapped.direction, tapped.frame, sender)
    wrong = [str(problem) for problem in problems if problem.direction == "sent"]
    if wrong:
        raise InvalidFrames(f"{tap.name}: {len(wrong)} of {len(lines)} frames\n" + "\n".join(wrong))
    return len(lines)


def _parse(line: bytes | str) -> dict[str, Any]:
    text = line.decode("utf-8") if isinstance(line, bytes) else line
    text = text.removesuffix("\n")
    if "\n" in text or "\r" in text:
        raise ValueError("a line break inside")
    frame = json.loads(text, parse_constant=_no_constant)
    if not isinstance(frame, dict):
        raise ValueError("no object")  # noqa: TRY004  A wrong frame like any other.
    return frame


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _key(asker: Side, request_id: object) -> tuple[Side, type, object]:
    return asker, type(request_id), request_id if isinstance(request_id, (str, int)) else repr(request_id)


def _explain(error: Any) -> str:
    """The reason nearest to what was meant: where there are branches, those of the branch that fits best."""
    branches = getattr(error.kind, "context", None) or []
    if branches:
        best = min(branches, key=len)
        return "; ".join(_explain(reason) for reason in best)
    place = ".".join(str(part) for part in error.instance_path)
    return f"{place or 'the whole'}: {error.message}"
