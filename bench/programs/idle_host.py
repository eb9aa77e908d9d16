"""A host that takes one turn in one session, ends its agent, and says when it has come to rest."""

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from bench.children import agent_command
from portico.app.host import open_host
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt


async def main() -> None:
    """Answers the one request that comes on standard input once idle; ends with the input."""
    spec = AgentSpec(name="flood", command=agent_command("flood_agent", "1000"))
    with tempfile.TemporaryDirectory() as workspace:
        async with open_host(os.environ) as host:
            session_id = await host.service.start(Path(workspace), spec)
            await host.service.session(session_id).prompt(TurnPrompt(text="flood"))
            await host.service.close()
            await asyncio.to_thread(sys.stdin.readline)
            print('{"jsonrpc":"2.0","id":1,"result":{}}', flush=True)
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
