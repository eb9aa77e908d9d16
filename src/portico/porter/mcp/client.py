"""MCP client of one server: handshake, tool list and tool calls, each with a deadline."""

import asyncio
from contextlib import nullcontext
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from portico import __version__
from portico.domain import codecs
from portico.mcp.client_transport import McpServerFailed, McpServerTimedOut, McpTransport
from portico.porter.mcp.server_requests import AskPerson, ServerRequests
from portico.rpc.messages import METHOD_NOT_FOUND, RpcError

Kind = TypeVar("Kind")

HANDSHAKE_VERSION = "2025-11-25"
MODERN_VERSION = "2026-07-28"
HANDSHAKE_SECONDS = 20.0
CALL_SECONDS = 120.0
MOST_TOOLS = 200
_MOST_PAGES = 20
_ME = {"name": "porter", "version": __version__}
# Before this revision there is a handshake; since then each request says what it is.
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
    "io.modelcontextprotocol/clientInfo": _ME,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class RemoteToolDescription(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool as its server describes it."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}


class _Initialized(msgspec.Struct, rename="camel"):
    protocol_version: str


class _Page(msgspec.Struct, rename="camel"):
    tools: list[RemoteToolDescription]
    next_cursor: str | None = None


class RemoteToolContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Any part of a result, merged: what only some have is optional."""

    type: str
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    resource: dict[str, Any] | None = None


class RemoteToolResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    content: list[RemoteToolContent] = []
    structured_content: Any = None
    is_error: bool = False


class McpClient:
    """`asked` is what the channel lets the server ask."""

    def __init__(self, name: str, channel: McpTransport, asked: ServerRequests) -> None:
        self.name = name
        self._channel = channel
        self._asked = asked
        self._modern = False

    async def begin(self, *, long_timeout: bool = False) -> None:
        """Agree on a revision. ServerFailed when the server does not answer as one. `unhurried`: nobody waits."""
        params = {
            "protocolVersion": HANDSHAKE_VERSION,
            "capabilities": self._asked.capabilities,
            "clientInfo": _ME,
        }
        try:
            answer = await self._within(_timeout_seconds(long_timeout), "initialize", params)
        except RpcError as error:
            if error.code != METHOD_NOT_FOUND:
                raise McpServerFailed(f"The MCP server {self.name} refused: {error.reason}") from error
            self._modern = True
            await self._channel.agreed(MODERN_VERSION)
            return
        await self._channel.agreed(self._decode(answer, _Initialized).protocol_version)
        seconds = _timeout_seconds(long_timeout)
        try:
            async with asyncio.timeout(seconds):
                await self._channel.notify("notifications/initialized", {})
        except TimeoutError as error:
            raise McpServerTimedOut(
                f"The MCP server {self.name} did not take notifications/initialized within {seconds:.0f} s."
            ) from error
        await self._channel.listen()

    async def tools(self, *, long_timeout: bool = False) -> list[RemoteToolDescription]:
        """What it offers, page by page, until there are more than anybody could use."""
        seconds = _timeout_seconds(long_timeout)
        try:
            async with asyncio.timeout(seconds):
                return await self._pages(seconds)
        except TimeoutError as error:
            raise McpServerTimedOut(
                f"The MCP server {self.name} did not list its tools within {seconds:.0f} s."
            ) from error

    async def _pages(self, seconds: float) -> list[RemoteToolDescription]:
        found: dict[str, RemoteToolDescription] = {}
        cursors: list[str | None] = [None]
        while len(cursors) <= _MOST_PAGES and len(found) <= MOST_TOOLS:
            params = {} if cursors[-1] is None else {"cursor": cursors[-1]}
            try:
                answer = await self._within(seconds, "tools/list", params)
            except RpcError as error:
                if error.code == METHOD_NOT_FOUND:
                    break
                raise McpServerFailed(f"The MCP server {self.name} lists no tools: {error.reason}") from error
            page = self._decode(answer, _Page)
            for tool in page.tools:
                found.setdefault(tool.name, tool)
            if not page.next_cursor or page.next_cursor in cursors:
                break
            cursors.append(page.next_cursor)
        return list(found.values())

    async def call(self, tool: str, arguments: dict[str, Any], ask: AskPerson) -> RemoteToolResult:
        """Call a tool. RpcError for what the server does not accept, ServerFailed when it fails."""
        answer = await self._within(CALL_SECONDS, "tools/call", {"name": tool, "arguments": arguments}, ask)
        return self._decode(answer, RemoteToolResult)

    async def close(self) -> None:
        await self._channel.close()

    async def _within(
        self, seconds: float, method: str, params: dict[str, Any], ask: AskPerson | None = None
    ) -> Raw:
        sent = {**params, "_meta": _META} if self._modern else params
        try:
            async with asyncio.timeout(seconds) as deadline:
                with nullcontext() if ask is None else self._asked.calling(ask, deadline, seconds):
                    return await self._channel.request(method, sent)
        except TimeoutError as error:
            raise McpServerTimedOut(
                f"The MCP server {self.name} did not answer {method} within {seconds:.0f} s."
            ) from error

    def _decode(self, answer: Raw, kind: type[Kind]) -> Kind:
        try:
            return codecs.decode_json(answer, kind)
        except msgspec.DecodeError as error:
            raise McpServerFailed(
                f"The MCP server {self.name} answered with what makes no sense: {error}"
            ) from error


def _timeout_seconds(long_timeout: bool) -> float:
    return CALL_SECONDS if long_timeout else HANDSHAKE_SECONDS
