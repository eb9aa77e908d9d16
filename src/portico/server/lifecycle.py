"""Life of the server in this process: takes lock, port and token, serves, and closes in order.

Nothing is lost with the process: streams end first, then turns, then agents, and the log is closed last.
"""

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import msgspec

from portico import __version__
from portico.api.health import HealthIssue, ServerHealth
from portico.app.host import Host, open_host
from portico.app.program_log import configure_log
from portico.chains.options import NO_CHAIN_OPTIONS, ChainOptions
from portico.client.discovery import RunningServer, UnprovenServer, find_server
from portico.config.devices import DeviceFile
from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles, ServerRecord
from portico.domain.errors import InvalidInput, StoreFailed
from portico.domain.events import Notice
from portico.domain.timestamps import format_time
from portico.doors.http.admission import StreamLimit
from portico.doors.http.app import RemoteDoor, ServedDoors, build_app
from portico.doors.http.asgi import ASGIApp
from portico.doors.http.credentials import Credentials
from portico.doors.http.page import PageFolder
from portico.doors.http.server import HttpServer, listen
from portico.doors.remote_acp.door import RemoteAcpDoor
from portico.processes.signals import on_signals
from portico.processes.tasks import cancel_and_wait
from portico.rpc.streams import ByteStream
from portico.server.node import NodeOptions
from portico.server.watchdog import keep_discoverable
from portico.sessions.ports import SessionTimeouts

log = logging.getLogger("portico.server")

_COUNTED_SESSIONS = 10_000


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the server. Port 0 is the last one used, or a free one."""

    port: int
    workspace: Path
    agent: str | None
    detached: bool
    chain: ChainOptions = NO_CHAIN_OPTIONS
    """Options that flags add to the chains of all sessions."""
    public_url: str = ""
    """The address by which paired devices reach the server through a proxy."""
    node: NodeOptions | None = None
    """The server as a node of a team, if it is one."""


class StartedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A running server; `note` is for the person."""

    record: ServerRecord
    token: str
    note: str | None = None


class ServiceContext(msgspec.Struct, frozen=True, kw_only=True):
    """Parts that a service is built from."""

    host: Host
    options: ServerOptions
    environ: Mapping[str, str]
    page: PageFolder
    closing: asyncio.Event
    url: str
    """Address of this server."""


class ServiceApp(msgspec.Struct, frozen=True, kw_only=True):
    """A service as an app with the agent host beside it, its streams and limits, and who else may call it."""

    app: ASGIApp
    agent_host: RemoteDoor
    streams: frozenset[str]
    max_body: int
    node_token: str | None = None
    """The token of other nodes of a team."""


ServiceFactory = Callable[[ServiceContext], AbstractAsyncContextManager[ServiceApp]]


async def serve(
    options: ServerOptions,
    environ: Mapping[str, str],
    files: ServerFiles,
    open_service: ServiceFactory,
    on_ready: Callable[[StartedServer], None],
) -> None:
    """Serve until a signal or a caller with the token says stop. InvalidInput if another server runs."""
    lease = files.take_lease()
    if lease is None:
        raise _already_running(files)
    try:
        life = _ServerLife(options.workspace)
        async with _stopped_by_signals(life, detached=options.detached):
            token = files.ensure_token()
            listener, note = _take_port(options.port, files.read_record())
            record = _record(listener, files, options.public_url)

            staying: list[asyncio.Task[None]] = []

            def ready() -> None:
                files.write_record(record)
                log.info("started port=%d pid=%d version=%s", record.port, record.pid, record.version)
                watch = keep_discoverable(files, lease, record, token, life.stop)
                staying.append(asyncio.create_task(watch, name="staying reachable"))
                on_ready(StartedServer(record=record, token=token, note=note))

            with listener:
                async with _open_door(
                    options, environ, StartedServer(record=record, token=token), life, open_service
                ) as app:
                    try:
                        await life.run(HttpServer(app, listener, life.closing), ready)
                    finally:
                        await cancel_and_wait(*staying)
            log.info("stopped port=%d pid=%d", record.port, record.pid)
    finally:
        lease.release()


@asynccontextmanager
async def _open_door(
    options: ServerOptions,
    environ: Mapping[str, str],
    started: StartedServer,
    life: "_ServerLife",
    open_service: ServiceFactory,
) -> AsyncIterator[ASGIApp]:
    """The whole door as an app, over a host of its own."""
    page = PageFolder()
    _begin_log()
    async with open_host(environ, options.chain, attachable=True, checks_edits=True) as host:
        life.host = host
        context = ServiceContext(
            host=host,
            options=options,
            environ=environ,
            page=page,
            closing=life.closing,
            url=started.record.url,
        )
        async with open_service(context) as service:
            remote = RemoteAcpDoor(partial(_run_chain, options, environ), life.closing)
            try:
                yield build_app(
                    doors=ServedDoors(
                        service=service.app,
                        remote=remote,
                        agent_host=service.agent_host,
                        public_url=options.public_url,
                    ),
                    credentials=Credentials(
                        started.token,
                        node_token=service.node_token,
                        devices=DeviceFile(state_folder(environ)),
                    ),
                    page=page,
                    version=__version__,
                    closing=life.closing,
                    life=life,
                    streams=StreamLimit(service.streams),
                    max_body=service.max_body,
                )
            finally:
                await remote.close()


