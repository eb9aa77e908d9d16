"""The plainest way to talk to an agent: write a line, read a line, with the standard library alone."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any

from bench.report import MeasurementFailed

INITIALIZE: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
_LONGEST_SECONDS = 300.0
_SECONDS_TO_END = 5.0


class Dialogue:
    """Made by `dialogue`; one request at a time."""

    def __init__(self, command: Sequence[str], process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._command = " ".join(command)
        self._out, self._in = process.stdin, process.stdout
        self._asked = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request; what else the agent says before it is passed over."""
        self._asked += 1
        request = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        try:
            os.write(self._out.fileno(), json.dumps(request).encode() + b"\n")
        except BrokenPipeError as error:
            raise self._no_answer(method) from error
        for line in self._in:
            message = json.loads(line)
            if message.get("id") == self._asked and "result" in message:
                result: dict[str, Any] = message["result"]
                return result
            if "error" in message:
                raise MeasurementFailed(f"{self._command} answered {method} with {message['error']}")
        raise self._no_answer(method)

    def tell(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification."""
        os.write(
            self._out.fileno(),
            json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n",
        )

    def _no_answer(self, method: str) -> MeasurementFailed:
        return MeasurementFailed(f"{self._command} ended without an answer to {method}")


@contextmanager
def dialogue(
    command: Sequence[str], *, environ: Mapping[str, str], cwd: Path, seconds: float = _LONGEST_SECONDS
) -> Iterator[Dialogue]:
    """A running agent, to be asked one thing after another."""
    with between_pipes(command, environ=environ, cwd=cwd, seconds=seconds) as process:
        yield Dialogue(command, process)


@contextmanager
def between_pipes(
    command: Sequence[str], *, environ: Mapping[str, str], cwd: Path, seconds: float = _LONGEST_SECONDS
) -> "Iterator[subprocess.Popen[bytes]]":
    """A running program. It ends with its input, and is killed if it does not or hangs."""
    process = subprocess.Popen(
        command,
        env=environ,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = Timer(seconds, process.kill)
    deadline.start()
    with process:
        try:
            yield process
            assert process.stdin is not None
            process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_END)
        finally:
            deadline.cancel()
            process.kill()
