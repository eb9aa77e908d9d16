"""Pool of running agents, one process per agent, environment, components and folder.

An agent ends when its last session releases it. A session with a working copy has a process of its own, started in
that folder: an agent that uses its process's folder must not find the person's files there. Read-only sessions share
no process with others, since a sandbox confines a whole process.
"""

import asyncio
from typing import TYPE_CHECKING

import msgspec

from portico.domain.components import SessionComponents
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.sessions.log.backlog import Backlog
from portico.sessions.ports import AgentSpec, Editor, Ports
from portico.sessions.requests.client_methods import client_capabilities

if TYPE_CHECKING:
    from portico.sessions.runtime import SessionRuntime


class _PoolKey(msgspec.Struct, frozen=True):
    name: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    components: SessionComponents
    place: AgentWorkspace


class AgentPool:
    def __init__(self, ports: Ports) -> None:
        self.backlog = Backlog()
        self._ports = ports
        self._running: dict[_PoolKey, AgentConnection] = {}
        self._taken: dict[AgentConnection, set[SessionRuntime]] = {}
        self._starting: dict[_PoolKey, asyncio.Lock] = {}

    async def take(
        self, spec: AgentSpec, place: AgentWorkspace, editor: Editor, session: "SessionRuntime"
    ) -> AgentConnection:
        """The connection to the agent, which is started if it is not running."""
        key = _PoolKey(spec.name, spec.command, tuple(sorted(spec.env.items())), spec.components, place)
        async with self._starting.setdefault(key, asyncio.Lock()):
            connection = self._running.get(key)
            if connection is None or not connection.alive:
                connection = await AgentConnection.launch(self._ports, spec, place, session.serve)
                await connection.initialize(self._ports, client_capabilities(editor))
                self._running[key] = connection
                self._taken[connection] = set()
            self._taken[connection].add(session)
            return connection

    async def release(self, connection: AgentConnection, session: "SessionRuntime", *, grace: float) -> None:
        """Release an agent; it ends with its last session, or if it is dead."""
        connection.remove_session(session)
        left = self._taken.get(connection, set())
        left.discard(session)
        if not left or not connection.alive:
            await self.end(connection, grace=grace)

    async def end(self, connection: AgentConnection, *, grace: float) -> None:
        """End an agent for all its sessions. Their turns are interrupted."""
        self._taken.pop(connection, None)
        for key in [key for key, running in self._running.items() if running is connection]:
            del self._running[key]
            self._starting.pop(key, None)
        await connection.close(grace=grace)