async def _run_chain(options: ServerOptions, environ: Mapping[str, str], client: ByteStream) -> None:
    """Run a chain like that of `portico acp` for a remote client."""
    from portico.chains.editor_chain import EditorChain, EditorChainOptions
    from portico.chains.taps import tap_stream

    def show(notice: Notice) -> None:
        log.info("remote chain: %s", notice.text)

    flags = EditorChainOptions(start_limit=SessionTimeouts().start, agent=options.agent, chain=options.chain)
    door = EditorChain(environ, flags, show, workspace=options.workspace)
    try:
        await door.chain(tap_stream(client, environ, "editor", "agent")).run()
    finally:
        await door.close()


class _ServerLife:
    """This process as a server: its health and its end, which can be requested at any time."""

    host: Host

    def __init__(self, workspace: Path) -> None:
        self.closing = asyncio.Event()
        self._workspace = workspace
        self._began = time.monotonic()
        self._server: HttpServer | None = None

    async def run(self, server: HttpServer, on_ready: Callable[[], None]) -> None:
        if not self.closing.is_set():
            self._server = server
            await server.run(on_ready)

    async def health(self) -> ServerHealth:
        sessions: int | None = None
        active: int | None = None
        trouble: HealthIssue | None = None
        try:
            sessions = len(await self.host.store.summaries(limit=_COUNTED_SESSIONS))
            active = len(await self.host.store.active_sessions())
        except StoreFailed as failure:
            trouble = HealthIssue(failure.message, failure.suggestion)
        return ServerHealth(
            pid=os.getpid(),
            workspace=str(self._workspace),
            uptime_seconds=round(time.monotonic() - self._began, 1),
            sessions=sessions,
            active_sessions=active,
            memory_bytes=_memory(),
            trouble=trouble,
        )

    def stop(self) -> None:
        if self._server is None:
            self.closing.set()
        else:
            self._server.stop()


@asynccontextmanager
async def _stopped_by_signals(life: _ServerLife, *, detached: bool) -> AsyncIterator[None]:
    """A terminal that goes away ends the server in it, and no other."""
    stops = [signal.SIGINT, signal.SIGTERM]
    hang_up = [signal.SIGHUP] if hasattr(signal, "SIGHUP") else []
    if not detached:
        stops, hang_up = [*stops, *hang_up], []

    def stay() -> None:
        log.info("the terminal is gone")

    async with on_signals(life.stop, tuple(stops)), on_signals(stay, tuple(hang_up)):
        yield
    # The process ends now; a late signal would make it end with the exit code of that signal.
    for number in stops:
        signal.signal(number, signal.SIG_IGN)


def _take_port(wanted: int, earlier: ServerRecord | None) -> tuple[socket.socket, str | None]:
    """The wanted port, else the one of the server before, else any; and what to say about it."""
    if wanted:
        try:
            return listen(wanted), None
        except OSError as error:
            raise InvalidInput(
                f"Port {wanted} cannot be used: {error.strerror or error}.",
                suggestion="Choose another --port, or leave it out.",
            ) from error
    if earlier is not None:
        try:
            return listen(earlier.port), None
        except (OSError, OverflowError):
            note = f"Port {earlier.port}, which the server used before, is taken, so it uses another one."
            return listen(0), note
    return listen(0), None


def _record(listener: socket.socket, files: ServerFiles, public_url: str) -> ServerRecord:
    return ServerRecord(
        pid=os.getpid(),
        port=listener.getsockname()[1],
        version=__version__,
        started_at=format_time(time.time_ns() // 1_000_000),
        token_file=str(files.token_file),
        public_url=public_url,
    )


def _already_running(files: ServerFiles) -> InvalidInput:
    match find_server(files):
        case RunningServer(record=record):
            return InvalidInput(
                f"The server is already running at {record.url}",
                suggestion="Show its page with: portico serve --detach --open. Or end it first: portico stop",
            )
        case UnprovenServer(holder=holder):
            return InvalidInput(
                f"Another server ({holder}) is starting or stopping.",
                suggestion="Try again in a moment; portico status shows its state.",
            )
        case _:
            return InvalidInput("Another server has just stopped.", suggestion="Try again.")


def _begin_log() -> None:
    configure_log()
    log.setLevel(logging.INFO)


def _memory() -> int | None:
    """The memory that this process takes; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
