"""Agents launched behind a chain of proxies, as the session service sees them."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw

from portico.acp import extensions
from portico.chains.options import ChainParts
from portico.chains.plan import ChainPlan
from portico.chains.taps import tap_stream
from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.domain.values import SandboxStatus
from portico.processes.tasks import cancel_and_wait
from portico.rpc.frames import MemoryFrames, frame_pair
from portico.rpc.messages import Fault, notification
from portico.rpc.streams import StreamClosed
from portico.sessions.ports import AgentLauncher, AgentProcess, AgentSpec

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import ChainTrace


class ChainedAgents:
    """Launches each agent with a chain of its own in front of it."""

    def __init__(self, parts: ChainParts, agents: AgentLauncher) -> None:
        self._parts = parts
        self._agents = agents

    async def launch(
        self, spec: AgentSpec, workspace: Path, *, folder: Path | None = None, reads_only: bool = False
    ) -> "ChainedAgent":
        process = await self._agents.launch(spec, workspace, folder=folder, reads_only=reads_only)
        wire = tap_stream(process.stream, self._parts.environ, spec.name, "client")
        programs: list[AgentProcess] = [process]
        watch = self._watch(spec)
        plan = ChainPlan(self._parts, programs.append, watch)
        try:
            await plan.prepare(spec, workspace)
        except BaseException:
            await _stop(programs, grace=0)
            raise
        near, far = frame_pair()

        async def assemble(hello: Raw) -> Assembly:
            return Assembly(await plan.nodes(hello), wire)

        def pass_on(side: str, fault: Fault) -> None:
            if side == "agent":
                _tell(far, fault)

        chain = Chain(far, assemble, on_fault=pass_on, observer=watch)
        running = asyncio.create_task(chain.run(), name=f"chain to {spec.name}")
        return ChainedAgent(programs, near, running)

    def _watch(self, spec: AgentSpec) -> "ChainTrace | None":
        trace = self._parts.options.trace
        if trace is None:
            return None
        trace.learn(spec.env)
        return trace.chain()


class ChainedAgent:
    """The chain's near end as an agent, with the life of the process at its far end."""

    def __init__(
        self, programs: list[AgentProcess], stream: MemoryFrames, chain: "asyncio.Task[None]"
    ) -> None:
        self.stream = stream
        self._programs = programs
        self._chain = chain

    @property
    def sandbox(self) -> SandboxStatus | None:
        return self._programs[0].sandbox

    def stderr_tail(self) -> str:
        return self._programs[0].stderr_tail()

    async def wait(self) -> str:
        return await self._programs[0].wait()

    async def stop(self, *, grace: float) -> None:
        await _stop(self._programs, grace=grace)
        await cancel_and_wait(self._chain)


async def _stop(programs: list[AgentProcess], *, grace: float) -> None:
    for program in programs:
        await program.stop(grace=grace)


def _tell(client: MemoryFrames, fault: Fault) -> None:
    try:
        client.send(notification(extensions.FAULT, extensions.fault_notification(fault)))
    except StreamClosed:
        return
