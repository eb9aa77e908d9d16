"""Failure reports for people and programs, and the log file of the program.

What has no name of its own is a fault of ours: its traceback goes to the log, and the reader gets
a trace id to find it by.
"""

import errno
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path, PurePath
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from portico.config.paths import state_folder
from portico.domain.errors import DeveloperMustAct, ErrorCode, ExitCode, InvalidInput, PorticoError
from portico.files.private import make_private_folder, open_private

if TYPE_CHECKING:
    from portico.domain.events import Notice

_QUIET_SECONDS = 60.0
_MOST_KINDS = 256
_LONGEST = 500

TracebackKind = tuple[str, str, int]


class CollapsedTracebacks(logging.Filter):
    """Lets every record through. A caller that makes the same call fail again and again fills no log."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._told: dict[TracebackKind, float] = {}

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
    """The file and line where an error was raised."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)


log = logging.getLogger("portico")

# What a write to standard output can meet; foreign errors of every other kind have been translated.
_OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class FailureDiagnostics(msgspec.Struct, frozen=True):
    error_code: ErrorCode
    suggestion: str | None
    trace_id: str
    exit_code: int


class FailureReport(msgspec.Struct, frozen=True):
    error: str
    diagnostics: FailureDiagnostics
    status: str = "failed"


def report_failure(error: Exception, *, api: bool) -> int:
    """Tell what went wrong and return the exit code."""
    trace_id = os.urandom(8).hex()
    if isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_ERRORS:
        return _unheard(error)
    if isinstance(error, FileNotFoundError) and not _stands_somewhere():
        error = InvalidInput(
            "The current folder no longer exists.", suggestion="Change to another folder and try again."
        )
    is_logged = False
    if not isinstance(error, PorticoError):
        write_log(error, trace_id)
        is_logged = True
        error = DeveloperMustAct(
            f"Internal error: {type(error).__name__}: {error}",
            suggestion=f"Please report this with trace id {trace_id}; details are in {log_file()}.",
        )
    if api and not is_logged:
        log_failure(error.code, error.message, trace_id)
    try:
        _tell(error, trace_id, api=api)
    except OSError as failure:
        # The exit code still tells what happened, unless a program was promised an object.
        return _unheard(failure) if api else _unread(int(error.exit_code))
    return int(error.exit_code)


def _stands_somewhere() -> bool:
    """Whether the folder that this process was started in is still there."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib has no other way to ask either
    except FileNotFoundError:
        return False
    return True


def _tell(error: PorticoError, trace_id: str, *, api: bool) -> None:
    if api:
        print(failure_json(error, trace_id), flush=True)
        return
    # Late: most commands do not fail. What an agent said may stand in any of these.
    from portico.doors.terminal.sanitizer import clean

    print(f"portico: {clean(error.message)}", file=sys.stderr)
    if error.suggestion:
        print(f"  {clean(error.suggestion)}", file=sys.stderr)
    if error.details.stderr:
        print(f"  Its last output:\n{clean(_indented(error.details.stderr))}", file=sys.stderr)


def show_notice(notice: "Notice") -> None:
    """Tell a person beside the output, and the program's log, about something that happened before the command."""
    from portico.doors.terminal.sanitizer import clean

    log.warning("%s %s", notice.text, notice.details or "")
    print(f"portico: {clean(notice.text)}", file=sys.stderr)
    if notice.details:
        print(clean(_indented(notice.details)), file=sys.stderr)


def _unheard(failure: OSError) -> int:
    """Exit code after standard output failed: the reader has left, or the disk is full."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the exit flush only
    try:
        if not isinstance(failure, BrokenPipeError):
            print(f"portico: cannot write the output: {failure.strerror}.", file=sys.stderr)
    except OSError:
        return _unread(int(ExitCode.TRANSPORT))
    return int(ExitCode.TRANSPORT)


def _unread(code: int) -> int:
    """Exit code after standard error failed too."""
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the exit flush only
    return code


def make_failure_report(error: PorticoError, trace_id: str) -> FailureReport:
    diagnostics = FailureDiagnostics(error.code, error.suggestion, trace_id, int(error.exit_code))
    return FailureReport(error.message, diagnostics)


def failure_json(error: PorticoError, trace_id: str) -> str:
    return msgspec.json.encode(make_failure_report(error, trace_id)).decode()


def log_file() -> str:
    return str(state_folder(os.environ) / "portico.log")


def write_log(error: BaseException, trace_id: str) -> None:
    """Keep the traceback of an unforeseen failure where its finder can read it."""
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


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines()[-12:])
