"""A web door on a real socket, with a small service behind it, and callers that speak HTTP byte by byte."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec
from connectrpc.codec import proto_binary_codec
from connectrpc.request import RequestContext
from protobuf import Oneof

from portico.api.health import ServerHealth
from portico.api.v1.agent_pb import (
    GetServerInfoRequest,
    GetServerInfoResponse,
    Heartbeat,
    StartSessionRequest,
    StartSessionResponse,
    WatchSessionsRequest,
    WatchSessionsResponse,
)
from portico.api.v1.agent_service import AgentService, AgentServiceASGIApplication
from portico.doors.api.json_codec import BoundedJsonCodec
from portico.doors.api.service import stream_paths
from portico.doors.http.admission import MOST_STREAMS, AdmissionControl, StreamLimit
from portico.doors.http.app import RemoteDoor, ServedDoors, build_app
from portico.doors.http.asgi import ASGIApp
from portico.doors.http.credentials import Credentials
from portico.doors.http.guard import MAX_BODY_BYTES, SERVICE_PATH, cookie_name
from portico.doors.http.http1_connection import Http1Connection
from portico.doors.http.page import PageFolder
from portico.doors.http.server import HttpServer, listen
from portico.doors.remote_acp.connection import RunChain
from portico.doors.remote_acp.door import RemoteAcpDoor
from portico.rpc.streams import ByteStream

DEADLINE = 20.0
TOKEN = "the-token-of-this-server"
INFO = f"{SERVICE_PATH}GetServerInfo"
START = f"{SERVICE_PATH}StartSession"
WATCH = f"{SERVICE_PATH}WatchSessions"
JSON_BODY = {"content-type": "application/json"}
# One empty message of a Connect stream: a flag byte, four bytes of length, and JSON.
STREAM_BODY = b"\x00\x00\x00\x00\x02{}"


class StandIn(AgentService):
    """Answers who it is, and streams a heartbeat until the server closes."""

    def __init__(self, closing: asyncio.Event, *, flood: bool = False) -> None:
        self.closing = closing
        self.flood = flood
        self.sent = 0
        self.calls: list[str] = []

    async def get_server_info(
        self,
        request: GetServerInfoRequest,
        ctx: RequestContext[GetServerInfoRequest, GetServerInfoResponse],
    ) -> GetServerInfoResponse:
        self.calls.append("info")
        return GetServerInfoResponse(version="1.2.3")

    async def start_session(
        self,
        request: StartSessionRequest,
        ctx: RequestContext[StartSessionRequest, StartSessionResponse],
    ) -> StartSessionResponse:
        self.calls.append("start")
        raise RuntimeError(f"the secret word is {TOKEN}")

    async def watch_sessions(
        self,
        request: WatchSessionsRequest,
        ctx: RequestContext[WatchSessionsRequest, WatchSessionsResponse],
    ) -> AsyncIterator[WatchSessionsResponse]:
        self.calls.append("watch")
        much: Oneof[Literal["removed_session_id"], str] = Oneof("removed_session_id", "x" * 100_000)
        heartbeat: Oneof[Literal["heartbeat"], Heartbeat] = Oneof("heartbeat", Heartbeat(last_seq=7))
        yield WatchSessionsResponse(change=heartbeat)
        while self.flood and not self.closing.is_set():
            self.sent += 1
            yield WatchSessionsResponse(change=much)
        await self.closing.wait()


class IdleLife:
    """A process that has nothing to tell but that it was asked to stop."""

    def __init__(self) -> None:
        self.server: HttpServer | None = None

    async def health(self) -> ServerHealth:
        return ServerHealth(
            pid=1,
            workspace="/somewhere",
            uptime_seconds=1.5,
            sessions=3,
            active_sessions=1,
            memory_bytes=50_000_000,
        )

    def stop(self) -> None:
        assert self.server is not None
        self.server.stop()


class Reply(msgspec.Struct, frozen=True):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def refusal(self) -> tuple[int, str]:
        """The status, and the code in the shape that Connect clients read."""
        assert self.headers["content-type"] == "application/json"
        assert self.json["message"]
        return self.status, self.json["code"]


class Caller:
    """One connection, on which whole requests or single bytes can be sent."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self.reader = reader
        self.writer = writer
        self.port = port

    async def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        *,
        body: bytes = b"",
        host: str | None = None,
    ) -> Reply:
        self.send_head(method, path, {"content-length": str(len(body)), **(headers or {})}, host=host)
        self.writer.write(body)
        return await self.reply(method)

    def send_head(self, method: str, path: str, headers: dict[str, str], *, host: str | None = None) -> None:
        named = {"host": host if host is not None else f"127.0.0.1:{self.port}", **headers}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    async def reply(self, method: str = "GET") -> Reply:
        async with asyncio.timeout(DEADLINE):
            status, headers = await self.reply_head()
            if method == "HEAD" or status == 204:
                return Reply(status, headers, b"")
            if headers.get("transfer-encoding") == "chunked":
                chunks = [chunk async for chunk in self.chunks()]
                return Reply(status, headers, b"".join(chunks))
            return Reply(status, headers, await self.reader.readexactly(int(headers["content-length"])))

    async def reply_head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(DEADLINE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        pairs = (line.split(": ", 1) for line in lines)
        return int(first.split()[1]), {name.lower(): value for name, value in pairs}

    async def chunks(self) -> AsyncIterator[bytes]:
        """A chunked body, piece by piece, to its proper end."""
        while True:
            async with asyncio.timeout(DEADLINE):
                size = int((await self.reader.readuntil(b"\r\n")).strip(), 16)
                data = await self.reader.readexactly(size + 2)
            if size == 0:
                return
            yield data[:-2]

    async def is_closed(self) -> bool:
        """Wait until the server ends the connection; what came before is thrown away."""
        async with asyncio.timeout(DEADLINE):
            try:
                while await self.reader.read(65536):
                    pass
            except ConnectionError:
                pass
        return True


class Door:
    """A running web door."""

    def __init__(self, port: int, server: HttpServer, service: StandIn, closing: asyncio.Event) -> None:
        self.port = port
        self.server = server
        self.service = service
        self.closing = closing
        self.running: asyncio.Task[None]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def caller(self) -> AsyncIterator[Caller]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield Caller(reader, writer, self.port)
        finally:
            writer.close()

    async def ask(self, method: str, path: str, headers: dict[str, str] | None = None, **more: Any) -> Reply:
        """One request on a connection of its own."""
        async with self.caller() as caller:
            return await caller.ask(method, path, headers, **more)

    async def info(self, headers: dict[str, str], **more: Any) -> Reply:
        """Ask the service who it is."""
        return await self.ask("POST", INFO, {**JSON_BODY, **headers}, body=b"{}", **more)

    async def cookie(self) -> str:
        """Cookie that the page gets for the token."""
        reply = await self.ask("POST", "/auth", bearer(TOKEN))
        assert reply.status == 204
        return reply.headers["set-cookie"].split(";")[0]

    @property
    def cookie_name(self) -> str:
        return cookie_name(self.port)


async def echo_lines(client: ByteStream) -> None:
    """A chain that sends back what it gets."""
    while data := await client.read():
        client.write(data)


@asynccontextmanager
async def open_door(
    page: Path | None = None,
    *,
    flood: bool = False,
    grace: float = 5.0,
    connection: type[Http1Connection] = Http1Connection,
    service: ASGIApp | None = None,
    room: AdmissionControl | None = None,
    most_streams: int = MOST_STREAMS,
    run_chain: RunChain = echo_lines,
    agent_host: RemoteDoor | None = None,
) -> AsyncIterator[Door]:
    """A door that is stopped in the end, as a server is."""
    closing, life = asyncio.Event(), IdleLife()
    stand_in = StandIn(closing, flood=flood)
    remote = RemoteAcpDoor(run_chain, closing)
    app = build_app(
        doors=ServedDoors(
            service=service or _application(stand_in), remote=remote, agent_host=agent_host or remote
        ),
        credentials=Credentials(TOKEN),
        page=PageFolder(page or Path("/nowhere")),
        version="1.2.3",
        closing=closing,
        life=life,
        streams=StreamLimit(stream_paths(), most_streams),
    )
    listener: socket.socket = listen(0)
    port: int = listener.getsockname()[1]
    server = life.server = HttpServer(app, listener, closing, grace=grace, connection=connection, room=room)
    door, ready = Door(port, server, stand_in, closing), asyncio.Event()
    door.running = asyncio.create_task(server.run(ready.set), name="the server")
    try:
        async with asyncio.timeout(DEADLINE):
            await ready.wait()
        yield door
        server.stop()
        async with asyncio.timeout(DEADLINE):
            await door.running
    finally:
        door.running.cancel()
        await asyncio.gather(door.running, return_exceptions=True)
        await remote.close()


def _application(service: AgentService) -> AgentServiceASGIApplication:
    codecs = [proto_binary_codec(), BoundedJsonCodec()]
    return AgentServiceASGIApplication(service, read_max_bytes=MAX_BODY_BYTES, codecs=codecs)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
