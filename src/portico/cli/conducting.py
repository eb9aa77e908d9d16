"""Agents behind a chain of proxies: what the host talks to instead of a bare process."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from msgspec import Raw

from portico.acp import extensions
from portico.conductor.chain import Assembly, Chain
from portico.conductor.station import Station
from portico.rpc.messages import Fault, encode_notification
from portico.rpc.streams import MemoryStream, StreamClosed, memory_pair
from portico.sessions.deadlines import put_down
from portico.sessions.ports import AgentProcess, Agents, AgentSpec

Plan = Callable[[AgentSpec, Path, Raw], Awaitable[Sequence[Station]]]
"""The proxies for an agent in a folder, given what its client says in `initialize`."""


class ConductedAgents:
    """Launches each agent with a chain of its own in front of it."""

    def __init__(self, agents: Agents, plan: Plan) -> None:
        self._agents = agents
        self._plan = plan

    async def launch(self, spec: AgentSpec, workspace: Path) -> "ConductedAgent":
        process = await self._agents.launch(spec, workspace)
        near, far = memory_pair()

        async def assemble(hello: Raw) -> Assembly:
            return Assembly(await self._plan(spec, workspace, hello), process.stream)

        def pass_on(side: str, fault: Fault) -> None:
            if side == "agent":
                _tell(far, fault)

        chain = Chain(far, assemble, on_fault=pass_on)
        running = asyncio.create_task(chain.run(), name=f"chain to {spec.name}")
        return ConductedAgent(process, near, running)


class ConductedAgent:
    """The chain's near end as an agent, with the life of the process at its far end."""

    def __init__(self, process: AgentProcess, stream: MemoryStream, chain: "asyncio.Task[None]") -> None:
        self.stream = stream
        self._process = process
        self._chain = chain

    def stderr_tail(self) -> str:
        return self._process.stderr_tail()

    async def wait(self) -> str:
        return await self._process.wait()

    async def stop(self, *, grace: float) -> None:
        await self._process.stop(grace=grace)
        await put_down(self._chain)


def _tell(client: MemoryStream, fault: Fault) -> None:
    try:
        client.write(encode_notification(extensions.FAULT, extensions.fault_notification(fault)))
    except StreamClosed:
        return
