"""Base class of component proxies that look something up when a session is opened, and tell its agent at the start.

What they tell goes with the first prompt of a new session, as a block for the agent: not every agent shows its model
the instructions of an MCP server.
"""

import logging
from abc import abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from msgspec import Raw

from portico.acp.session_methods import OPENING_METHODS
from portico.conductor.mcp_bridge.server_list import SessionOpening, read_opening
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.prompt_message import METHOD as PROMPT
from portico.conductor.prompt_message import PromptMessage
from portico.domain.errors import PorticoError
from portico.files.deadline import within_deadline
from portico.rpc.messages import Message

log = logging.getLogger(__name__)

Found = TypeVar("Found")


class SessionLookupProxy(McpProxy, Generic[Found]):
    """`found` has what was looked up for each open session, if it was something."""

    client_methods = McpProxy.client_methods | {PROMPT}

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[ChainSession, Found] = {}
        self._latest: Found | None = None
        self._untold: set[ChainSession] = set()

    @abstractmethod
    def look_up(self, opening: SessionOpening) -> Found | None:
        """Look up what a session should know. Runs in a thread, with a deadline."""

    @abstractmethod
    def describe(self, found: Found) -> str | None:
        """Text to add to the first prompt."""

    def expand(self, prompt: PromptMessage, found: Found) -> Message | None:
        """The request in the place of a command; None if it is for the agent."""
        return None

    def from_client(self, message: Message) -> None:
        if message.method in OPENING_METHODS and message.is_request:
            self.node.spawn(self._look_and_open(message), f"{self.name}: looking up")
        elif message.method == PROMPT:
            self.node.send_right(self._prompted(message))
        else:
            super().from_client(message)

    async def _look_and_open(self, message: Message) -> None:
        """Look each time that a session is opened: people change their files meanwhile."""
        opening = read_opening(message.params)
        found: Found | None = None
        if opening is not None and opening.cwd:
            try:
                found = await within_deadline(lambda: self.look_up(opening))
            except (PorticoError, OSError, ValueError) as error:
                log.warning("the session continues without %s: %s", self.name, error)
        self._latest = found
        try:
            super().from_client(message)
        finally:
            self._latest = None

    def servers_for(self, session: ChainSession, servers: Sequence[Raw]) -> Sequence[Raw]:
        if self._latest is not None:
            self.found[session] = self._latest
            if session.session_id is None:  # One that is opened again was told in its first prompt.
                self._untold.add(session)
        return super().servers_for(session, servers)

    def forget(self, session: ChainSession) -> None:
        super().forget(session)
        self.found.pop(session, None)
        self._untold.discard(session)

    def session_of(self, session_id: str) -> ChainSession | None:
        """The open session of that id for which something was found."""
        named = [session for session in self.found if session.session_id == session_id]
        return named[-1] if named else None

    def _prompted(self, message: Message) -> Message:
        prompt = PromptMessage.read(message) if self.found else None
        session = None if prompt is None else self.session_of(prompt.session_id)
        if prompt is None or session is None:
            return message
        if prompt.command is not None:
            return self.expand(prompt, self.found[session]) or message
        if session not in self._untold:
            return message
        self._untold.discard(session)
        text = self.describe(self.found[session])
        return message if text is None else prompt.with_context(text)
