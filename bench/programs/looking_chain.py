"""A conductor on standard input and output with N proxies that look: looking_chain.py N AGENT-COMMAND …

Each proxy sees every request and its answer, and every update, and lets them go on unchanged.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import ClassVar

from msgspec import Raw

from portico.agents.processes import LocalAgents
from portico.conductor.chain import Assembly, Chain
from portico.conductor.message import Message
from portico.conductor.proxy import Proxy
from portico.conductor.station import ProxyStation
from portico.rpc.stdio import standard_streams
from portico.sessions.ports import AgentSpec


class Looking(Proxy):
    name: ClassVar[str] = "looking"
    client_methods = frozenset({"echo", "session/prompt"})
    agent_methods = frozenset({"session/update"})

    def from_client(self, message: Message) -> None:
        self.forward_right(message, then=self.forward_left)


async def main() -> None:
    count, command = int(sys.argv[1]), tuple(sys.argv[2:])
    client = await standard_streams()
    agent = await LocalAgents(os.environ).launch(AgentSpec(name="measured", command=command), Path.cwd())

    async def assemble(_: Raw) -> Assembly:
        return Assembly([ProxyStation(Looking()) for _ in range(count)], agent.stream)

    try:
        await Chain(client, assemble).run()
    finally:
        await agent.stop(grace=1)


if __name__ == "__main__":
    asyncio.run(main())
