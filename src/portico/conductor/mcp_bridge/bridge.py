"""Proxy next to the agent that replaces MCP-over-ACP servers by stdio or HTTP servers that the agent can
reach.

To everyone further left the agent then takes servers over ACP. Each such server of a session becomes a
program that the agent can start, because every agent can start programs; the program leads back here. Or it
becomes a URL of this machine, if that is wanted and the agent can open one.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Raw

from portico.conductor.mcp_bridge.mcp_over_acp import MESSAGES
from portico.conductor.mcp_bridge.server_list import (
    McpServerEntry,
    accepts_mcp_over,
    announce_mcp_over_acp,
    read_entry,
)
from portico.conductor.mcp_bridge.session_servers import ChainSession, SessionServersProxy
from portico.rpc.messages import Message, RpcError

if TYPE_CHECKING:
    from portico.conductor.mcp_bridge.routes import McpRoutes

BridgeKind = Literal["stdio", "http"]


class McpBridge(SessionServersProxy):
    """Stands last in the chain. With an agent that takes servers over ACP it lets them through."""

    name = "mcp-bridge"
    client_methods = SessionServersProxy.client_methods | MESSAGES

    def __init__(self, kind: BridgeKind = "stdio") -> None:
        super().__init__()
        self._kind = kind
        self._agent_takes_http = False
        self._switchboard: McpRoutes | None = None

    def introduced(self, result: Raw) -> Raw:
        self._agent_takes_http = accepts_mcp_over("http", result)
        return result if self.agent_takes_acp else announce_mcp_over_acp(result)

    def servers_for(self, session: ChainSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        entries = [read_entry(server) for server in servers]
        if not any(self._needs_bridge(entry) for entry in entries):
            return servers
        switchboard = self._opened()
        replaced = switchboard.address if self._uses_http else switchboard.stdio_shim
        return [
            replaced(entry, session) if self._needs_bridge(entry) else server
            for entry, server in zip(entries, servers, strict=True)
        ]

    def forget(self, session: ChainSession) -> None:
        if self._switchboard is not None:
            self._switchboard.forget(session)

    def from_client(self, message: Message) -> None:
        if message.method not in MESSAGES:
            super().from_client(message)
            return

        def reply(outcome: Raw | RpcError) -> None:
            if isinstance(outcome, RpcError):
                self.refuse_client(message, outcome)
            else:
                self.answer_client(message, outcome)

        if self._switchboard is None or not self._switchboard.take(message, reply):
            self.forward_right(message)

    @property
    def _uses_http(self) -> bool:
        """In a Portico that is frozen into one program there is no Python to run a shim with."""
        no_python = not sys.executable or getattr(sys, "frozen", False)
        return self._agent_takes_http and (self._kind == "http" or no_python)

    def _needs_bridge(self, entry: McpServerEntry) -> bool:
        return entry.server_id is not None and (entry.is_legacy or not self.agent_takes_acp)

    def _opened(self) -> "McpRoutes":
        if self._switchboard is None:
            # Late, because most chains never need it, and every chain has to start quickly.
            from portico.conductor.mcp_bridge.routes import McpRoutes

            self._switchboard = McpRoutes(self.node)
        return self._switchboard
