"""A terminal with a person in front of it: what is shown can be waited for, and keys be pressed."""

import os
import re
import select
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Movements, colours, titles; also those at the very end that have not come whole yet.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*(?:[@-~]|$)"
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|\x1b?$)"
    r"|\x1b[ -/]*(?:[0-~]|$)"
    r"|[\x00-\x09\x0b-\x1f]"
)
_WHERE_IS_THE_CURSOR = b"\x1b[6n"


class Terminal:
    """Runs one program as the foreground program of a terminal of its own."""

    def __init__(self, command: Sequence[str | Path], *, cwd: Path, environ: dict[str, str]) -> None:
        self._controller, terminal = os.openpty()
        termios.tcsetwinsize(terminal, (40, 100))
        self._terminal = os.dup(terminal)
        self._before = termios.tcgetattr(terminal)
        self._seen = b""
        self._read_up_to = 0
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environ,
            preexec_fn=lambda: os.login_tty(terminal),  # noqa: PLW1509 - makes it the controlling one
        )
        os.close(terminal)

    @property
    def text(self) -> str:
        """All that was shown, without colours and movements."""
        return _CONTROL.sub("", self._seen.decode(errors="replace").replace("\r\n", "\n"))

    def until(self, words: str, *, seconds: float = 30) -> None:
        """Wait until some words are shown, after those that were waited for before."""
        deadline = time.monotonic() + seconds
        while words not in self.text[self._read_up_to :]:
            left = deadline - time.monotonic()
            assert left > 0, f"{words!r} was not shown: {self.text}"
            assert self._read(left), f"the program ended without {words!r}: {self.text}"
        self._read_up_to = self.text.index(words, self._read_up_to) + len(words)

    def press(self, keys: str) -> None:
        os.write(self._controller, keys.encode())

    def end(self, *, seconds: float = 30) -> int:
        """Wait for the program's end; its exit code."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it did not end: {self.text}"
            self._read(0.05)
        while self._read(0):
            pass
        return self.process.returncode

    def is_as_before(self) -> bool:
        """Whether the terminal echoes and edits lines as it did before the program came."""
        return _modes(termios.tcgetattr(self._terminal)) == _modes(self._before)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)
        os.close(self._terminal)
        os.close(self._controller)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._controller], [], [], seconds)[0]:
            return False if seconds == 0 else self.process.poll() is None
        data = os.read(self._controller, 65536)
        self._seen += data
        if _WHERE_IS_THE_CURSOR in data:
            os.write(self._controller, b"\x1b[1;1R")
        return True


def _modes(attributes: list[Any]) -> list[Any]:
    return attributes[:4]
