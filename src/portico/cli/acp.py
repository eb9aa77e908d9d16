"""`portico acp`: any agent behind Portico's proxies, as one ACP agent on standard input and output."""

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from msgspec import Raw

from portico.agents.exit_report import describe_exit, stderr_note
from portico.app.taps import open_trace, tap_stream
from portico.cli.arguments import CommandParser, add_proxy_flag, add_trace_flag, seconds, trace_path
from portico.cli.sandbox_flag import add_sandbox_flag, environ_with_sandbox
from portico.conductor.assembly import Assembly, StartLimit
from portico.conductor.chain import Chain
from portico.conductor.node import ChainNode
from portico.domain.errors import PorticoError
from portico.domain.reviews import ReviewMode
from portico.files.private import make_private_folder
from portico.processes.tasks import cancel_and_wait
from portico.rpc.frames import FrameStream
from portico.rpc.messages import INTERNAL_ERROR, RpcError
from portico.rpc.stdio import standard_streams
from portico.sessions.ports import AgentProcess, AgentSpec, SessionTimeouts

if TYPE_CHECKING:
    from portico.app.chain import ChainPlan
    from portico.conductor.tracing.writer import ChainTrace
    from portico.domain.events import Notice
    from portico.review.service import ReviewService

_DESCRIPTION = """Any agent behind Portico's proxies, as one ACP agent for any editor.

  portico acp                          Porter
  portico acp --agent claude
  portico acp --agent-command "my-agent --acp" --proxy my-proxy
  portico acp --mode proposal          changes become a proposal to apply

Your editor starts this; see docs/editors.md for how to set up Zed, Neovim, Emacs, JetBrains and Toad.
Another conductor may start it as one of its proxies; then it runs its proxies, and no agent.
"""
_STOP_GRACE = 3.0
_UNNAMED = "successor"


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("acp", _DESCRIPTION)
    agent = parser.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="NAME", help="agent to run (default: the setting agent, else porter)"
    )
    agent.add_argument("--agent-command", metavar="CMD", help='any ACP agent, such as "my-agent --acp"')
    add_proxy_flag(parser)
    bare = parser.add_mutually_exclusive_group()
    bare.add_argument("--no-proxies", action="store_true", help="no proxies in front of the agent")
    bare.add_argument(
        "--mode",
        choices=get_args(ReviewMode),
        help="how changes reach your files (default: the setting review.mode, else direct)",
    )
    parser.add_argument(
        "--mcp-bridge",
        choices=["stdio", "http"],
        default="stdio",
        help="transport for the tools of proxies, for agents without MCP over ACP (default: stdio)",
    )
    parser.add_argument(
        "--start-limit",
        metavar="SECONDS",
        type=seconds,
        default=SessionTimeouts().start,
        help="time limit for the agent and the proxies to answer initialize (default: %(default)g)",
    )
    add_sandbox_flag(parser)
    add_trace_flag(parser)
    flags = parser.parse(arguments)
    if flags.no_proxies and flags.proxy:
        parser.error("argument --proxy: not allowed with argument --no-proxies")
    environ = environ_with_sandbox(flags, os.environ)
    with open_trace(trace_path(flags), environ) as trace:
        watch = None if trace is None else trace.chain()
        return asyncio.run(_serve(flags, environ, watch))


async def _serve(flags: argparse.Namespace, environ: Mapping[str, str], watch: "ChainTrace | None") -> int:
    door = _AcpChain(flags, environ, watch)
    client = tap_stream(await standard_streams(), environ, "editor", "agent")
    serving = asyncio.create_task(door.chain(client).run(), name="the chain")
    loop = asyncio.get_running_loop()
    if sys.platform != "win32":
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, serving.cancel)
    try:
        await serving
    except asyncio.CancelledError:
        return 0
    finally:
        await cancel_and_wait(serving)
        await door.close()
    return 0


