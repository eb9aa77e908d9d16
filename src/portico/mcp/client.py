"""MCP client of one server: handshake, tool list and tool calls, each with a deadline."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.mcp.client_transport import ClientPeer, McpServerFailed, McpServerTimedOut, McpTransport
from portico.mcp.messages import InitializeResult, ToolCallResult, ToolDeclaration, ToolPage
from portico.mcp.protocol import (
    CALL_TOOL,
    HANDSHAKE_VERSIONS,
    INITIALIZE,
    INITIALIZED,
    LIST_TOOLS,
    MODERN_VERSION,
    McpImplementation,
    modern_meta,
)
from portico.rpc.messages import METHOD_NOT_FOUND, RpcError

Kind = TypeVar("Kind")

HANDSHAKE_SECONDS = 20.0
CALL_SECONDS = 120.0
MOST_TOOLS = 200
_MOST_PAGES = 20

During = Callable[[asyncio.Timeout, float], AbstractContextManager[None]]
"""Entered during a call, with its deadline and the seconds it is given."""


class McpClient:
    """A client named `identity` of the server `name`; `peer` answers the server's own requests."""

    def __init__(
        self, name: str, transport: McpTransport, peer: ClientPeer, identity: McpImplementation
    ) -> None:
        self.name = name
        self._transport = transport
        self._peer = peer
        self._identity = identity
        self._modern = False

    async def begin(self, *, long_timeout: bool = False) -> None:
        """Agree on a revision. McpServerFailed when the server does not answer as one."""
        params = {
            "protocolVersion": HANDSHAKE_VERSIONS[-1],
            "capabilities": self._peer.capabilities,
            "clientInfo": self._identity,
        }
        try:
            answer = await self._within(_timeout_seconds(long_timeout), INITIALIZE, params)
        except RpcError as error:
            if error.code != METHOD_NOT_FOUND:
                raise McpServerFailed(f"The MCP server {self.name} refused: {error.reason}") from error
            self._modern = True
            await self._transport.agreed(MODERN_VERSION)
            return
        await self._transport.agreed(self._decode(answer, InitializeResult).protocol_version)
        seconds = _timeout_seconds(long_timeout)
        try:
            async with asyncio.timeout(seconds):
                await self._transport.notify(INITIALIZED, {})
        except TimeoutError as error:
            raise McpServerTimedOut(
                f"The MCP server {self.name} did not take {INITIALIZED} within {seconds:.0f} s."
            ) from error
        await self._transport.listen()

    async def tools(self, *, long_timeout: bool = False) -> list[ToolDeclaration]:
        """The server's tools, page by page, up to a limit."""
        seconds = _timeout_seconds(long_timeout)
        try:
            async with asyncio.timeout(seconds):
                return await self._pages(seconds)
        except TimeoutError as error:
            raise McpServerTimedOut(
                f"The MCP server {self.name} did not list its tools within {seconds:.0f} s."
            ) from error

    async def _pages(self, seconds: float) -> list[ToolDeclaration]:
        found: dict[str, ToolDeclaration] = {}
        cursors: list[str | None] = [None]
        while len(cursors) <= _MOST_PAGES and len(found) <= MOST_TOOLS:
            params = {} if cursors[-1] is None else {"cursor": cursors[-1]}
            try:
                answer = await self._within(seconds, LIST_TOOLS, params)
            except RpcError as error:
                if error.code == METHOD_NOT_FOUND:
                    break
                raise McpServerFailed(
                    f"The MCP server {self.name} cannot list its tools: {error.reason}"
                ) from error
            page = self._decode(answer, ToolPage)
            for tool in page.tools:
                found.setdefault(tool.name, tool)
            if not page.next_cursor or page.next_cursor in cursors:
                break
            cursors.append(page.next_cursor)
        return list(found.values())

    async def call(self, tool: str, arguments: dict[str, Any], during: During) -> ToolCallResult:
        """Call a tool. RpcError if the server refuses the call, McpServerFailed if the server fails."""
        answer = await self._within(CALL_SECONDS, CALL_TOOL, {"name": tool, "arguments": arguments}, during)
        return self._decode(answer, ToolCallResult)

    async def close(self) -> None:
        await self._transport.close()

    async def _within(
        self, seconds: float, method: str, params: dict[str, Any], during: During | None = None
    ) -> Raw:
        sent = {**params, "_meta": modern_meta(self._identity)} if self._modern else params
        try:
            async with asyncio.timeout(seconds) as deadline:
                with nullcontext() if during is None else during(deadline, seconds):
                    return await self._transport.request(method, sent)
        except TimeoutError as error:
            raise McpServerTimedOut(
                f"The MCP server {self.name} did not answer {method} within {seconds:.0f} s."
            ) from error

    def _decode(self, answer: Raw, kind: type[Kind]) -> Kind:
        try:
            return codecs.decode_json(answer, kind)
        except msgspec.DecodeError as error:
            raise McpServerFailed(f"The MCP server {self.name} sent a malformed answer: {error}") from error


def _timeout_seconds(long_timeout: bool) -> float:
    return CALL_SECONDS if long_timeout else HANDSHAKE_SECONDS
