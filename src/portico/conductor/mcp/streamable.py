"""MCP's streamable HTTP: each message of the agent is a POST, and its answer JSON or a stream of events.

It is a stream if something has to be said before the answer, or if the answer takes long. Agents that shake
hands have a session with an id, and may keep a stream open beside; those of the newest revision have neither.
"""

import asyncio
import os
from collections.abc import Mapping
from http import HTTPStatus

from msgspec import Raw, UnsetType

from portico.conductor.mcp import http1
from portico.conductor.mcp.carriers import Answer, Carrier
from portico.conductor.mcp.http1 import EVENT_STREAM, JSON, HttpHead, Refused
from portico.conductor.mcp.http_sessions import HttpSession, HttpSessions
from portico.conductor.mcp.lines import encoded, refusal
from portico.conductor.mcp.link import Open
from portico.conductor.mcp.protocol import (
    HEADER_MISMATCH,
    INITIALIZE,
    MODERN_VERSION,
    UNSUPPORTED_VERSION,
    is_modern,
)
from portico.rpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Fault,
    Frame,
    RpcError,
    decode_frame,
)

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


class StreamableHttp:
    def __init__(self, heartbeat: float) -> None:
        self._heartbeat = heartbeat
        self._sessions = HttpSessions()

    async def forget(self, server: Open) -> None:
        await self._sessions.forget(server)

    async def close(self) -> None:
        await self._sessions.close()

    async def handle(self, server: Open, head: HttpHead, body: bytes, writer: asyncio.StreamWriter) -> None:
        """Answer a request for a server. Refused if there is no answer of MCP to it."""
        named = head.headers.get(SESSION.lower())
        if head.method == "POST":
            await self._post(server, head, body, writer)
        elif named is None or head.method not in ("GET", "DELETE"):
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "messages are posted", {"Allow": "POST"})
        elif head.method == "DELETE":
            await self._sessions.end(self._sessions.find(server, named))
            writer.write(http1.answer(HTTPStatus.OK, {}))
        else:
            await self._listen(self._sessions.find(server, named), writer)
        await writer.drain()

    async def _listen(self, session: HttpSession, writer: asyncio.StreamWriter) -> None:
        carrier = session.carriers.carry_other()
        if carrier is None:
            raise Refused(HTTPStatus.CONFLICT, "this session has a stream already")
        try:
            await self._stream(carrier, b"", {}, writer)
        finally:
            session.carriers.drop(carrier)

    async def _post(self, server: Open, head: HttpHead, body: bytes, writer: asyncio.StreamWriter) -> None:
        if head.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a message is {JSON}")
        # Outside of its strings JSON may have line ends, but further on a message is one line.
        frame = decode_frame(body.replace(b"\r", b" ").replace(b"\n", b" "))
        if isinstance(frame, Fault):
            writer.write(_json(HTTPStatus.BAD_REQUEST, encoded(None, refusal(frame))))
            return
        named = head.headers.get(SESSION.lower())
        if named is not None:
            await self._converse(self._sessions.find(server, named), frame, {}, writer)
        elif frame.method == INITIALIZE:
            await self._shake_hands(server, frame, writer)
        else:
            await self._answer_once(server, head, frame, writer)

    async def _shake_hands(self, server: Open, frame: Frame, writer: asyncio.StreamWriter) -> None:
        session_id = os.urandom(24).hex()
        session = await self._sessions.begin(server, session_id)
        agreed = False
        try:
            answer = await self._converse(session, frame, {SESSION: session_id}, writer)
            agreed = answer is not None and answer.error is None
        finally:
            if not agreed:
                await self._sessions.end(session)

    async def _answer_once(
        self, server: Open, head: HttpHead, frame: Frame, writer: asyncio.StreamWriter
    ) -> None:
        """Without a session: an agent that does not wait for the answer has cancelled its request."""
        try:
            _check_modern(head, frame)
        except RpcError as error:
            request_id = None if isinstance(frame.id, UnsetType) else frame.id
            writer.write(_json(HTTPStatus.BAD_REQUEST, encoded(request_id, error)))
            return
        session = await self._sessions.begin(server, None)
        try:
            await self._converse(session, frame, {}, writer)
        finally:
            await self._sessions.end(session)

    async def _converse(
        self, session: HttpSession, frame: Frame, headers: Mapping[str, str], writer: asyncio.StreamWriter
    ) -> Answer | None:
        if isinstance(frame.id, UnsetType) or isinstance(frame.method, UnsetType):
            await session.link.receive(frame)
            writer.write(http1.answer(HTTPStatus.ACCEPTED, {}))
            return None
        carrier = session.carriers.carry_answer(frame.id)
        if carrier is None:
            taken = RpcError(INVALID_REQUEST, "a request with this id is still being answered")
            writer.write(_json(HTTPStatus.BAD_REQUEST, encoded(frame.id, taken)))
            return None
        try:
            await session.link.receive(frame)
            first = await carrier.next(self._heartbeat)
            if not isinstance(first, Answer):
                return await self._stream(carrier, first, headers, writer)
            writer.write(_json(_status(session, first), first.line, headers))
            return first
        finally:
            session.carriers.drop(carrier)

    async def _stream(
        self,
        carrier: Carrier,
        item: bytes | Answer | None,
        headers: Mapping[str, str],
        writer: asyncio.StreamWriter,
    ) -> Answer | None:
        """Write events up to the last, beginning with one that is at hand."""
        writer.write(http1.head(HTTPStatus.OK, {"Content-Type": EVENT_STREAM, **headers}))
        while item is not None:
            line = item.line if isinstance(item, Answer) else item
            writer.write(http1.event(line) if line else http1.SIGN_OF_LIFE)
            await writer.drain()
            if isinstance(item, Answer):
                return item
            item = await carrier.next(self._heartbeat)
        return None


def _check_modern(head: HttpHead, frame: Frame) -> None:
    """RpcError if a message needs a session, or its headers say something else than it does."""
    if not is_modern(frame.params if isinstance(frame.params, Raw) else None):
        raise RpcError(INVALID_REQUEST, f"{SESSION} is missing")
    method = "" if isinstance(frame.method, UnsetType) else frame.method
    for name, said in (("MCP-Protocol-Version", MODERN_VERSION), ("Mcp-Method", method)):
        if head.headers.get(name.lower(), said) != said:
            raise RpcError(HEADER_MISMATCH, f"{name} is not what the message says")


def _status(session: HttpSession, answer: Answer) -> HTTPStatus:
    if session.session_id is not None or answer.error is None:
        return HTTPStatus.OK
    return _STATUS_OF_ERROR.get(answer.error, HTTPStatus.OK)


def _json(status: HTTPStatus, line: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    return http1.answer(status, {"Content-Type": JSON, **(headers or {})}, line.rstrip(b"\n"))
