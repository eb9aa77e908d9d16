"""MCP server transport over streamable HTTP: POST requests answered with JSON or an event stream.

It is a stream if something has to be said before the answer, or if the answer takes long. Agents that shake
hands have a session with an id, and may keep a stream open beside; those of the newest revision have neither.
"""

import asyncio
import os
from collections.abc import Mapping
from http import HTTPStatus

from msgspec import UnsetType

from portico.conductor.mcp_bridge.response_streams import FinalResponse, ResponseRouter, ResponseStream
from portico.conductor.mcp_bridge.server_connection import McpServerConnection, OpenProvider
from portico.conductor.mcp_bridge.stdio_server import encode_outcome, fault_error
from portico.mcp import http1
from portico.mcp.http1 import EVENT_STREAM, JSON, HttpHead, HttpRefusal
from portico.mcp.protocol import HEADER_MISMATCH, INITIALIZE, MODERN_VERSION, UNSUPPORTED_VERSION, is_modern
from portico.rpc.frames import MalformedLine, read_line
from portico.rpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Message,
    RpcError,
)

MOST_SESSIONS = 16
"""Of one server. Agents that come again rarely say goodbye before."""


class McpHttpSession:
    def __init__(self, server: OpenProvider, session_id: str | None) -> None:
        self.server = server
        self.session_id = session_id
        self.carriers = ResponseRouter()
        self.link = McpServerConnection(self.carriers, server)

    async def close(self) -> None:
        self.carriers.close_all()
        await self.link.close()


class McpHttpSessions:
    def __init__(self) -> None:
        self._sessions: list[McpHttpSession] = []

    async def begin(self, server: OpenProvider, session_id: str | None) -> McpHttpSession:
        """A new one; if there are many with an id, the one that rested longest is ended."""
        if session_id is not None:
            known = [one for one in self._sessions if one.server is server and one.session_id is not None]
            if len(known) >= MOST_SESSIONS:
                resting = next((one for one in known if one.carriers.idle), None)
                if resting is None:
                    raise HttpRefusal(HTTPStatus.SERVICE_UNAVAILABLE, f"more than {MOST_SESSIONS} sessions")
                await self.end(resting)
        session = McpHttpSession(server, session_id)
        self._sessions.append(session)
        return session

    def find(self, server: OpenProvider, session_id: str) -> McpHttpSession:
        """The one that goes by this id. Refused if there is none, or not any more."""
        for place, session in enumerate(self._sessions):
            if session.server is server and session.session_id == session_id:
                self._sessions.append(self._sessions.pop(place))
                return session
        raise HttpRefusal(HTTPStatus.NOT_FOUND, "this session is over")

    async def end(self, session: McpHttpSession) -> None:
        if session in self._sessions:
            self._sessions.remove(session)
            await session.close()

    async def forget(self, server: OpenProvider) -> None:
        for session in [one for one in self._sessions if one.server is server]:
            await self.end(session)

    async def close(self) -> None:
        for session in list(self._sessions):
            await self.end(session)


SESSION = "Mcp-Session-Id"
HEARTBEAT = 15.0
"""Seconds between signs of life: clients give up on an answer that is silent for some minutes."""

_STATUS_OF_ERROR = {
    METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
    INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
}
"""In the newest revision. In the older ones an error of MCP is no error of HTTP."""


