"""Porter as an agent inside this process instead of a program of its own."""

import asyncio
import logging
import sys
from collections.abc import Mapping
from pathlib import Path

from portico.agents.registry import PORTER, AgentRegistry
from portico.porter.agent import Porter
from portico.porter.setup import SetupReader
from portico.rpc.frames import MemoryFrames, frame_pair
from portico.sessions.ports import AgentSpec

log = logging.getLogger(__name__)

PORTER_SPEC = AgentRegistry(python=sys.executable, environ={}).resolve(PORTER)
"""The name by which approvals know Porter, so that those given elsewhere hold here too."""


class InProcessPorters:
    """Implements `sessions.ports.Agents`. `state` is the folder that conversations are kept in."""

    def __init__(self, state: Path, environ: Mapping[str, str], setup_of: SetupReader) -> None:
        self._state = state
        self._environ = environ
        self._setup_of = setup_of

    async def launch(
        self, spec: AgentSpec, workspace: Path, *, folder: Path | None = None, reads_only: bool = False
    ) -> "InProcessPorter":
        near, far = frame_pair()
        porter = Porter(far, state=self._state, environ=self._environ, setup_of=self._setup_of)
        serving = asyncio.create_task(porter.run(), name=f"{spec.name} in {workspace.name}")
        serving.add_done_callback(_ended)
        return InProcessPorter(near, serving)


class InProcessPorter:
    """One connection with Porter, as an agent process is one. It is part of this process, and has no sandbox."""

    sandbox = None

    def __init__(self, stream: MemoryFrames, serving: "asyncio.Task[None]") -> None:
        self.stream = stream
        self._serving = serving

    def stderr_tail(self) -> str:
        return ""

    async def wait(self) -> str:
        await asyncio.wait({self._serving})
        return "its end"

    async def stop(self, *, grace: float) -> None:
        await self.stream.close()
        done, _ = await asyncio.wait({self._serving}, timeout=grace)
        if not done:
            self._serving.cancel()
            await asyncio.wait({self._serving})


def _ended(serving: "asyncio.Task[None]") -> None:
    if not serving.cancelled() and (error := serving.exception()) is not None:
        log.error("%s ended badly", serving.get_name(), exc_info=error)
