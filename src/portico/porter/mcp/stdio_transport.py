"""MCP client transport over the standard streams of a server program."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Raw

from portico.acp import _schema as schema
from portico.domain.provider_keys import without_provider_keys
from portico.mcp.client_transport import McpServerFailed
from portico.porter.mcp.server_requests import ServerRequests
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn
from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.frames import LineFrames
from portico.rpc.framing import LineSplitter
from portico.rpc.messages import ConnectionLost, Fault
from portico.rpc.streams import PipeStream
from portico.sandbox.wrapper import sandbox_wrapper

log = logging.getLogger(__name__)

_GRACE = 2.0
_LONGEST_LINE = 64 * 1024 * 1024
_MOST_FAULTS = 10_000
"""Between two answers. Many a server writes a log where only messages should be, and works."""
_LAST_WORDS = 2000


class McpStdioTransport:
    """`open_stdio` starts it; `close` ends the program with all that it started."""

    def __init__(self, name: str, group: ProcessGroup, asked: ServerRequests) -> None:
        assert group.stdin is not None
        self._name = name
        self._group = group
        self._last_words = b""
        self._listener = _Listener(name, asked, self._flooded)
        self._connection = RpcConnection(
            LineFrames(PipeStream(group.stdout, group.stdin), LineSplitter(_LONGEST_LINE)),
            self._listener,
            name=name,
        )
        self._tasks = [
            asyncio.create_task(self._connection.run(), name=f"MCP server {name}"),
            asyncio.create_task(self._listen(), name=f"errors of the MCP server {name}"),
        ]

    async def request(self, method: str, params: dict[str, Any]) -> Raw:
        try:
            answer = await self._connection.request(method, params)
        except ConnectionLost as error:
            raise self._failed() from error
        self._listener.faults = 0
        return answer

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        try:
            self._connection.notify(method, params)
        except ConnectionLost as error:
            raise self._failed() from error

    async def agreed(self, version: str) -> None:
        """Lines are lines in every revision."""

    async def listen(self) -> None:
        """A pipe is heard anyway."""

    async def close(self) -> None:
        try:
            await self._connection.close()
            await self._group.stop(_GRACE)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _flooded(self) -> None:
        self._tasks[0].cancel()

    def _failed(self) -> McpServerFailed:
        if self._listener.faults >= _MOST_FAULTS:
            how = "was ended: it writes what is no message. Have it write its log elsewhere."
            return McpServerFailed(f"The MCP server {self._name} {how}")
        return McpServerFailed(f"The MCP server {self._name} ended.{self._said()}")

    async def _listen(self) -> None:
        assert self._group.stderr is not None
        while data := await self._group.stderr.read(_LAST_WORDS):
            self._last_words = (self._last_words + data)[-_LAST_WORDS:]

    def _said(self) -> str:
        lines = self._last_words.decode(errors="replace").strip().splitlines()
        return f" Its last words: {lines[-1][:300]}" if lines else ""


class _Listener:
    """What the connection asks of its owner. A server that floods with what makes no sense is ended.

    `faults` are those since the last answer.
    """

    def __init__(self, name: str, asked: ServerRequests, flooded: Callable[[], None]) -> None:
        self._name = name
        self._asked = asked
        self._flooded = flooded
        self.faults = 0
        self._has_warned = False

    def notification(self, method: str, params: Raw) -> None:
        """The list of tools is read at each turn, so there is nothing to be told."""

    async def request(self, method: str, params: Raw) -> RpcReply:
        return RpcReply(await self._asked.answer(method, params))

    def fault(self, fault: Fault) -> None:
        self.faults += 1
        if not self._has_warned:
            self._has_warned = True
            log.warning("MCP server %s: %s passed over: %s", self._name, fault.kind, fault.detail)
        if self.faults == _MOST_FAULTS:
            self._flooded()

    async def ready(self) -> None:
        """Nothing holds a server back: what it says unasked is not kept."""


async def open_stdio(
    server: schema.McpServer, cwd: Path, environ: Mapping[str, str], asked: ServerRequests
) -> McpStdioTransport:
    """Start a server. ServerFailed when that is not possible."""
    command = (server.command or "", *(server.args or ()))
    added = {variable.name: variable.value for variable in server.env or ()}
    try:
        group = await spawn(
            command,
            cwd=cwd,
            environ={**without_provider_keys(environ), **added},
            wrapper=sandbox_wrapper(environ),
        )
    except CannotRun as error:
        raise McpServerFailed(f"The MCP server {server.name} cannot be started: {error.reason}.") from error
    return McpStdioTransport(server.name, group, asked)
