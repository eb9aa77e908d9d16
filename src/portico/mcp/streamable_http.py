"""MCP server transport over streamable HTTP: POST requests answered with JSON or an event stream.

It is a stream if notifications come before the response, or if the response takes long. Clients of the handshake
era have a session with an id and may keep a stream open for notifications; those of the newest revision have neither.
"""

import asyncio
import os
from collections.abc import Mapping
from http import HTTPStatus

from msgspec import UnsetType

from portico.mcp import http1
from portico.mcp.event_stream import EVENT_STREAM, KEEP_ALIVE, encode_event
from portico.mcp.http1 import JSON, HttpHead, HttpRefusal
from portico.mcp.protocol import (
    HEADER_MISMATCH,
    INITIALIZE,
    METHOD_HEADER,
    MODERN_VERSION,
    SESSION_HEADER,
    UNSUPPORTED_VERSION,
    VERSION_HEADER,
    is_modern,
)
from portico.mcp.response_streams import FinalResponse, ResponseRouter, ResponseStream
from portico.mcp.server_connection import McpServerConnection, OpenBackend
from portico.mcp.stdio_server import encode_outcome, fault_error
from portico.rpc.frames import MalformedLine, read_line
from portico.rpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Message,
    RpcError,
)

MOST_SESSIONS = 16
"""Of one server. Clients that reconnect rarely end their old session first."""


class McpHttpSession:
    def __init__(self, server: OpenBackend, session_id: str | None) -> None:
        self.server = server
        self.session_id = session_id
        self.responses = ResponseRouter()
        self.connection = McpServerConnection(self.responses, server)

    async def close(self) -> None:
        self.responses.close_all()
        await self.connection.close()


class McpHttpSessions:
    def __init__(self) -> None:
        self._sessions: list[McpHttpSession] = []

    async def begin(self, server: OpenBackend, session_id: str | None) -> McpHttpSession:
        """Begin a session; if there are many with an id, the one that is idle longest is ended."""
        if session_id is not None:
            known = [one for one in self._sessions if one.server is server and one.session_id is not None]
            if len(known) >= MOST_SESSIONS:
                resting = next((one for one in known if one.responses.idle), None)
                if resting is None:
                    raise HttpRefusal(HTTPStatus.SERVICE_UNAVAILABLE, f"more than {MOST_SESSIONS} sessions")
                await self.end(resting)
        session = McpHttpSession(server, session_id)
        self._sessions.append(session)
        return session

    def find(self, server: OpenBackend, session_id: str) -> McpHttpSession:
        """The session with this id. HttpRefusal if there is none."""
        for place, session in enumerate(self._sessions):
            if session.server is server and session.session_id == session_id:
                self._sessions.append(self._sessions.pop(place))
                return session
        raise HttpRefusal(HTTPStatus.NOT_FOUND, "this session is over")

    async def end(self, session: McpHttpSession) -> None:
        if session in self._sessions:
            self._sessions.remove(session)
            await session.close()

    async def forget(self, server: OpenBackend) -> None:
        for session in [one for one in self._sessions if one.server is server]:
            await self.end(session)

    async def close(self) -> None:
        for session in list(self._sessions):
            await self.end(session)


HEARTBEAT = 15.0
"""Seconds between comments in a stream: clients give up on one that is silent for some minutes."""

_STATUS_OF_ERROR = {
    METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
    INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
}
"""HTTP status by error code in the newest revision. In older ones an error of MCP has status 200."""


