"""MCP client transport over the standard streams of a server program."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from portico.mcp.client_transport import ClientPeer, McpServerFailed
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn
from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.frames import LineFrames
from portico.rpc.framing import LineSplitter
from portico.rpc.messages import ConnectionLost, Fault
from portico.rpc.streams import PipeStream

log = logging.getLogger(__name__)

_GRACE = 2.0
_LONGEST_LINE = 64 * 1024 * 1024
_MOST_FAULTS = 10_000
"""Malformed lines between two responses. Some servers write their log to standard output and still work."""
_LAST_WORDS = 2000


class ServerProgram(msgspec.Struct, frozen=True):
    """The command of a server. `wrapper` is a command that runs it, such as a sandbox."""

    command: Sequence[str]
    cwd: Path
    environ: Mapping[str, str]
    wrapper: Sequence[str] = ()


class McpStdioTransport:
    """Started by `open_stdio`; `close` ends the program and everything that it started."""

    def __init__(self, name: str, group: ProcessGroup, peer: ClientPeer) -> None:
        assert group.stdin is not None
        self._name = name
        self._group = group
        self._last_words = b""
        self._listener = _Listener(name, peer, self._flooded)
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
        """Nothing to do: this transport is the same for every revision."""

    async def listen(self) -> None:
        """A pipe is read anyway."""

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
            how = "was stopped: it writes malformed messages. Have it write its log elsewhere."
            return McpServerFailed(f"The MCP server {self._name} {how}")
        return McpServerFailed(f"The MCP server {self._name} ended.{self._said()}")

    async def _listen(self) -> None:
        assert self._group.stderr is not None
        while data := await self._group.stderr.read(_LAST_WORDS):
            self._last_words = (self._last_words + data)[-_LAST_WORDS:]

    def _said(self) -> str:
        lines = self._last_words.decode(errors="replace").strip().splitlines()
        return f" Its last output: {lines[-1][:300]}" if lines else ""


class _Listener:
    """Handles the server's messages. A server that sends too many malformed ones is stopped.

    `faults` counts those since the last response.
    """

    def __init__(self, name: str, peer: ClientPeer, flooded: Callable[[], None]) -> None:
        self._name = name
        self._peer = peer
        self._flooded = flooded
        self.faults = 0
        self._has_warned = False

    def notification(self, method: str, params: Raw) -> None:
        """Ignored: the list of tools is read at each turn."""

    async def request(self, method: str, params: Raw) -> RpcReply:
        return RpcReply(await self._peer.answer(method, params))

    def fault(self, fault: Fault) -> None:
        self.faults += 1
        if not self._has_warned:
            self._has_warned = True
            log.warning("MCP server %s: %s ignored: %s", self._name, fault.kind, fault.detail)
        if self.faults == _MOST_FAULTS:
            self._flooded()

    async def ready(self) -> None:
        """A server is never held back: its notifications are not kept."""


async def open_stdio(name: str, program: ServerProgram, peer: ClientPeer) -> McpStdioTransport:
    """Start a server. McpServerFailed when that is not possible."""
    try:
        group = await spawn(
            program.command, cwd=program.cwd, environ=program.environ, wrapper=program.wrapper
        )
    except CannotRun as error:
        raise McpServerFailed(f"The MCP server {name} cannot be started: {error.reason}.") from error
    return McpStdioTransport(name, group, peer)