class _AcpChain:
    """Builds the chain when the editor sends `initialize`, and ends the programs it started."""

    def __init__(
        self, flags: argparse.Namespace, environ: Mapping[str, str], watch: "ChainTrace | None"
    ) -> None:
        self._flags = flags
        self._environ = environ
        self._watch = watch
        self._started: list[AgentProcess] = []
        self._recovered: Sequence[Notice] = ()

    def chain(self, client: FrameStream) -> Chain:
        return Chain(client, self._assemble, assemble_proxy=self._assemble_proxy, observer=self._watch)

    async def close(self) -> None:
        while self._started:
            await self._started.pop().stop(grace=_STOP_GRACE)

    async def _assemble(self, hello: Raw) -> Assembly:
        async with self._explained():
            spec = self._spec()
            await self._settle()
            process, keeps_out = await self._launch(spec)
            # While the agent starts, so do the proxies.
            plan = self._plan()
            nodes = await self._nodes(plan, spec, keeps_out)
        wire = tap_stream(process.stream, self._environ, spec.name, "client")
        limit = self._flags.start_limit

        def overdue() -> RpcError:
            return _overdue_proxy(plan, limit) or _overdue("agent", spec.name, process, limit)

        start = StartLimit(partial(asyncio.sleep, limit), overdue)
        return Assembly(nodes, wire, lambda: _farewell(spec, process), start)

    async def _assemble_proxy(self, hello: Raw) -> Assembly:
        """The proxies only; the other conductor has the agent. Flags may name it for permission rules."""
        async with self._explained():
            await self._settle()
            named = self._flags.agent or self._flags.agent_command
            spec = self._spec() if named else AgentSpec(name=_UNNAMED, command=())
            plan = self._plan()
            nodes = await self._nodes(plan, spec)
        limit = self._flags.start_limit
        start = StartLimit(partial(asyncio.sleep, limit), lambda: _overdue_proxy(plan, limit))
        return Assembly(nodes, None, start_limit=start)

    # The methods below import late, because an editor waits for the answer to `initialize`.

    def _spec(self) -> AgentSpec:
        from portico.agents.registry import AgentRegistry
        from portico.config.paths import config_folder
        from portico.config.settings import AGENT_VARIABLE, load_settings

        settings = load_settings(config_folder(self._environ), Path.cwd())
        registry = AgentRegistry(python=sys.executable, environ=self._environ, custom=settings.agents)
        default = self._environ.get(AGENT_VARIABLE) or settings.agent
        return registry.choose(name=self._flags.agent, command=self._flags.agent_command, default=default)

    async def _launch(self, spec: AgentSpec) -> tuple[AgentProcess, Callable[[Path], bool]]:
        """Launch the agent; also returns whether its sandbox keeps it from writing a folder."""
        from portico.agents.process import LocalAgentLauncher
        from portico.agents.sandbox_policy import SandboxPolicy

        apart, workspace = self._apart(), Path.cwd()
        sandboxes = SandboxPolicy(self._environ, copies=self._copies(apart))
        process = await LocalAgentLauncher(self._environ, sandboxes).launch(spec, workspace, folder=apart)
        self._started.append(process)
        if self._watch is not None:
            self._watch.learn(spec.env)
        if process.sandbox is None or process.sandbox.level == "none":
            return process, lambda _: False
        return process, lambda tree: sandboxes.keeps_out(
            spec, workspace, implied=apart is not None, tree=tree
        )

    async def _settle(self) -> None:
        """Let no agent find a folder that a killed process left half changed."""
        from portico.config.paths import state_folder
        from portico.review.files.leftovers import has_leftovers

        if has_leftovers(state_folder(self._environ) / "review"):
            from portico.app.error_report import show_notice

            self._recovered = await self._reviews().recover_all()
            for notice in self._recovered:
                show_notice(notice)

    def _reviews(self) -> "ReviewService":
        from portico.app.review import open_reviews
        from portico.processes.clock import SystemClock

        return open_reviews(self._environ, SystemClock())

    def _apart(self) -> Path | None:
        """Where an agent stands that is to work in trees of its sessions: an agent that takes its process's folder
        for the session's must not find the person's files, and there is no session yet."""
        if self._mode() not in ("proposal", "worktree"):
            return None
        from portico.config.paths import state_folder

        nowhere = state_folder(self._environ) / "review" / "nowhere"
        make_private_folder(nowhere)
        return nowhere

    def _copies(self, apart: Path | None) -> tuple[Path, ...]:
        """Folders of the working copies that sessions get after the agent has been started."""
        if apart is None:
            return ()
        from portico.agents.sandbox_paths import shared_repository

        working_copies = apart.parent / "workplaces"
        make_private_folder(working_copies)
        return (working_copies, *(shared_repository(Path.cwd()) if self._mode() == "worktree" else ()))

    def _mode(self) -> "ReviewMode":
        from portico.config.paths import config_folder
        from portico.config.settings import load_settings

        mode: ReviewMode = self._flags.mode or load_settings(config_folder(self._environ), Path.cwd()).mode
        return mode

    def _plan(self) -> "ChainPlan":
        from portico.agents.process import LocalAgentLauncher
        from portico.app.chain import ChainOptions, ChainPlan

        mode = self._mode()
        chain_options = ChainOptions(
            proxies=tuple(self._flags.proxy), mcp_bridge=self._flags.mcp_bridge, mode=mode
        )
        agents = LocalAgentLauncher(self._environ)
        reviews = None if mode == "direct" else self._reviews()
        return ChainPlan(self._environ, chain_options, agents, self._started.append, self._watch, reviews)

    async def _nodes(
        self, plan: "ChainPlan", spec: AgentSpec, keeps_out: Callable[[Path], bool] = lambda _: False
    ) -> Sequence[ChainNode]:
        if self._flags.no_proxies:
            return ()
        nodes = await plan.nodes(spec, Path.cwd(), keeps_out)
        return [self._settled_folder(), *nodes] if self._mode() == "direct" else nodes

    def _settled_folder(self) -> ChainNode:
        from portico.conductor.node import ProxyNode
        from portico.config.paths import state_folder
        from portico.review.acp.recovery_proxy import RecoveryProxy

        folder = state_folder(self._environ) / "review"
        return ProxyNode(RecoveryProxy(folder, lambda place: self._reviews().recover(place), self._recovered))

    @asynccontextmanager
    async def _explained(self) -> AsyncIterator[None]:
        """Turn a failure to build the chain into the answer to `initialize`, with nothing left running."""
        try:
            yield
        except PorticoError as error:
            await self.close()
            hint = f" {error.suggestion}" if error.suggestion else ""
            raise RpcError(INTERNAL_ERROR, error.message + hint) from error


def _overdue_proxy(plan: "ChainPlan", limit: float) -> RpcError | None:
    for node, process in plan.programs:
        if node.is_starting:
            return _overdue("proxy", node.name, process, limit)
    return None


def _overdue(what: str, name: str, process: AgentProcess, limit: float) -> RpcError:
    silence = f"The {what} {name} did not answer initialize within {limit:g} s."
    return RpcError(INTERNAL_ERROR, silence + stderr_note(process))


async def _farewell(spec: AgentSpec, process: AgentProcess) -> RpcError:
    return RpcError(INTERNAL_ERROR, f"The agent {spec.name} is gone. {await describe_exit(process)}")
