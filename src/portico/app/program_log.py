"""The log file of the program: tracebacks of unexpected failures, and what is logged through `logging`."""

import logging
import os
import time
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path, PurePath
from types import TracebackType

from portico.config.paths import state_folder
from portico.domain.errors import ErrorCode
from portico.files.private import make_private_folder, open_private

_QUIET_SECONDS = 60.0
_MOST_KINDS = 256
_LONGEST = 500

TracebackKind = tuple[str, str, int]


class CollapsedTracebacks(logging.Filter):
    """Shortens tracebacks that repeat within a minute, so that one failing call does not fill the log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._logged_at: dict[TracebackKind, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not isinstance(record.exc_info, tuple) or record.exc_info[1] is None:
            return True
        error, now = record.exc_info[1], self._clock()
        kind = (type(error).__name__, *_place(error.__traceback__))
        if now - self._logged_at.get(kind, -_QUIET_SECONDS) >= _QUIET_SECONDS:
            if len(self._logged_at) >= _MOST_KINDS:
                self._logged_at.clear()
            self._logged_at[kind] = now
            return True
        _, file, line = kind
        what = traceback.format_exception_only(error)[-1].strip().replace("\n", " ")
        record.msg = f"{record.getMessage()}: {what} ({PurePath(file).name}:{line}, as before)"
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


def _place(trace: TracebackType | None) -> tuple[str, int]:
    """The file and line where an error was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)


log = logging.getLogger("portico")


def log_file() -> str:
    return str(state_folder(os.environ) / "portico.log")


def write_log(error: BaseException, trace_id: str) -> None:
    """Log the traceback of an unexpected failure under its trace id."""
    configure_log()
    log.error("trace %s", trace_id, exc_info=error)


def log_failure(code: ErrorCode, message: str, trace_id: str) -> None:
    """Write a failure that a program was told of to the log, to be found by its trace id."""
    # Late: most commands do not fail.
    from portico.domain.redaction import plain_line

    configure_log()
    log.warning("trace %s %s: %s", trace_id, code, plain_line(message, _LONGEST))


def configure_log() -> None:
    """Send the program's own log to a file; nothing of it reaches the terminal."""
    if log.handlers:
        return
    log.propagate = False
    # A log that cannot be written must not print tracebacks to the terminal.
    logging.raiseExceptions = False
    try:
        folder = state_folder(os.environ)
        make_private_folder(folder)
        handler: logging.Handler = _PrivateLog(log_file(), maxBytes=1_000_000, backupCount=2, delay=True)
    except OSError:
        handler = logging.NullHandler()
    handler.addFilter(CollapsedTracebacks())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    log.addHandler(handler)


class _PrivateLog(RotatingFileHandler):
    """A log for its owner only: it names folders, and what was asked."""

    def _open(self) -> TextIOWrapper:
        return os.fdopen(
            open_private(Path(self.baseFilename), os.O_WRONLY | os.O_APPEND), "a", encoding="utf-8"
        )
