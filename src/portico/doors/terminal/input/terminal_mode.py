"""Terminal modes: echo on or off, single keys instead of lines, and Ctrl-C as a signal or as a key.

Echo is off while events are drawn, and on while a person types an answer.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

_INTERRUPT = b"\x03"


def echo(descriptor: int, *, shown: bool) -> AbstractContextManager[None]:
    """Turn the echo of a terminal on or off. Ctrl-C works either way; other files are unaffected."""

    def change(mode: list[Any]) -> None:
        import termios

        mode[3] = mode[3] | termios.ECHO if shown else mode[3] & ~termios.ECHO

    return _changed(descriptor, change)


def single_keys(descriptor: int) -> AbstractContextManager[None]:
    """Deliver each key at once, without echo. Ctrl-C is still a signal, and Ctrl-Z suspends."""

    def change(mode: list[Any]) -> None:
        import termios

        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6] = [*mode[6]]
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0

    return _changed(descriptor, change)


def interrupt_as_key(descriptor: int) -> AbstractContextManager[None]:
    """Make Ctrl-C a character that ends the line instead of a signal.

    Ctrl-Z still suspends.
    """

    def change(mode: list[Any]) -> None:
        import termios

        mode[6] = [*mode[6]]
        mode[6][termios.VINTR] = bytes([os.fpathconf(descriptor, "PC_VDISABLE")])
        mode[6][termios.VEOL] = _INTERRUPT

    return _changed(descriptor, change)


@contextmanager
def _changed(descriptor: int, change: Callable[[list[Any]], None]) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    import termios

    try:
        before = termios.tcgetattr(descriptor)
    except (termios.error, OSError, ValueError):
        yield
        return
    if not _is_ours(descriptor):
        yield
        return
    mode = [*before]
    change(mode)
    termios.tcsetattr(descriptor, termios.TCSADRAIN, mode)
    try:
        yield
    finally:
        with suppress(termios.error):
            if _is_ours(descriptor):
                termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _is_ours(descriptor: int) -> bool:
    """Whether this process is in the foreground: changing the terminal would stop a background process."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return True
