"""Contender: the official Python SDK's client, which counts and keeps nothing: flood_sdk_client.py COUNT WORKSPACE"""

import asyncio
import sys
import time
from typing import Any, cast

import acp
import msgspec

from bench.children import agent_command
from bench.programs.flood_agent import delta
from bench.updates import Flood


class Counter:
    def __init__(self) -> None:
        self.updates = 0
        self.characters = 0

    def on_connect(self, conn: acp.Agent) -> None:
        """Nothing to keep."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates += 1
        self.characters += len(update.content.text)


async def main() -> None:
    count, workspace = int(sys.argv[1]), sys.argv[2]
    counter = Counter()
    # The SDK's protocol class asks for every method there is, but it calls only those that exist.
    client = cast(acp.Client, counter)
    async with acp.spawn_agent_process(client, *agent_command("flood_agent", str(count))) as (agent, _):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await agent.new_session(cwd=workspace, mcp_servers=[])
        await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("warm up")])
        counter.updates = counter.characters = 0
        started = time.perf_counter()
        await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("flood")])
        seconds = time.perf_counter() - started
    complete = counter.updates == count and counter.characters == sum(len(delta(n)) for n in range(count))
    sys.stdout.buffer.write(msgspec.json.encode(Flood(seconds=seconds, complete=complete)))


if __name__ == "__main__":
    asyncio.run(main())
