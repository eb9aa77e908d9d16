"""Connects the stand-ins that an agent starts with whoever offered the servers they stand in for.

Each is known by a token that only the agent is given. The socket is opened with the first of them.
"""

import asyncio
import hashlib
import logging
import os
import sys
from collections.abc import Callable

import msgspec
from msgspec import Raw

from portico.conductor.mcp import stand_in
from portico.conductor.mcp.conversation import Conversation, open_conversation
from portico.conductor.mcp.entries import Entry, stdio_entry
from portico.conductor.mcp.link import Link
from portico.conductor.mcp.listener import Listener
from portico.conductor.mcp.provider import AgentSide, Outcome, Provider
from portico.conductor.mcp.sessions import OpenSession
from portico.conductor.message import Message
from portico.conductor.proxy import Place
from portico.rpc.streams import ByteStream

log = logging.getLogger(__name__)


class _Line(msgspec.Struct, frozen=True):
    """One server of one session, as the agent was told to start it."""

    entry: Entry
    session: OpenSession


class Switchboard:
    def __init__(self, place: Place) -> None:
        self._provider = Provider(place)
        self._listener = Listener()
        self._lines: dict[bytes, _Line] = {}
        self._links: dict[asyncio.Task[None], OpenSession] = {}
        place.spawn(self._listener.run(self._serve), "welcoming MCP stand-ins")

    def stand_in(self, entry: Entry, session: OpenSession) -> Raw:
        """A program that the agent can start, in place of a server that it cannot reach."""
        token = os.urandom(32).hex()
        self._lines[_digest(token)] = _Line(entry, session)
        command = [sys.executable, "-I", "-S", stand_in.__file__, self._listener.address]
        return stdio_entry(entry, command, {stand_in.TOKEN_VARIABLE: token})

    def forget(self, session: OpenSession) -> None:
        """End the programs of a session, and let no more of them in."""
        self._lines = {key: line for key, line in self._lines.items() if line.session is not session}
        for task in [task for task, owner in self._links.items() if owner is session]:
            task.cancel()

    def take(self, message: Message, reply: Callable[[Outcome], None]) -> bool:
        """Hand what a provider says to the stand-in it is meant for; False if there is none."""
        return self._provider.take(message, reply)

    async def _serve(self, token: str, stream: ByteStream) -> None:
        line = self._lines.get(_digest(token))
        if line is None:
            log.warning("an MCP stand-in came with a token that is not valid, or not any more")
            return

        async def begin(agent: AgentSide, method: str, params: Raw | None) -> Conversation:
            return await open_conversation(self._provider, line.entry, agent, method, params)

        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a link to an MCP stand-in needs a task of its own")
        self._links[task] = line.session
        try:
            await Link(stream, begin).run()
        finally:
            del self._links[task]


def _digest(token: str) -> bytes:
    """Tokens are looked up by their digest, so that how long it takes says nothing about them."""
    return hashlib.sha256(token.encode()).digest()