class StreamableHttpServer:
    def __init__(self, heartbeat: float) -> None:
        self._heartbeat = heartbeat
        self._sessions = McpHttpSessions()

    async def forget(self, server: OpenBackend) -> None:
        await self._sessions.forget(server)

    async def close(self) -> None:
        await self._sessions.close()

    async def handle(
        self, server: OpenBackend, head: HttpHead, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        """Answer a request for a server. HttpRefusal if it has no answer in MCP."""
        session_id = head.headers.get(SESSION_HEADER.lower())
        if head.method == "POST":
            await self._post(server, head, body, writer)
        elif session_id is None or head.method not in ("GET", "DELETE"):
            raise HttpRefusal(HTTPStatus.METHOD_NOT_ALLOWED, "use POST", {"Allow": "POST"})
        elif head.method == "DELETE":
            await self._sessions.end(self._sessions.find(server, session_id))
            writer.write(http1.answer(HTTPStatus.OK, {}))
        else:
            await self._listen(self._sessions.find(server, session_id), writer)
        await writer.drain()

    async def _listen(self, session: McpHttpSession, writer: asyncio.StreamWriter) -> None:
        stream = session.responses.open_for_notifications()
        if stream is None:
            raise HttpRefusal(HTTPStatus.CONFLICT, "this session already has a stream")
        try:
            await self._stream(stream, b"", {}, writer)
        finally:
            session.responses.drop(stream)

    async def _post(
        self, server: OpenBackend, head: HttpHead, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        if head.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise HttpRefusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the content type must be {JSON}")
        # JSON may have line breaks between its tokens, but a message is one line from here on.
        message = read_line(body.replace(b"\r", b" ").replace(b"\n", b" "))
        if isinstance(message, MalformedLine):
            writer.write(_json(HTTPStatus.BAD_REQUEST, encode_outcome(None, fault_error(message.fault))))
            return
        session_id = head.headers.get(SESSION_HEADER.lower())
        if session_id is not None:
            await self._exchange(self._sessions.find(server, session_id), message, {}, writer)
        elif message.method == INITIALIZE:
            await self._begin_session(server, message, writer)
        else:
            await self._answer_once(server, head, message, writer)

    async def _begin_session(
        self, server: OpenBackend, message: Message, writer: asyncio.StreamWriter
    ) -> None:
        session_id = os.urandom(24).hex()
        session = await self._sessions.begin(server, session_id)
        agreed = False
        try:
            answer = await self._exchange(session, message, {SESSION_HEADER: session_id}, writer)
            agreed = answer is not None and answer.error is None
        finally:
            if not agreed:
                await self._sessions.end(session)

    async def _answer_once(
        self, server: OpenBackend, head: HttpHead, message: Message, writer: asyncio.StreamWriter
    ) -> None:
        """Answer without a session. A client that disconnects has cancelled its request."""
        try:
            _check_modern(head, message)
        except RpcError as error:
            request_id = None if isinstance(message.id, UnsetType) else message.id
            writer.write(_json(HTTPStatus.BAD_REQUEST, encode_outcome(request_id, error)))
            return
        session = await self._sessions.begin(server, None)
        try:
            await self._exchange(session, message, {}, writer)
        finally:
            await self._sessions.end(session)

    async def _exchange(
        self,
        session: McpHttpSession,
        message: Message,
        headers: Mapping[str, str],
        writer: asyncio.StreamWriter,
    ) -> FinalResponse | None:
        if isinstance(message.id, UnsetType) or message.method is None:
            await session.connection.receive(message)
            writer.write(http1.answer(HTTPStatus.ACCEPTED, {}))
            return None
        stream = session.responses.open_for_request(message.id)
        if stream is None:
            taken = RpcError(INVALID_REQUEST, "a request with this id is still being answered")
            writer.write(_json(HTTPStatus.BAD_REQUEST, encode_outcome(message.id, taken)))
            return None
        try:
            await session.connection.receive(message)
            first = await stream.next(self._heartbeat)
            if not isinstance(first, FinalResponse):
                return await self._stream(stream, first, headers, writer)
            writer.write(_json(_status(session, first), first.line, headers))
            return first
        finally:
            session.responses.drop(stream)

    async def _stream(
        self,
        stream: ResponseStream,
        item: bytes | FinalResponse | None,
        headers: Mapping[str, str],
        writer: asyncio.StreamWriter,
    ) -> FinalResponse | None:
        """Write events up to the last, beginning with `item`."""
        writer.write(http1.head(HTTPStatus.OK, {"Content-Type": EVENT_STREAM, **headers}))
        while item is not None:
            line = item.line if isinstance(item, FinalResponse) else item
            writer.write(encode_event(line) if line else KEEP_ALIVE)
            await writer.drain()
            if isinstance(item, FinalResponse):
                return item
            item = await stream.next(self._heartbeat)
        return None


def _check_modern(head: HttpHead, message: Message) -> None:
    """RpcError if a message needs a session, or its headers contradict it."""
    if not is_modern(message.params):
        raise RpcError(INVALID_REQUEST, f"{SESSION_HEADER} is missing")
    method = message.method or ""
    for name, expected in ((VERSION_HEADER, MODERN_VERSION), (METHOD_HEADER, method)):
        if head.headers.get(name.lower(), expected) != expected:
            raise RpcError(HEADER_MISMATCH, f"the header {name} does not match the message")


def _status(session: McpHttpSession, answer: FinalResponse) -> HTTPStatus:
    if session.session_id is not None or answer.error is None:
        return HTTPStatus.OK
    return _STATUS_OF_ERROR.get(answer.error, HTTPStatus.OK)


def _json(status: HTTPStatus, line: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    return http1.answer(status, {"Content-Type": JSON, **(headers or {})}, line.rstrip(b"\n"))
