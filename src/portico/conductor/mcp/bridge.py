"""The proxy that stands next to the agent and brings it MCP servers that it cannot reach over ACP.

To everyone further left the agent then takes servers over ACP. Each such server of a session becomes a
program that the agent can start, because every agent can start programs; the program leads back here.
"""

import asyncio
import hashlib
import logging
import secrets
import sys
from collections.abc import Sequence

import msgspec
from msgspec import Raw

from portico.conductor.mcp import stand_in
from portico.conductor.mcp.conversation import Conversation, open_conversation
from portico.conductor.mcp.dialects import MESSAGES
from portico.conductor.mcp.entries import Entry, announcing_mcp_over_acp, read_entry, stdio_entry
from portico.conductor.mcp.link import Link
from portico.conductor.mcp.listener import Listener
from portico.conductor.mcp.provider import AgentSide, Outcome, Provider
from portico.conductor.mcp.sessions import OpenSession, SessionServersProxy
from portico.conductor.message import Message
from portico.rpc.messages import RpcError
from portico.rpc.streams import ByteStream

log = logging.getLogger(__name__)


class _Bridged(msgspec.Struct, frozen=True):
    """One server of one session, as the agent was told to start it."""

    entry: Entry
    session: OpenSession


class McpBridge(SessionServersProxy):
    """Stands last in the chain. With an agent that takes servers over ACP it lets them through."""

    name = "mcp-bridge"
    client_methods = SessionServersProxy.client_methods | MESSAGES

    def __init__(self) -> None:
        super().__init__()
        self._provider = Provider(lambda: self.place)
        self._listener: Listener | None = None
        self._bridged: dict[bytes, _Bridged] = {}
        self._links: dict[asyncio.Task[None], OpenSession] = {}

    def introduced(self, result: Raw) -> Raw:
        return result if self.agent_takes_acp else announcing_mcp_over_acp(result)

    def servers_for(self, session: OpenSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        entries = [read_entry(server) for server in servers]
        if not any(self._needs_bridge(entry) for entry in entries):
            return servers
        return [
            self._stand_in(entry, session) if self._needs_bridge(entry) else server
            for entry, server in zip(entries, servers, strict=True)
        ]

    def forget(self, session: OpenSession) -> None:
        self._bridged = {key: one for key, one in self._bridged.items() if one.session is not session}
        for task in [task for task, owner in self._links.items() if owner is session]:
            task.cancel()

    def from_client(self, message: Message) -> None:
        if message.method not in MESSAGES:
            super().from_client(message)
            return

        def reply(outcome: Outcome) -> None:
            if isinstance(outcome, RpcError):
                self.refuse_client(message, outcome)
            else:
                self.answer_client(message, outcome)

        if not self._provider.take(message, reply):
            self.forward_right(message)

    def _needs_bridge(self, entry: Entry) -> bool:
        return entry.server_id is not None and (entry.is_early or not self.agent_takes_acp)

    def _stand_in(self, entry: Entry, session: OpenSession) -> Raw:
        if self._listener is None:
            self._listener = Listener()
            self.place.spawn(self._listener.run(self._serve), "welcoming MCP stand-ins")
        token = secrets.token_urlsafe(32)
        self._bridged[_digest(token)] = _Bridged(entry, session)
        command = [sys.executable, "-I", "-S", stand_in.__file__, self._listener.address]
        return stdio_entry(entry, command, {stand_in.TOKEN_VARIABLE: token})

    async def _serve(self, token: str, stream: ByteStream) -> None:
        bridged = self._bridged.get(_digest(token))
        if bridged is None:
            log.warning("an MCP stand-in came with a token that is not valid, or not any more")
            return

        async def begin(agent: AgentSide, method: str, params: Raw | None) -> Conversation:
            return await open_conversation(self._provider, bridged.entry, agent, method, params)

        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a link to an MCP stand-in needs a task of its own")
        self._links[task] = bridged.session
        try:
            await Link(stream, begin).run()
        finally:
            del self._links[task]


def _digest(token: str) -> bytes:
    """Tokens are looked up by their digest, so that how long it takes says nothing about them."""
    return hashlib.sha256(token.encode()).digest()
