"""`portico status`: whether the server runs, where, and its health."""

import os
from collections.abc import Sequence

import msgspec

from portico import __version__
from portico.api.health import HealthIssue, ServerHealth
from portico.app.failure_report import FailureDiagnostics, FailureReport, make_failure_report
from portico.app.program_log import log_file
from portico.cli.arguments import CommandParser
from portico.client.discovery import NoServer, RunningServer, ServerState, UnprovenServer, find_server
from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles
from portico.domain.errors import StoreFailed

_START = "portico serve --open shows the chat page; portico serve --detach only starts it."
_ASK_DOCTOR = "Run portico doctor and report its output."


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """Status as `--api` prints it. `heldBy` is a process that holds the lock and does not answer."""

    status: str
    running: bool
    error: str | None = None
    diagnostics: FailureDiagnostics | None = None
    held_by: str | None = None
    url: str | None = None
    pid: int | None = None
    version: str | None = None
    same_version: bool | None = None
    started_at: str | None = None
    uptime_seconds: float | None = None
    workspace: str | None = None
    sessions: int | None = None
    active_sessions: int | None = None
    memory_bytes: int | None = None
    token_file: str | None = None
    log_file: str | None = None


def run(arguments: Sequence[str]) -> int:
    flags = CommandParser("status", "Show whether the server runs, where, and its health.").parse(arguments)
    status, words = _look(find_server(ServerFiles(state_folder(dict(os.environ)))))
    print(msgspec.json.encode(status).decode() if flags.api else "\n".join(words))
    return 0 if status.diagnostics is None else status.diagnostics.exit_code


def _look(found: ServerState) -> tuple[ServerStatus, list[str]]:
    match found:
        case NoServer():
            return ServerStatus(status="ok", running=False), ["No server is running.", f"  {_START}"]
        case UnprovenServer(holder=holder):
            words = f"A server ({holder}) is starting, stopping or hanging: it does not respond."
            return ServerStatus(status="ok", running=False, held_by=holder), [words]
        case RunningServer():
            health = found.health()
            trouble = _failure_report(found, health.trouble) if health.trouble is not None else None
            return _status(found, health, trouble), _words(found, health, trouble)


def _failure_report(server: RunningServer, trouble: HealthIssue) -> FailureReport:
    failure = StoreFailed(
        f"The server at {server.record.url} is running but cannot use its log. {trouble.message}",
        suggestion=trouble.suggestion,
    )
    return make_failure_report(failure, os.urandom(8).hex())


def _status(server: RunningServer, health: ServerHealth, trouble: FailureReport | None) -> ServerStatus:
    return ServerStatus(
        status=trouble.status if trouble else "ok",
        running=True,
        error=trouble.error if trouble else None,
        diagnostics=trouble.diagnostics if trouble else None,
        url=server.record.url,
        pid=health.pid,
        version=server.version,
        same_version=server.version == __version__,
        started_at=server.record.started_at,
        uptime_seconds=health.uptime_seconds,
        workspace=health.workspace,
        sessions=health.sessions,
        active_sessions=health.active_sessions,
        memory_bytes=health.memory_bytes,
        token_file=server.record.token_file,
        log_file=log_file(),
    )


def _words(server: RunningServer, health: ServerHealth, trouble: FailureReport | None) -> list[str]:
    from portico.doors.terminal.labels import elapsed_time

    facts = [f"process {health.pid}", f"up {elapsed_time(int(health.uptime_seconds * 1000))}"]
    if health.sessions is not None:
        sessions = "1 session" if health.sessions == 1 else f"{health.sessions} sessions"
        facts.append(f"{sessions}, {health.active_sessions} working")
    if health.memory_bytes is not None:
        facts.append(f"{health.memory_bytes / 1e6:.0f} MB")
    words = [
        f"Portico {server.version} is running at {server.record.url}",
        f"  {' · '.join(facts)}",
        f"  works in {health.workspace}",
        f"  logs to {log_file()}",
    ]
    if server.version != __version__:
        words.append(
            f"  This is Portico {__version__}. To update the server: portico stop, then portico serve."
        )
    if trouble is not None:
        words += [trouble.error, f"  {trouble.diagnostics.suggestion or _ASK_DOCTOR}"]
    return words
