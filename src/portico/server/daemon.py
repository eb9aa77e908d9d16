"""Starts the server in the background and waits until it answers or reports why it cannot."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import msgspec

from portico.app.failure_report import FailureReport
from portico.client.discovery import NoServer, RunningServer, UnprovenServer, find_server
from portico.config.server_files import ServerFiles
from portico.domain import codecs
from portico.domain.errors import (
    DeveloperMustAct,
    ErrorCode,
    ErrorDetails,
    InvalidInput,
    PorticoError,
    StoreFailed,
)

START_SECONDS = 30.0

_LOOK_AGAIN = 0.05
_LAST_OUTPUT = 4000


class DaemonServer(msgspec.Struct, frozen=True):
    """The user's server, and whether it was running before."""

    server: RunningServer
    reused: bool


def ensure_daemon(
    files: ServerFiles,
    command: Sequence[str],
    environ: Mapping[str, str],
    *,
    deadline: float = START_SECONDS,
) -> DaemonServer:
    """The server that runs, or the one that this command starts.

    Several may be started at once: the lock lets one of them be the server, and all return it.
    """
    until = time.monotonic() + deadline
    child: subprocess.Popen[bytes] | None = None
    began = 0
    while True:
        found = find_server(files)
        if isinstance(found, RunningServer):
            return DaemonServer(found, reused=child is None or found.record.pid != child.pid)
        if isinstance(found, NoServer):
            if child is None:
                child, began = _start(files, command, environ)
            elif child.poll() is not None:
                raise _refused(files, began) or _failed(
                    f"The server ended with code {child.returncode}", files, began
                )
        if time.monotonic() > until:
            if child is None:
                raise _in_the_way(found, deadline)
            child.kill()
            child.wait()
            raise _failed(f"The server did not respond within {deadline:g} s and was stopped", files, began)
        time.sleep(_LOOK_AGAIN)


def server_command(*words: str) -> tuple[str, ...]:
    """Command that starts this Portico. `-P` keeps modules of the current folder out."""
    return (sys.executable, "-P", "-m", "portico", *words)


def _start(
    files: ServerFiles, command: Sequence[str], environ: Mapping[str, str]
) -> "tuple[subprocess.Popen[bytes], int]":
    """The process, and where its output begins in the log."""
    log = files.open_log()
    try:
        began = os.fstat(log).st_size
        flags = 0
        if sys.platform == "win32":
            flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=files.folder,
            env=dict(environ),
            start_new_session=True,
            creationflags=flags,
        )
        return child, began
    finally:
        os.close(log)


def _refused(files: ServerFiles, began: int) -> PorticoError | None:
    """The failure that the server itself reported."""
    for line in reversed(_last_output(files, began).splitlines()):
        try:
            report = codecs.decode_json(line, FailureReport)
        except msgspec.MsgspecError:
            continue
        hint = report.diagnostics.suggestion
        if report.diagnostics.error_code is ErrorCode.INVALID_INPUT:
            return InvalidInput(report.error, suggestion=hint)
        pointer = f"The server's log is {files.log_file}."
        return DeveloperMustAct(report.error, suggestion=f"{hint} {pointer}" if hint else pointer)
    return None


def _failed(what: str, files: ServerFiles, began: int) -> PorticoError:
    output = _last_output(files, began)
    try:
        files.note(f"{what}.")
    except StoreFailed as failure:
        # The server could not write its log either.
        return StoreFailed(f"{what}. {failure.message}", suggestion=failure.suggestion)
    return DeveloperMustAct(
        f"{what}.",
        suggestion=f"Its log is {files.log_file}.",
        details=ErrorDetails(stderr=output or None),
    )


def _in_the_way(found: NoServer | UnprovenServer, deadline: float) -> PorticoError:
    holder = found.holder if isinstance(found, UnprovenServer) else "another process"
    return DeveloperMustAct(
        f"A server that is starting, stopping or hanging ({holder}) did not respond within {deadline:g} s.",
        suggestion="Try again in a moment. If it persists, end that process yourself.",
    )


def _last_output(files: ServerFiles, began: int) -> str:
    try:
        with files.log_file.open("rb") as log:
            log.seek(max(began, os.fstat(log.fileno()).st_size - _LAST_OUTPUT))
            return log.read(_LAST_OUTPUT).decode(errors="replace")
    except OSError:
        return ""
