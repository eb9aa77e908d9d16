"""The proxy that stands next to the agent and brings it MCP servers that it cannot reach over ACP.

To everyone further left the agent then takes servers over ACP. Each such server of a session becomes a
program that the agent can start, because every agent can start programs; the program leads back here.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Raw

from portico.conductor.mcp.dialects import MESSAGES
from portico.conductor.mcp.entries import Entry, announcing_mcp_over_acp, read_entry
from portico.conductor.mcp.sessions import OpenSession, SessionServersProxy
from portico.conductor.message import Message
from portico.rpc.messages import RpcError

if TYPE_CHECKING:
    from portico.conductor.mcp.switchboard import Switchboard


class McpBridge(SessionServersProxy):
    """Stands last in the chain. With an agent that takes servers over ACP it lets them through."""

    name = "mcp-bridge"
    client_methods = SessionServersProxy.client_methods | MESSAGES

    def __init__(self) -> None:
        super().__init__()
        self._switchboard: Switchboard | None = None

    def introduced(self, result: Raw) -> Raw:
        return result if self.agent_takes_acp else announcing_mcp_over_acp(result)

    def servers_for(self, session: OpenSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        entries = [read_entry(server) for server in servers]
        if not any(self._needs_bridge(entry) for entry in entries):
            return servers
        switchboard = self._opened()
        return [
            switchboard.stand_in(entry, session) if self._needs_bridge(entry) else server
            for entry, server in zip(entries, servers, strict=True)
        ]

    def forget(self, session: OpenSession) -> None:
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

    def _needs_bridge(self, entry: Entry) -> bool:
        return entry.server_id is not None and (entry.is_early or not self.agent_takes_acp)

    def _opened(self) -> "Switchboard":
        if self._switchboard is None:
            # Late, because most chains never need it, and every chain has to start quickly.
            from portico.conductor.mcp.switchboard import Switchboard

            self._switchboard = Switchboard(self.place)
        return self._switchboard
