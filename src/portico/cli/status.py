"""`portico status`: whether the server runs, where, and how it does."""

import os
from collections.abc import Sequence

import msgspec

from portico import __version__
from portico.cli.arguments import Arguments
from portico.cli.failures import Diagnostics, Failed, failed, log_file
from portico.cli.server_files import ServerFiles
from portico.cli.server_finding import Absent, Found, Running, Unproven, find_server
from portico.config.paths import state_folder
from portico.domain.errors import StoreFailed
from portico.doors.web.app import Health, Trouble

_START = "portico serve --open shows the chat page; portico serve --detach only starts it."
_ASK_DOCTOR = "Run portico doctor, and report what it says."


class Status(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What `--api` prints. Who holds the lock and does not answer is in `heldBy`."""

    status: str
    running: bool
    error: str | None = None
    diagnostics: Diagnostics | None = None
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
    flags = Arguments("status", "Whether the server runs, where, and how it does.").parse_args(arguments)
    status, words = _look(find_server(ServerFiles(state_folder(dict(os.environ)))))
    print(msgspec.json.encode(status).decode() if flags.api else "\n".join(words))
    return 0 if status.diagnostics is None else status.diagnostics.exit_code


def _look(found: Found) -> tuple[Status, list[str]]:
    match found:
        case Absent():
            return Status(status="ok", running=False), ["No server runs.", f"  {_START}"]
        case Unproven(holder=holder):
            words = f"A server ({holder}) starts, stops or hangs: it does not answer yet, or any more."
            return Status(status="ok", running=False, held_by=holder), [words]
        case Running():
            health = found.health()
            trouble = _told(found, health.trouble) if health.trouble is not None else None
            return _status(found, health, trouble), _words(found, health, trouble)


def _told(server: Running, trouble: Trouble) -> Failed:
    failure = StoreFailed(
        f"The server at {server.record.url} runs, and cannot use its log. {trouble.message}",
        suggestion=trouble.suggestion,
    )
    return failed(failure, os.urandom(8).hex())


def _status(server: Running, health: Health, trouble: Failed | None) -> Status:
    return Status(
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


def _words(server: Running, health: Health, trouble: Failed | None) -> list[str]:
    from portico.doors.terminal.phrasing import clock

    facts = [f"process {health.pid}", f"up {clock(int(health.uptime_seconds * 1000))}"]
    if health.sessions is not None:
        sessions = "1 session" if health.sessions == 1 else f"{health.sessions} sessions"
        facts.append(f"{sessions}, {health.active_sessions} at work")
    if health.memory_bytes is not None:
        facts.append(f"{health.memory_bytes / 1e6:.0f} MB")
    words = [
        f"Portico {server.version} serves at {server.record.url}",
        f"  {' · '.join(facts)}",
        f"  works in {health.workspace}",
        f"  logs to {log_file()}",
    ]
    if server.version != __version__:
        words.append(f"  This is Portico {__version__}; for the same one: portico stop, then serve again.")
    if trouble is not None:
        words += [trouble.error, f"  {trouble.diagnostics.suggestion or _ASK_DOCTOR}"]
    return words
