"""Temporary handlers for SIGINT, SIGQUIT, SIGTERM and SIGHUP in the event loop."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

END_SIGNALS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)
)
QUIT_SIGNALS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name) for name in ("SIGQUIT",) if hasattr(signal, name)
)
"""Signal of Ctrl-\\."""
STOP_SIGNALS: tuple[signal.Signals, ...] = (signal.SIGINT, *END_SIGNALS)


@asynccontextmanager
async def on_signals(
    act: Callable[[], object], signals: tuple[signal.Signals, ...] = STOP_SIGNALS
) -> AsyncIterator[None]:
    """Call `act` in the event loop for each such signal, inside the `async with` block.

    A process started with `nohup` still ignores the end of the terminal.
    """
    loop = asyncio.get_running_loop()
    previous = {}
    for number in signals:
        if number.name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN:
            continue
        previous[number] = signal.getsignal(number)
        try:
            loop.add_signal_handler(number, act)
        except NotImplementedError:  # Windows: the loop takes no signal handlers
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(act))
    try:
        yield
    finally:
        for number, handler in previous.items():
            try:
                loop.remove_signal_handler(number)
            except NotImplementedError:
                pass
            signal.signal(number, handler)
