"""Reports of failed commands: a message for people, a JSON object for programs, and the exit code."""

import errno
import os
import sys

import msgspec

from portico.app.failure_report import make_failure_report
from portico.app.program_log import log_failure, log_file, write_log
from portico.domain.errors import DeveloperMustAct, ExitCode, InvalidInput, PorticoError

# Errors of a write to standard output; other operating system errors have been translated.
_OUTPUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def report_failure(error: Exception, *, api: bool) -> int:
    """Report a failure and return the exit code."""
    trace_id = os.urandom(8).hex()
    if isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_ERRORS:
        return _output_failed(error)
    if isinstance(error, FileNotFoundError) and not _has_current_folder():
        error = InvalidInput(
            "The current folder no longer exists.", suggestion="Change to another folder and try again."
        )
    if not isinstance(error, PorticoError):
        write_log(error, trace_id)
        error = DeveloperMustAct(
            f"Internal error: {type(error).__name__}: {error}",
            suggestion=f"Please report this with trace id {trace_id}; details are in {log_file()}.",
        )
    elif api:
        log_failure(error.code, error.message, trace_id)
    try:
        _print_failure(error, trace_id, api=api)
    except OSError as failure:
        # The exit code still tells what happened, unless a program was promised an object.
        return _output_failed(failure) if api else _error_output_failed(int(error.exit_code))
    return int(error.exit_code)


def _has_current_folder() -> bool:
    """Whether the folder that this process was started in is still there."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib has no other way to ask either
    except FileNotFoundError:
        return False
    return True


def _print_failure(error: PorticoError, trace_id: str, *, api: bool) -> None:
    if api:
        print(msgspec.json.encode(make_failure_report(error, trace_id)).decode(), flush=True)
        return
    # Late: most commands do not fail. Text of an agent may be in any of these, so all are cleaned.
    from portico.doors.terminal.notice import indented
    from portico.doors.terminal.sanitizer import clean

    print(f"portico: {clean(error.message)}", file=sys.stderr)
    if error.suggestion:
        print(f"  {clean(error.suggestion)}", file=sys.stderr)
    if error.details.stderr:
        print(f"  Its last output:\n{clean(indented(error.details.stderr))}", file=sys.stderr)


def _output_failed(failure: OSError) -> int:
    """Exit code after standard output failed: the reader has left, or the disk is full."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the exit flush only
    try:
        if not isinstance(failure, BrokenPipeError):
            print(f"portico: cannot write the output: {failure.strerror}.", file=sys.stderr)
    except OSError:
        return _error_output_failed(int(ExitCode.TRANSPORT))
    return int(ExitCode.TRANSPORT)


def _error_output_failed(code: int) -> int:
    """Exit code after standard error failed too."""
    sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for the exit flush only
    return code
