"""Asynchronous, cancellable reader of lines from a terminal or a pipe.

The reading thread waits for input or for a wake-up, so that a cancelled read consumes no input.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

_CHUNK = 65_536
_INTERRUPT = b"\x03"


class LineReader:
    """Reads lines of UTF-8 from a file descriptor. One read at a time."""

    def __init__(self, descriptor: int, *, owned: bool = False) -> None:
        self.descriptor = descriptor
        self._owned = owned
        self._buffer = bytearray()
        self._ended = False

    async def read_line(self) -> str | None:
        """The next line without its newline; None at the end of input or after Ctrl-C."""
        while b"\n" not in self._buffer and not self._ended:
            data = await _read(self.descriptor, self._buffer.extend)
            self._ended = not data
            if _INTERRUPT in data:
                self._buffer.clear()
                return None
        if not self._buffer:
            return None
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line.decode("utf-8", "replace").removesuffix("\r")

    async def read_keys(self) -> str | None:
        """Next piece of input, without waiting for a whole line; None at the end of input."""
        if not self._buffer and not self._ended:
            self._ended = not await _read(self.descriptor, self._buffer.extend)
        if not self._buffer:
            return None
        keys = bytes(self._buffer).decode("utf-8", "replace")
        self._buffer.clear()
        return keys

    def discard_typed_ahead(self) -> None:
        """Discard what was typed before the question."""
        self._buffer.clear()
        if sys.platform != "win32" and os.isatty(self.descriptor):
            import termios

            with suppress(termios.error):
                termios.tcflush(self.descriptor, termios.TCIFLUSH)

    def close(self) -> None:
        if self._owned:
            os.close(self.descriptor)
            self._owned = False


def terminal_lines() -> LineReader | None:
    """A reader of the terminal: standard input, or the terminal device if that is a pipe."""
    if sys.stdin is not None and sys.stdin.isatty():
        return LineReader(sys.stdin.fileno())
    try:
        device = "CONIN$" if sys.platform == "win32" else "/dev/tty"
        return LineReader(os.open(device, os.O_RDONLY), owned=True)
    except OSError:
        return None


async def _read(descriptor: int, keep: Callable[[bytes], None]) -> bytes:
    """Read some bytes and pass them to `keep`; empty at the end of input.

    A cancelled call waits for its thread, so that two threads never read at once.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bytes] = loop.create_future()
    wake_read, wake_write = os.pipe()

    def settle(data: bytes) -> None:
        keep(data)
        result.set_result(data)

    def wait() -> None:
        try:
            data = _read_unless_woken(descriptor, wake_read)
        except (OSError, ValueError):
            data = b""
        finally:
            os.close(wake_read)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, data)

    threading.Thread(target=wait, name="reading a line", daemon=True).start()
    try:
        return await asyncio.shield(result)
    finally:
        os.close(wake_write)
        if sys.platform != "win32":  # the thread cannot be woken there; it ends with the next line
            await asyncio.shield(result)


def _read_unless_woken(descriptor: int, wake: int) -> bytes:
    if sys.platform != "win32":
        import select

        ready, _, _ = select.select((descriptor, wake), (), ())
        if wake in ready:
            return b""
    return os.read(descriptor, _CHUNK)
