"""Imports the packages of a session's model in the background, before its first prompt needs them."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module

from portico.domain.errors import PorticoError

DELAY = 0.5
_THREAD = "model preload"


class ModelPreload:
    """Starts one import after a short delay, so that a session opened for a single command does not pay for it."""

    def __init__(self, delay: float = DELAY) -> None:
        self._delay = delay
        self._load: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def schedule(self, load: Callable[[], None]) -> None:
        """Call `load` in a thread soon. It blocks while it imports, and may raise PorticoError."""
        self._load = load
        self.resume()

    def pause(self) -> None:
        """Start nothing while a turn runs: a model is imported by the turn that needs it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def resume(self) -> None:
        self.pause()
        if self._load is not None:
            self._timer = asyncio.get_running_loop().call_later(self._delay, self._start)

    def _start(self) -> None:
        load, self._load, self._timer = self._load, None, None
        # A daemon, and not a thread of the event loop's pool: closing Porter does not wait for an import.
        threading.Thread(target=_run, args=(load,), name=_THREAD, daemon=True).start()


def is_preloading() -> bool:
    return any(thread.name == _THREAD for thread in threading.enumerate())


def _run(load: Callable[[], None]) -> None:
    import_module("portico.porter.model_loop.model_session")
    with suppress(PorticoError):  # the turn that needs the model will report it
        load()
