"""Frames of an ACP connection, and seeded mutations of them: odd values, broken text, cut and doubled bytes."""

import json
import random
import re
from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def _call(method: str, params: Any, request_id: Any = 7) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def _note(method: str, params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _update(**update: Any) -> Json:
    return _note("session/update", {"sessionId": "s1", "update": update})


def _tool(**fields: Any) -> Json:
    return {"toolCallId": "c1", "title": "Edit a.py", "kind": "edit", **fields}


_TEXT = {"type": "text", "text": "hello \u00e9 \U0001f600"}
_OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
_ANSWERS: list[Json] = [
    {"jsonrpc": "2.0", "id": 1, "result": {}},
    {"jsonrpc": "2.0", "id": 2, "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}},
    {"jsonrpc": "2.0", "id": "x", "error": {"code": -32603, "message": "no", "data": {"details": "why"}}},
    {"jsonrpc": "2.0", "id": 3, "result": {"content": "a\nb\n"}},
    {"jsonrpc": "2.0", "id": 4, "result": {"stopReason": "end_turn"}},
    {"jsonrpc": "2.0", "id": 5, "result": None, "error": None},
]
_BOTH = [_note("$/cancel_request", {"requestId": 7}), _call("_x/y", {"a": [1, {"b": None}]}), *_ANSWERS]

FROM_CLIENT: list[Json] = [
    _call("initialize", {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}}),
    _call("session/list", {"cwd": "/tmp"}),
    _call("session/load", {"sessionId": "s1", "cwd": "/tmp", "mcpServers": []}),
    _call("session/resume", {"sessionId": "s1", "cwd": "/tmp", "mcpServers": []}),
    _call("session/prompt", {"sessionId": "s1", "prompt": [_TEXT]}),
    _call(
        "session/prompt", {"sessionId": "s1", "prompt": [{"type": "image", "mimeType": "x", "data": "YQ=="}]}
    ),
    _call("session/set_mode", {"sessionId": "s1", "modeId": "m"}),
    _call("session/set_config_option", {"sessionId": "s1", "configId": "model", "value": "v"}),
    _call("session/close", {"sessionId": "s2"}),
    _call("authenticate", {"methodId": "m"}),
    _note("session/cancel", {"sessionId": "s1"}),
    _note("_portico/todos", {"sessionId": "s1", "todos": [{"content": "a"}]}),
    _note("_portico/session_left", {"sessionId": "s2"}),
    *_BOTH,
]

FROM_AGENT: list[Json] = [
    _update(sessionUpdate="agent_message_chunk", content=_TEXT),
    _update(sessionUpdate="agent_thought_chunk", content=_TEXT),
    _update(sessionUpdate="user_message_chunk", content=_TEXT),
    _update(
        sessionUpdate="tool_call", **_tool(locations=[{"path": "/w/a.py", "line": 1}], rawInput={"a": 1})
    ),
    _update(
        sessionUpdate="tool_call_update",
        toolCallId="c1",
        status="completed",
        content=[
            {"type": "content", "content": _TEXT},
            {"type": "diff", "path": "/w/a.py", "oldText": "a", "newText": "b"},
            {"type": "terminal", "terminalId": "t1"},
        ],
        rawOutput={"x": [1.5, True]},
    ),
    _update(sessionUpdate="plan", entries=[{"content": "a", "priority": "high", "status": "pending"}]),
    _update(sessionUpdate="available_commands_update", availableCommands=[{"name": "a", "description": "b"}]),
    _update(sessionUpdate="current_mode_update", currentModeId="m"),
    _update(sessionUpdate="usage_update", used=5, size=100, cost={"amount": 0.5, "currency": "USD"}),
    _update(sessionUpdate="session_info_update", title="T", updatedAt="2026-01-01T00:00:00Z"),
    _update(sessionUpdate="something_new", value={"a": []}),
    _call(
        "session/request_permission",
        {"sessionId": "s1", "toolCall": _tool(rawInput={"command": "ls"}), "options": _OPTIONS},
    ),
    _call("fs/read_text_file", {"sessionId": "s1", "path": "/w/a.py", "line": 1, "limit": 5}),
    _call("fs/write_text_file", {"sessionId": "s1", "path": "/w/a.py", "content": "x"}),
    _call("terminal/output", {"sessionId": "s1", "terminalId": "t1"}),
    _call("terminal/release", {"sessionId": "s1", "terminalId": "t1"}),
    _call("elicitation/create", {"sessionId": "s1", "mode": "form", "message": "m", "requestedSchema": {}}),
    *_BOTH,
]

FROM_PROXY: list[Json] = [
    *FROM_CLIENT,
    *FROM_AGENT,
    _call("proxy/successor", {"method": "session/prompt", "params": {"sessionId": "s1", "prompt": [_TEXT]}}),
    _call("_proxy/successor/request", {"method": "session/list", "params": {}}),
    _note("proxy/successor", {"method": "session/cancel", "params": {"sessionId": "s1"}}),
    _call("proxy/initialize", {"protocolVersion": 1}),
]

_ODD_VALUES = [
    *(
        b"null",
        b"true",
        b"-0",
        b"0.5",
        b"1e400",
        b"-1e400",
        b"NaN",
        b"Infinity",
        b"9" * 25,
        b"-" + b"9" * 400,
    ),
    *(b"9" * 4301, b'""', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\u0000"', b'"\xff"', b'"\xed\xa0\x80"'),
    *(
        b'"' + b"x" * 3000 + b'"',
        b"[]",
        b"{}",
        b"[[[]]]",
        b'{"":{}}',
        b'{"a":1,"a":2}',
        b'{"\\ud83d":1}',
        b"[1,]",
    ),
    *(b'"\xef\xbb\xbf"', b'"\\x"', b'"unfinished', b"'a'", b"undefined", b"18446744073709551616", b"1E3"),
]
_DEPTHS = (60, 126, 127, 128, 200, 500, 900, 960, 990, 1000, 3000)
_BYTES = [
    b"\x00",
    b"\r",
    b"\xff",
    b"\xc3",
    b"\\",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\xef\xbb\xbf",
    b" ",
]


class Mutator:
    """Makes one broken line after another out of good frames; the same ones for the same seed."""

    def __init__(self, seed: int, frames: Sequence[Json]) -> None:
        self._random = random.Random(seed)
        self._frames = [json.dumps(frame, ensure_ascii=False).encode() for frame in frames]
        # Where a value begins and ends in each of them: after every colon that is followed by a simple value.
        self._values = [_simple_values(frame) for frame in self._frames]
        self._ways = (
            *(self._put_value, self._put_value, self._put_value, self._put_id, self._put_depth),
            *(
                self._cut,
                self._double,
                self._drop,
                self._insert,
                self._flip,
                self._splice,
                self._batch,
                self._keep,
            ),
        )

    def line(self) -> bytes:
        pick = self._random.randrange(len(self._frames))
        line = self._random.choice(self._ways)(self._frames[pick], pick)
        if self._random.random() < 0.2:
            line = self._random.choice((self._insert, self._drop, self._flip))(line, pick)
        return line.replace(b"\n", b" ")

    def _put_value(self, frame: bytes, pick: int) -> bytes:
        return self._replaced(frame, pick, self._random.choice(_ODD_VALUES))

    def _put_id(self, frame: bytes, _: int) -> bytes:
        return b'{"id":%b,' % self._random.choice(_ODD_VALUES) + frame[1:].replace(b'"id"', b'"was"', 1)

    def _put_depth(self, frame: bytes, pick: int) -> bytes:
        depth = self._random.choice(_DEPTHS)
        opening, closing = self._random.choice(((b"[", b"]"), (b'{"a":', b"}")))
        return self._replaced(frame, pick, opening * depth + b"1" + closing * depth)

    def _replaced(self, frame: bytes, pick: int, value: bytes) -> bytes:
        start, end = self._random.choice(self._values[pick])
        return frame[:start] + value + frame[end:]

    def _cut(self, frame: bytes, _: int) -> bytes:
        return frame[: self._random.randrange(len(frame))]

    def _double(self, frame: bytes, _: int) -> bytes:
        start = self._random.randrange(len(frame))
        end = start + self._random.randrange(1, 60)
        return frame[:end] + frame[start:]

    def _drop(self, frame: bytes, _: int) -> bytes:
        start = self._random.randrange(len(frame) + 1)
        return frame[:start] + frame[start + self._random.randrange(1, 20) :]

    def _insert(self, frame: bytes, _: int) -> bytes:
        place = self._random.randrange(len(frame) + 1)
        return frame[:place] + self._random.choice(_BYTES) + frame[place:]

    def _flip(self, frame: bytes, _: int) -> bytes:
        if not frame:
            return b"\x01"
        place = self._random.randrange(len(frame))
        return frame[:place] + bytes([frame[place] ^ (1 << self._random.randrange(8))]) + frame[place + 1 :]

    def _splice(self, frame: bytes, _: int) -> bytes:
        other = self._random.choice(self._frames)
        return frame[: self._random.randrange(len(frame))] + other[self._random.randrange(len(other)) :]

    def _batch(self, frame: bytes, _: int) -> bytes:
        return self._random.choice((b"[%b]", b"[%b,%b]" % (b"%b", frame), b"%b%b" % (frame, b"%b"))) % frame

    def _keep(self, frame: bytes, _: int) -> bytes:
        return frame


def _simple_values(frame: bytes) -> list[tuple[int, int]]:
    """The places of values in a frame that hold no others, as far as a glance tells."""
    found = re.finditer(rb':\s*("(?:[^"\\]|\\.)*"|[\w.+-]+|\[\]|\{\})', frame)
    return [found.span(1) for found in found]
