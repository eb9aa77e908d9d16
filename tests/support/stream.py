"""The NDJSON stream as a program would read it: every line held against the published schema."""

import json
from functools import cache
from typing import Any

import jsonschema_rs

from portico.doors.ndjson import stream_schema

Json = dict[str, Any]


@cache
def stream_validator() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(stream_schema())


class Stream:
    """Lines of a stream, possibly of one that was cut off. AssertionError if they break the contract."""

    def __init__(self, out: bytes) -> None:
        *whole, self.rest = out.split(b"\n")
        self.lines: list[Json] = [json.loads(line) for line in whole]
        for line in self.lines:
            problems = [error.message for error in stream_validator().iter_errors(line)]
            assert problems == [], (problems, line)
        if self.lines:
            first = self.lines[0]
            assert first["type"] == "session_started"
            assert [line["seq"] for line in self.lines] == [
                first["seq"] + place for place in range(len(self.lines))
            ]
            assert {line["sessionId"] for line in self.lines} == {self.session_id}

    def check_ending(self, code: int) -> None:
        """A stream that was not cut off says how the turn ended, and with which exit code."""
        assert self.rest == b""
        assert self.types[-2:] == ["result", "done"]
        assert self.types.count("result") == self.types.count("done") == 1
        assert self.lines[-1]["payload"]["exitCode"] == code

    @property
    def session_id(self) -> str:
        return str(self.lines[0]["sessionId"])

    @property
    def types(self) -> list[str]:
        return [line["type"] for line in self.lines]

    @property
    def result(self) -> Json:
        return self.only("result")

    @property
    def answer(self) -> str:
        """The whole text of the turn."""
        return str(self.result["text"])

    @property
    def error(self) -> Json:
        return self.only("error")

    @property
    def notices(self) -> list[str]:
        return [payload["text"] for payload in self.all("notice")]

    def all(self, kind: str) -> list[Json]:
        """The payloads of a type."""
        return [line["payload"] for line in self.lines if line["type"] == kind]

    def only(self, kind: str) -> Json:
        (payload,) = self.all(kind)
        return payload
