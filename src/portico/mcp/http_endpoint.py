"""Loopback HTTP endpoint for MCP: admits requests by token, host and origin.

It decides which requests are admitted; `streamable_http` answers them. Nothing that a web page could send gets
through: a foreign origin, another name for this machine, or a request without a token.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from portico.mcp import http1
from portico.mcp.http1 import HttpHead, HttpRefusal
from portico.mcp.local_socket import OnConnect, loopback_socket, serve_connections
from portico.mcp.server_connection import OpenBackend
from portico.mcp.streamable_http import HEARTBEAT, StreamableHttpServer

log = logging.getLogger(__name__)

PATH = "/mcp"
MOST_CONNECTIONS = 128

_REQUEST_DEADLINE = 30.0

Admit = Callable[[str], OpenBackend | None]
"""The server that a token gives access to."""


class McpHttpEndpoint:
    """Bound at once, so that its address can be given to the agent; closed when `run` ends."""

    def __init__(
        self, admit: Admit, *, heartbeat: float = HEARTBEAT, request_deadline: float = _REQUEST_DEADLINE
    ) -> None:
        self._admit = admit
        self._request_deadline = request_deadline
        self._mcp = StreamableHttpServer(heartbeat)
        self._connections = 0
        self._socket = loopback_socket()
        port = self._socket.getsockname()[1]
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    @property
    def url(self) -> str:
        return f"http://{self._hosts[0]}{PATH}"

    async def run(self) -> None:
        """Answer until cancelled; then all requests have ended."""
        try:
            await serve_connections(self._server, self._accept, "an MCP request over HTTP")
        finally:
            self._socket.close()
            await self._mcp.close()

    async def forget(self, server: OpenBackend) -> None:
        """End the sessions of a server whose token is no longer valid."""
        await self._mcp.forget(server)

    async def _server(self, connected: OnConnect) -> asyncio.Server:
        return await asyncio.start_server(connected, sock=self._socket, limit=http1.HEAD_LIMIT)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            await self._serve(reader, writer)
        except HttpRefusal as refused:
            headers = {"Content-Type": "text/plain", **refused.headers}
            writer.write(http1.answer(refused.status, headers, refused.why.encode()))
        except ConnectionError:
            log.debug("an MCP client disconnected before its response")
        except Exception:  # top level of a request: the others go on
            log.exception("an MCP request over HTTP failed")
            writer.write(http1.answer(HTTPStatus.INTERNAL_SERVER_ERROR, {}))
        finally:
            self._connections -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._connections > MOST_CONNECTIONS:
            raise HttpRefusal(
                HTTPStatus.SERVICE_UNAVAILABLE, f"more than {MOST_CONNECTIONS} requests at a time"
            )
        try:
            async with asyncio.timeout(self._request_deadline):
                head = await http1.read_head(reader)
                server = self._admitted(head)
                body = await http1.read_body(reader, head)
        except TimeoutError as error:
            raise HttpRefusal(HTTPStatus.REQUEST_TIMEOUT, "the request took too long to arrive") from error
        except asyncio.IncompleteReadError:
            return
        await _unless_gone(reader, self._mcp.handle(server, head, body, writer))

    def _admitted(self, head: HttpHead) -> OpenBackend:
        """The server that a request is for. HttpRefusal if it may come from a web page, or has no valid token."""
        origin = head.headers.get("origin")
        own = tuple(f"http://{host}" for host in self._hosts)
        if head.headers.get("host") not in self._hosts or (origin is not None and origin not in own):
            raise HttpRefusal(HTTPStatus.FORBIDDEN, "only programs on this machine may connect")
        if head.path != PATH:
            raise HttpRefusal(HTTPStatus.NOT_FOUND, f"the only path is {PATH}")
        scheme, _, token = head.headers.get("authorization", "").partition(" ")
        server = self._admit(token.strip()) if scheme.lower() == "bearer" else None
        if server is None:
            log.warning("an MCP request over HTTP has an invalid token")
            raise HttpRefusal(
                HTTPStatus.UNAUTHORIZED, "the token is not valid", {"WWW-Authenticate": "Bearer"}
            )
        return server


async def _unless_gone(reader: asyncio.StreamReader, work: Coroutine[Any, Any, None]) -> None:
    """Do the work as long as the client is connected."""
    serving = asyncio.create_task(work, name="answering an MCP request over HTTP")
    gone = asyncio.create_task(reader.read(1), name="waiting for an MCP client to disconnect")
    try:
        await asyncio.wait((serving, gone), return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            serving.result()
    finally:
        serving.cancel()
        gone.cancel()
        await asyncio.gather(serving, gone, return_exceptions=True)
