"""Tracebacks in the log: the first of each kind in full, those that follow within a minute in one line."""

import logging
import time
import traceback
from collections.abc import Callable
from pathlib import PurePath
from types import TracebackType

_QUIET_SECONDS = 60.0
_MOST_KINDS = 256

Kind = tuple[str, str, int]


class CollapsedTracebacks(logging.Filter):
    """Lets every record through. A caller that makes the same call fail again and again fills no log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._told: dict[Kind, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not isinstance(record.exc_info, tuple) or record.exc_info[1] is None:
            return True
        error, now = record.exc_info[1], self._clock()
        kind = (type(error).__name__, *_place(error.__traceback__))
        if now - self._told.get(kind, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            if len(self._told) >= _MOST_KINDS:
                self._told.clear()
            self._told[kind] = now
            return True
        _, file, line = kind
        what = traceback.format_exception_only(error)[-1].strip().replace("\n", " ")
        record.msg = f"{record.getMessage()}: {what} ({PurePath(file).name}:{line}, as before)"
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


def _place(trace: TracebackType | None) -> tuple[str, int]:
    """Where an error was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
