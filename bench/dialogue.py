"""The plainest way to talk to an agent: write a line, read a line, with the standard library alone."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.report import MeasurementFailed

INITIALIZE: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
_SECONDS_TO_END = 5.0


class Dialogue:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.pid = process.pid
        self._command = process.args
        self._out, self._in = process.stdin, process.stdout
        self._asked = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request; what else the agent says before it is passed over."""
        self._asked += 1
        request = {"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}
        self._out.write(json.dumps(request).encode() + b"\n")
        self._out.flush()
        for line in self._in:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self._asked and "method" not in answer:
                result: dict[str, Any] = answer["result"]
                return result
        raise MeasurementFailed(f"{self._command!r} ended without an answer to {method}")


@contextmanager
def dialogue(command: Sequence[str], *, environ: Mapping[str, str], cwd: Path) -> Iterator[Dialogue]:
    """A running agent that ends with its input, or is killed."""
    process = subprocess.Popen(
        command,
        env=environ,
        cwd=cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with process:
        try:
            yield Dialogue(process)
            assert process.stdin is not None
            process.stdin.close()
            process.wait(_SECONDS_TO_END)
        finally:
            process.kill()
