"""`portico acp`: any agent, behind Portico's proxies, as one ACP agent on standard input and output."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Raw

from portico.cli.arguments import Arguments
from portico.cli.taps import tapped
from portico.conductor.chain import Assembly, Chain
from portico.domain.errors import PorticoError
from portico.rpc.messages import INTERNAL_ERROR, RpcError
from portico.rpc.stdio import standard_streams
from portico.sessions.deadlines import put_down
from portico.sessions.ports import AgentProcess, AgentSpec

_DESCRIPTION = """Any agent behind Portico's proxies, as one ACP agent for any editor.

  portico acp                          Porter
  portico acp --agent claude
  portico acp --agent-command "my-agent --acp" --proxy my-proxy

Your editor starts this; see docs/editors.md for how to set up Zed, Neovim, Emacs, JetBrains and Toad.
"""
_STOP_GRACE = 3.0


def run(arguments: Sequence[str]) -> int:
    parser = Arguments("acp", _DESCRIPTION)
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument("--agent", metavar="NAME", help="the agent to run (default: porter)")
    agent.add_argument("--agent-command", metavar="CMD", help='any ACP agent, as in "my-agent --acp"')
    parser.add_argument(
        "--proxy", metavar="NAME", action="append", default=[], help="add a proxy from the settings, in order"
    )
    parser.add_argument("--no-proxies", action="store_true", help="the bare agent, with nothing in between")
    flags = parser.parse_args(arguments)
    return asyncio.run(_serve(flags, dict(os.environ)))


async def _serve(flags: argparse.Namespace, environ: Mapping[str, str]) -> int:
    door = _Door(flags, environ)
    client = tapped(await standard_streams(), environ, "editor", "agent")
    serving = asyncio.create_task(Chain(client, door.assemble).run(), name="the chain")
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        return 0
    finally:
        await put_down(serving)
        await door.close()
    return 0


class _Door:
    """Builds the chain when the editor says `initialize`, and ends what it started."""

    def __init__(self, flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
        self._flags = flags
        self._environ = environ
        self._started: list[AgentProcess] = []

    async def assemble(self, hello: Raw) -> Assembly:
        # Only now: nothing that reading `initialize` does not need may slow an editor's start.
        from portico.agents.processes import LocalAgents
        from portico.agents.registry import AgentRegistry
        from portico.config.paths import config_folder
        from portico.config.settings import load_settings

        workspace, agents = Path.cwd(), LocalAgents(self._environ)
        try:
            settings = load_settings(config_folder(self._environ), workspace)
            registry = AgentRegistry(python=sys.executable, environ=self._environ, custom=settings.agents)
            spec = registry.choose(
                name=self._flags.agent, command=self._flags.agent_command, default=settings.agent
            )
            process = await agents.launch(spec, workspace)
            self._started.append(process)
            # While the agent starts, so do the proxies.
            from portico.cli.chains import ChainPlan, Wishes

            plan = ChainPlan(
                self._environ, Wishes(proxies=tuple(self._flags.proxy)), agents, self._started.append
            )
            stations = [] if self._flags.no_proxies else await plan.stations(spec, workspace)
        except PorticoError as error:
            await self.close()
            hint = f" {error.suggestion}" if error.suggestion else ""
            raise RpcError(INTERNAL_ERROR, error.message + hint) from error
        wire = tapped(process.stream, self._environ, spec.name, "client")
        return Assembly(stations, wire, lambda: _farewell(spec, process))

    async def close(self) -> None:
        while self._started:
            await self._started.pop().stop(grace=_STOP_GRACE)


async def _farewell(spec: AgentSpec, process: AgentProcess) -> RpcError:
    how = await process.wait()
    words = process.stderr_tail().strip()
    last = f" Its last words: {words[-500:]}" if words else ""
    return RpcError(INTERNAL_ERROR, f"The agent {spec.name} ended with {how}.{last}")
