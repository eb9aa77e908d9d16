"""ACP over HTTP: messages of the client as POST, those of the agent as server-sent events.

One event stream is for the connection, and one for each session. Events have numbers, so a client that sends
`Last-Event-ID` gets what it missed, which the protocol does not ask for.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain import codecs
from portico.doors.http.asgi import HttpRequest, HttpResponse, Receive
from portico.doors.http.refusals import RequestRefused, wrong_method
from portico.doors.remote_acp.connection import ChainConnection, RunChain
from portico.doors.remote_acp.numbered_events import NumberedEvents
from portico.processes.tasks import cancel_and_wait
from portico.rpc.messages import Frame, RequestId
from portico.rpc.replay_buffer import ReplayGone

_CONNECTION, _SESSION = "acp-connection-id", "acp-session-id"
_MAX_BODY = 16 * 1024 * 1024
_MOST_CONNECTIONS = 64
_KEEP_ALIVE_SECONDS = 15.0
_IN_SESSION = frozenset(
    f"session/{name}"
    for name in (
        "prompt",
        "cancel",
        "close",
        "delete",
        "fork",
        "load",
        "resume",
        "set_config_option",
        "set_mode",
    )
)


class _SessionParams(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str | UnsetType = UNSET


class _HttpConnection:
    """A chain, and the event streams that its messages go to."""

    def __init__(self, run_chain: RunChain) -> None:
        self.chain = ChainConnection(run_chain, self._emit)
        self.streams: dict[str | None, NumberedEvents] = {None: NumberedEvents()}
        """By session; the one of the connection is under None."""
        self.initialized: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.initialize_id: RequestId | UnsetType = UNSET
        self.expiry: asyncio.TimerHandle | None = None
        self._routes: dict[RequestId, str | None] = {}

    @property
    def is_read(self) -> bool:
        return any(stream.is_read for stream in self.streams.values())

    async def take(self, text: str, frame: Frame, session: str | None) -> None:
        if not isinstance(frame.method, UnsetType) and not isinstance(frame.id, UnsetType):
            self._routes[frame.id] = session
        await self.chain.deliver(text)

    async def _emit(self, text: str) -> None:
        frame = _read_frame(text)
        session: str | None = None
        if isinstance(frame.method, UnsetType):
            if not self.initialized.done() and frame.id == self.initialize_id:
                self.initialized.set_result(text)
                return
            if not isinstance(frame.id, UnsetType):
                session = self._routes.pop(frame.id, None)
            if session is None and (opened := _session_of(frame.result)) is not None:
                self.streams.setdefault(opened, NumberedEvents())
        elif not frame.method.startswith("$/"):
            session = _session_of(frame.params)
        await self.streams.setdefault(session, NumberedEvents()).put(text)


class StreamableHttpDoor:
    """All chains of clients over HTTP. One that no client reads or calls is kept for `keep` seconds."""

    def __init__(self, run_chain: RunChain, closing: asyncio.Event, keep: float) -> None:
        self._run_chain = run_chain
        self._closing = closing
        self._keep = keep
        self._open: dict[str, _HttpConnection] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def serve(self, request: HttpRequest, receive: Receive, answer: HttpResponse) -> None:
        match request.method:
            case "POST":
                await self._post(request, receive, answer)
            case "GET":
                await self._stream(request, receive, answer)
            case "DELETE":
                self._forget(self._find(request))
                await answer.whole(202)
            case _:
                raise wrong_method("POST", "GET", "DELETE")

    async def close(self) -> None:
        for connection in list(self._open.values()):
            self._forget(connection)
        if self._ending:
            await asyncio.wait(self._ending)

    async def _post(self, request: HttpRequest, receive: Receive, answer: HttpResponse) -> None:
        if not (request.header("content-type") or "").startswith("application/json"):
            raise RequestRefused(415, "invalid_argument", "Content-Type must be application/json.")
        text = (await _read_body(receive)).decode("utf-8", "replace")
        frame = _read_frame(text)
        if frame.method == "initialize" and not isinstance(frame.id, UnsetType):
            await self._initialize(text, frame, answer)
            return
        connection = self._find(request)
        session = _route(request, frame)
        await connection.take(text, frame, session)
        self._expect_activity(connection)
        await answer.whole(202)

    async def _initialize(self, text: str, frame: Frame, answer: HttpResponse) -> None:
        if self._closing.is_set():
            raise RequestRefused(503, "unavailable", "The server is stopping.")
        if len(self._open) >= _MOST_CONNECTIONS:
            raise RequestRefused(503, "unavailable", "Too many remote chains are open.")
        connection = _HttpConnection(self._run_chain)
        self._open[connection.chain.id] = connection
        connection.initialize_id = frame.id
        connection.chain.start()
        ended = asyncio.create_task(connection.chain.ended.wait(), name="end of a chain")
        try:
            await connection.chain.deliver(text)
            either: set[asyncio.Future[Any]] = {ended, connection.initialized}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not connection.initialized.done():
                raise RequestRefused(500, "internal", "The agent ended before it was initialized.")
        except BaseException:
            self._forget(connection)
            raise
        finally:
            ended.cancel()
        result = connection.initialized.result()
        headers = [(_CONNECTION.encode(), connection.chain.id.encode())]
        if isinstance(_read_frame(result).result, UnsetType):
            self._forget(connection)
            headers = []
        self._expect_activity(connection)
        await answer.whole(200, result.encode(), content_type="application/json", headers=headers)

    async def _stream(self, request: HttpRequest, receive: Receive, answer: HttpResponse) -> None:
        if "text/event-stream" not in (request.header("accept") or ""):
            raise RequestRefused(406, "invalid_argument", "The client must accept text/event-stream.")
        connection, session = self._find(request), request.header(_SESSION)
        stream = connection.streams.get(session)
        if stream is None:
            raise RequestRefused(404, "not_found", "There is no such session.")
        last = request.header("last-event-id")
        if stream.is_read and last is None:
            raise RequestRefused(409, "invalid_argument", "The event stream is read by another call.")
        try:
            reader = stream.open(int(last) if last and last.isdecimal() else None)
        except ReplayGone as error:
            raise RequestRefused(409, "invalid_argument", str(error)) from error
        headers = {
            "content-type": "text/event-stream",
            "cache-control": "no-cache",
            _CONNECTION: connection.chain.id,
        }
        if session is not None:
            headers[_SESSION] = session
        ending = asyncio.create_task(self._until_over(connection, receive), name="end of an event stream")
        try:
            await _start(answer, headers)
            while not ending.done():
                following = asyncio.create_task(reader.next(), name="next event")
                while not following.done() and not ending.done():
                    await asyncio.wait(
                        {following, ending}, timeout=_KEEP_ALIVE_SECONDS, return_when=asyncio.FIRST_COMPLETED
                    )
                    if not following.done() and not ending.done():
                        await _write(answer, b": \n\n")
                if not following.done():
                    await cancel_and_wait(following)
                    break
                number, text = following.result()
                await _write(answer, f"id: {number}\ndata: {text}\n\n".encode())
            await answer({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await cancel_and_wait(ending)
            reader.close()
            self._expect_activity(connection)

    async def _until_over(self, connection: _HttpConnection, receive: Receive) -> None:
        """Until the client is gone, the chain has ended or the server stops."""

        async def leave() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        tasks = [
            asyncio.create_task(wait, name="end of an event stream")
            for wait in (leave(), connection.chain.ended.wait(), self._closing.wait())
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel_and_wait(*tasks)

    def _find(self, request: HttpRequest) -> _HttpConnection:
        name = request.header(_CONNECTION)
        if name is None:
            raise RequestRefused(400, "invalid_argument", "The header Acp-Connection-Id is required.")
        connection = self._open.get(name)
        if connection is None:
            raise RequestRefused(404, "not_found", "There is no such connection; it has ended or expired.")
        return connection

    def _expect_activity(self, connection: _HttpConnection) -> None:
        """End a chain later, unless it is read or called until then."""
        if connection.expiry is not None:
            connection.expiry.cancel()
        if connection.chain.id in self._open and not connection.is_read:
            loop = asyncio.get_running_loop()
            connection.expiry = loop.call_later(self._keep, self._forget, connection)

    def _forget(self, connection: _HttpConnection) -> None:
        if self._open.pop(connection.chain.id, None) is None:
            return
        if connection.expiry is not None:
            connection.expiry.cancel()
        task = asyncio.create_task(connection.chain.end(), name="end of a remote chain")
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _route(request: HttpRequest, frame: Frame) -> str | None:
    """The session that a message of the client is about. RequestRefused when header and message disagree."""
    if isinstance(frame.method, UnsetType) or frame.method.startswith("$/"):
        return None
    named, found = request.header(_SESSION), _session_of(frame.params)
    if found is None and frame.method in _IN_SESSION:
        raise RequestRefused(400, "invalid_argument", "The parameters need a sessionId.")
    if named is not None and found is not None and named != found:
        raise RequestRefused(400, "invalid_argument", "Acp-Session-Id does not match params.sessionId.")
    return found


def _read_frame(text: str) -> Frame:
    try:
        return codecs.decode_json(text, Frame)
    except (msgspec.DecodeError, RecursionError) as error:
        raise RequestRefused(400, "invalid_argument", f"This is not one JSON-RPC message: {error}") from error


def _session_of(payload: Raw | UnsetType) -> str | None:
    if isinstance(payload, Raw):
        with suppress(msgspec.DecodeError):
            found = codecs.decode_json(payload, _SessionParams).session_id
            return None if isinstance(found, UnsetType) else found
    return None


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _MAX_BODY:
            raise RequestRefused(413, "resource_exhausted", "The message is larger than 16 MB.")
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return bytes(body)


async def _start(answer: HttpResponse, headers: Mapping[str, str]) -> None:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    await answer({"type": "http.response.start", "status": 200, "headers": encoded})
    await _write(answer, b": \n\n")


async def _write(answer: HttpResponse, data: bytes) -> None:
    await answer({"type": "http.response.body", "body": data, "more_body": True})