class StreamableHttpServer:
    def __init__(self, heartbeat: float) -> None:
        self._heartbeat = heartbeat
        self._sessions = McpHttpSessions()

    async def forget(self, server: OpenProvider) -> None:
        await self._sessions.forget(server)

    async def close(self) -> None:
        await self._sessions.close()

    async def handle(
        self, server: OpenProvider, head: HttpHead, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        """Answer a request for a server. Refused if there is no answer of MCP to it."""
        named = head.headers.get(SESSION.lower())
        if head.method == "POST":
            await self._post(server, head, body, writer)
        elif named is None or head.method not in ("GET", "DELETE"):
            raise HttpRefusal(HTTPStatus.METHOD_NOT_ALLOWED, "messages are posted", {"Allow": "POST"})
        elif head.method == "DELETE":
            await self._sessions.end(self._sessions.find(server, named))
            writer.write(http1.answer(HTTPStatus.OK, {}))
        else:
            await self._listen(self._sessions.find(server, named), writer)
        await writer.drain()

    async def _listen(self, session: McpHttpSession, writer: asyncio.StreamWriter) -> None:
        carrier = session.carriers.open_for_notifications()
        if carrier is None:
            raise HttpRefusal(HTTPStatus.CONFLICT, "this session has a stream already")
        try:
            await self._stream(carrier, b"", {}, writer)
        finally:
            session.carriers.drop(carrier)

    async def _post(
        self, server: OpenProvider, head: HttpHead, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        if head.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise HttpRefusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a message is {JSON}")
        # Outside of its strings JSON may have line ends, but further on a message is one line.
        message = read_line(body.replace(b"\r", b" ").replace(b"\n", b" "))
        if isinstance(message, MalformedLine):
            writer.write(_json(HTTPStatus.BAD_REQUEST, encode_outcome(None, fault_error(message.fault))))
            return
        named = head.headers.get(SESSION.lower())
        if named is not None:
            await self._converse(self._sessions.find(server, named), message, {}, writer)
        elif message.method == INITIALIZE:
            await self._shake_hands(server, message, writer)
        else:
            await self._answer_once(server, head, message, writer)

    async def _shake_hands(
        self, server: OpenProvider, message: Message, writer: asyncio.StreamWriter
    ) -> None:
        session_id = os.urandom(24).hex()
        session = await self._sessions.begin(server, session_id)
        agreed = False
        try:
            answer = await self._converse(session, message, {SESSION: session_id}, writer)
            agreed = answer is not None and answer.error is None
        finally:
            if not agreed:
                await self._sessions.end(session)

    async def _answer_once(
        self, server: OpenProvider, head: HttpHead, message: Message, writer: asyncio.StreamWriter
    ) -> None:
        """Without a session: an agent that does not wait for the answer has cancelled its request."""
        try:
            _check_modern(head, message)
        except RpcError as error:
            request_id = None if isinstance(message.id, UnsetType) else message.id
            writer.write(_json(HTTPStatus.BAD_REQUEST, encode_outcome(request_id, error)))
            return
        session = await self._sessions.begin(server, None)
        try:
            await self._converse(session, message, {}, writer)
        finally:
            await self._sessions.end(session)

    async def _converse(
        self,
        session: McpHttpSession,
        message: Message,
        headers: Mapping[str, str],
        writer: asyncio.StreamWriter,
    ) -> FinalResponse | None:
        if isinstance(message.id, UnsetType) or message.method is None:
            await session.link.receive(message)
            writer.write(http1.answer(HTTPStatus.ACCEPTED, {}))
            return None
        carrier = session.carriers.open_for_request(message.id)
        if carrier is None:
            taken = RpcError(INVALID_REQUEST, "a request with this id is still being answered")
            writer.write(_json(HTTPStatus.BAD_REQUEST, encode_outcome(message.id, taken)))
            return None
        try:
            await session.link.receive(message)
            first = await carrier.next(self._heartbeat)
            if not isinstance(first, FinalResponse):
                return await self._stream(carrier, first, headers, writer)
            writer.write(_json(_status(session, first), first.line, headers))
            return first
        finally:
            session.carriers.drop(carrier)

    async def _stream(
        self,
        carrier: ResponseStream,
        item: bytes | FinalResponse | None,
        headers: Mapping[str, str],
        writer: asyncio.StreamWriter,
    ) -> FinalResponse | None:
        """Write events up to the last, beginning with one that is at hand."""
        writer.write(http1.head(HTTPStatus.OK, {"Content-Type": EVENT_STREAM, **headers}))
        while item is not None:
            line = item.line if isinstance(item, FinalResponse) else item
            writer.write(http1.event(line) if line else http1.SIGN_OF_LIFE)
            await writer.drain()
            if isinstance(item, FinalResponse):
                return item
            item = await carrier.next(self._heartbeat)
        return None


def _check_modern(head: HttpHead, message: Message) -> None:
    """RpcError if a message needs a session, or its headers say something else than it does."""
    if not is_modern(message.params):
        raise RpcError(INVALID_REQUEST, f"{SESSION} is missing")
    method = message.method or ""
    for name, said in (("MCP-Protocol-Version", MODERN_VERSION), ("Mcp-Method", method)):
        if head.headers.get(name.lower(), said) != said:
            raise RpcError(HEADER_MISMATCH, f"{name} is not what the message says")


def _status(session: McpHttpSession, answer: FinalResponse) -> HTTPStatus:
    if session.session_id is not None or answer.error is None:
        return HTTPStatus.OK
    return _STATUS_OF_ERROR.get(answer.error, HTTPStatus.OK)


def _json(status: HTTPStatus, line: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    return http1.answer(status, {"Content-Type": JSON, **(headers or {})}, line.rstrip(b"\n"))
