"""Starts Portico by forking one that is imported already: for tests whose many starts would be imports for the most part.

What runs is a process of its own, which the system kills like any other. There is one at a time.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from tests.support.forking import COMMANDS, heard
from tests.support.program import DEADLINE, Portico, Ran, Running, ran

ROOT = Path(__file__).parents[2]
# Capacity of a pipe that is not read yet.
_MOST_STDIN = 4096
# Variables that Python or its libraries read once, when they start.
_READ_AT_START = ("PYTHON", "LC_", "LANG", "TZ")
_one_at_a_time = threading.Lock()


class Forked:
    """A process, with as much of Popen as it takes to read it, to kill it and to wait for it."""

    def __init__(
        self,
        line: socket.socket,
        words: tuple[str, ...],
        folder: Path,
        environ: Mapping[str, str],
        stdin: bytes | None = None,
    ) -> None:
        source = os.open(os.devnull, os.O_RDONLY) if stdin is None else _pipe_with(stdin)
        reading, writing = os.pipe()
        self.args = words
        self.stdout = os.fdopen(reading, "rb", buffering=0)
        self.returncode: int | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with standard output
        self._line = line
        order = {"words": words, "folder": str(folder), "environ": dict(environ)}
        content = json.dumps(order).encode()
        socket.send_fds(line, [len(content).to_bytes(4, "big")], [source, writing, self._stderr.fileno()])
        line.sendall(content)
        os.close(source)
        os.close(writing)
        self.pid = heard(line)

    def poll(self) -> int | None:
        if self.returncode is None and select.select([self._line], [], [], 0)[0]:
            self.returncode = heard(self._line)
        return self.returncode

    def kill(self) -> None:
        if self.poll() is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                return

    def wait(self) -> None:
        while self.poll() is None:
            self._wait(self._line, time.monotonic() + DEADLINE)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Wait for its end; what it has not been read of its output, and all of its complaints."""
        if self.stdout.closed:
            return b"", b""
        deadline = time.monotonic() + timeout
        out = b""
        with self.stdout, self._stderr:
            try:
                while chunk := self._read(deadline):
                    out += chunk
                while self.poll() is None:
                    self._wait(self._line, deadline)
            except subprocess.TimeoutExpired as late:
                late.output = out
                raise
            self._stderr.seek(0)
            return out, self._stderr.read()

    def _read(self, deadline: float) -> bytes:
        self._wait(self.stdout, deadline)
        return self.stdout.read(65536)

    def _wait(self, source: Any, deadline: float) -> None:
        if not select.select([source], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise subprocess.TimeoutExpired(self.args, deadline)


class WarmPortico(Portico):
    """A user's Portico as any other, but for how it is started."""

    def __init__(self, home: Path, workspace: Path, line: socket.socket) -> None:
        super().__init__(home, workspace)
        self._line = line

    def start(self, *arguments: str, environ: Mapping[str, str] | None = None, **options: Any) -> Running:
        forked = Forked(self._line, arguments, options.pop("cwd", self.workspace), self.environ(environ))
        assert not options, "What a fork has, it has from the order alone."
        self._running.append(Running(cast("subprocess.Popen[bytes]", forked)))
        return self._running[-1]

    def run(self, *arguments: str, seconds: float = DEADLINE, **options: Any) -> Ran:
        return self.start(*arguments, **options).end(seconds=seconds)


class QuickPortico(Portico):
    """A user's Portico whose frequent commands are forked when they run to their end; all others start as ever."""

    def __init__(self, home: Path, workspace: Path, line: Callable[[], socket.socket]) -> None:
        super().__init__(home, workspace)
        self._line = line

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        cwd: Path | None = None,
        environ: Mapping[str, str] | None = None,
        seconds: float = DEADLINE,
    ) -> Ran:
        forks = arguments and arguments[0] in COMMANDS and len(stdin) <= _MOST_STDIN
        starting = any(name.startswith(_READ_AT_START) for name in environ or ())
        if not forks or starting or not _one_at_a_time.acquire(blocking=False):
            return super().run(*arguments, stdin=stdin, cwd=cwd, environ=environ, seconds=seconds)
        try:
            forked = Forked(self._line(), arguments, cwd or self.workspace, self.environ(environ), stdin)
            try:
                out, err = forked.communicate(seconds)
            finally:
                forked.kill()
                forked.wait()
        finally:
            _one_at_a_time.release()
        assert forked.returncode is not None
        return ran(forked.returncode, out, err)


def _pipe_with(content: bytes) -> int:
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


@contextmanager
def warmed() -> Iterator[socket.socket]:
    """The line to a program that has imported everything."""
    ours, theirs = socket.socketpair()
    words = [sys.executable, "-m", "tests.support.forking", str(theirs.fileno())]
    environ = {"PATH": os.environ["PATH"], "PYTHONUTF8": "1", "PYTHONFAULTHANDLER": "1"}
    with subprocess.Popen(
        words,
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,  # As a fork has one: whether there is a way back in it is found out once.
        pass_fds=[theirs.fileno()],
    ):
        theirs.close()
        with ours:
            assert heard(ours) == 0
            yield ours
