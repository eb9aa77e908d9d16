"""Line-delimited JSON-RPC over stdin and stdout, with a transcript."""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from queue import SimpleQueue

from portico.testing.agent import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Json = dict[str, Any]

STDOUT = 1


def encode(message: object) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def error_object(code: int, message: str, data: object = None) -> Json:
    return {"code": code, "message": message} | ({} if data is None else {"data": data})


def params_of(message: Json) -> Json:
    params = message.get("params")
    return params if isinstance(params, dict) else {}


class AgentWire:
    """Safe to use from every thread. Our own ids are 1, 2, 3 …: the very numbers a client tends to use."""

    def __init__(self, transcript: str | None) -> None:
        self._transcript = transcript
        self._output_open = True
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[object, SimpleQueue[Json]] = {}

    def lines(self) -> Iterator[bytes]:
        for line in sys.stdin.buffer:
            self._note("received", [line])
            yield line

    def send(self, message: Json) -> None:
        self.send_bytes(encode(message) + b"\n")

    def send_bytes(self, *pieces: bytes) -> None:
        """Send bytes as they are. They are dropped if the client is gone."""
        with self._lock:
            self._note("sent", pieces)
            if self._output_open:
                try:
                    files.write_all(STDOUT, b"".join(pieces))
                except BrokenPipeError:
                    self._output_open = False

    def close_output(self) -> None:
        with self._lock:
            self._output_open = False
            os.close(STDOUT)

    def notify(self, method: str, params: object) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object, request_id: object = None) -> SimpleQueue[Json]:
        """Send a request and return where its answer will be put: more than one, if more than one comes."""
        if request_id is None:
            request_id = next(self._numbers)
        answers = self.answers_to(request_id)
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return answers

    def answers_to(self, request_id: object) -> SimpleQueue[Json]:
        return self._waiting.setdefault(request_id, SimpleQueue())

    def settle(self, message: Json) -> None:
        answers = self._waiting.get(message.get("id"))
        if answers is not None:
            answers.put(message)

    def respond(self, request_id: object, *, result: object = None, error: object = None) -> None:
        outcome = {"result": result} if error is None else {"error": error}
        self.send({"jsonrpc": "2.0", "id": request_id, **outcome})

    def _note(self, direction: str, pieces: list[bytes] | tuple[bytes, ...]) -> None:
        if self._transcript is None:
            return
        # Bytes that are not UTF-8 become lone surrogates, which JSON can carry and a reader can undo.
        records = (
            json.dumps({"direction": direction, "line": piece.decode("utf-8", "surrogateescape")})
            for piece in pieces
        )
        files.append(self._transcript, "".join(f"{record}\n" for record in records).encode())
