"""Terminal modes: echo on or off, and Ctrl-C as a signal or as a key.

While events are drawn nothing that is typed may be shown; during a question it must be.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

_INTERRUPT = b"\x03"


def echo(descriptor: int, *, shown: bool) -> AbstractContextManager[None]:
    """Switch the echo of a terminal for a while. Ctrl-C works either way; what is no terminal stays as it is."""

    def change(mode: list[Any]) -> None:
        import termios

        mode[3] = mode[3] | termios.ECHO if shown else mode[3] & ~termios.ECHO

    return _changed(descriptor, change)


def interrupt_as_key(descriptor: int) -> AbstractContextManager[None]:
    """For a while Ctrl-C ends the line that is being typed, and is part of it, instead of being a signal.

    Ctrl-Z is one still: it goes back to the shell.
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
    """Whether the terminal is not another's just now: a program in the background is stopped when it changes it."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        return True
