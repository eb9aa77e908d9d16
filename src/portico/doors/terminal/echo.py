"""Whether a terminal shows what is typed. While events are drawn it must not; during a question it must."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def echo(descriptor: int, *, shown: bool) -> Iterator[None]:
    """Switch the echo of a terminal for a while. Ctrl-C works either way; what is no terminal stays as it is."""
    if sys.platform == "win32":
        yield
        return
    import termios

    try:
        before = termios.tcgetattr(descriptor)
    except (termios.error, OSError, ValueError):
        yield
        return
    mode = [*before]
    mode[3] = before[3] | termios.ECHO if shown else before[3] & ~termios.ECHO
    termios.tcsetattr(descriptor, termios.TCSADRAIN, mode)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
