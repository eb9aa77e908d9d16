"""In-memory twin of agent processes: a behaviour at the other end of a memory stream."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from portico.domain.ids import SessionId
from portico.domain.values import SandboxStatus
from portico.rpc.streams import ByteStream, MemoryStream, memory_pair
from portico.sessions.ports import AgentSpec

Behaviour = Callable[[ByteStream], Awaitable[None]]


class MemoryAgentProcess:
    """A running behaviour at the other end of a memory stream; it ends when the behaviour returns."""

    def __init__(self, stream: MemoryStream, far: MemoryStream, behaviour: Behaviour) -> None:
        self.stream = stream
        self.stderr = ""
        self.sandbox: SandboxStatus | None = None
        self.stopped_with_grace: float | None = None
        self._far = far
        self._task = asyncio.create_task(self._run(behaviour), name="memory agent")

    def stderr_tail(self) -> str:
        return self.stderr

    async def wait(self) -> str:
        await asyncio.wait((self._task,))
        return "signal SIGKILL" if self._task.cancelled() else "exit code 0"

    async def stop(self, *, grace: float) -> None:
        self.stopped_with_grace = grace
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, behaviour: Behaviour) -> None:
        try:
            await behaviour(self._far)
        finally:
            await self._far.close()


class MemoryAgentLauncher:
    """Launches a behaviour for each agent, as if in this `sandbox`; remembers every one it launched."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.launched: list[MemoryAgentProcess] = []
        self.sandbox: SandboxStatus | None = None
        """Sandbox status of agents that are launched from now on."""

    async def launch(
        self, spec: AgentSpec, workspace: Path, *, folder: Path | None = None, reads_only: bool = False
    ) -> MemoryAgentProcess:
        near, far = memory_pair()
        agent = MemoryAgentProcess(near, far, self.behaviour)
        agent.sandbox = self.sandbox
        self.launched.append(agent)
        return agent


class NoEditor:
    """An editor that can do nothing: no files, no terminals."""

    files = None
    terminals = None


class NoEditorProvider:
    def open(
        self, workspace: Path, *, folder: Path | None = None, session_id: SessionId | None = None
    ) -> NoEditor:
        return NoEditor()
