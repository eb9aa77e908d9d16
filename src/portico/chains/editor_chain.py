"""The chain of an editor that speaks ACP: built when the editor says `initialize`, and ended with its programs.

Another conductor may say it instead; then the chain has proxies and no agent.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from portico.agents.exit_report import describe_exit, stderr_note
from portico.chains.taps import tap_stream
from portico.conductor.assembly import Assembly, StartLimit
from portico.conductor.chain import Chain
from portico.conductor.node import ChainNode
from portico.domain.errors import PorticoError
from portico.domain.events import Notice
from portico.domain.reviews import ReviewMode
from portico.files.private import make_private_folder
from portico.rpc.frames import FrameStream
from portico.rpc.messages import INTERNAL_ERROR, RpcError
from portico.sessions.ports import AgentProcess, AgentSpec, EditorProvider

if TYPE_CHECKING:
    from portico.agents.sandbox_policy import SandboxPolicy
    from portico.chains.component_registry import ComponentRegistry
    from portico.chains.options import ChainOptions
    from portico.chains.plan import ChainPlan
    from portico.conductor.tracing.writer import ChainTrace
    from portico.review.service import ReviewService

_STOP_GRACE = 3.0
_UNNAMED = "successor"


class EditorChainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The flags of `portico acp`. Without a mode, that of the settings holds; without `chain`, no proxies."""

    start_limit: float
    agent: str | None = None
    agent_command: str | None = None
    mode: ReviewMode | None = None
    chain: "ChainOptions | None" = None


class EditorChain:
    """`show` tells the person of a notice."""

    def __init__(
        self,
        environ: Mapping[str, str],
        options: EditorChainOptions,
        show: Callable[[Notice], None],
        watch: "ChainTrace | None" = None,
        workspace: Path | None = None,
    ) -> None:
        self._environ = environ
        self._options = options
        self._show = show
        self._watch = watch
        self._workspace = workspace or Path.cwd()
        self._started: list[AgentProcess] = []
        self._components: ComponentRegistry | None = None
        self._sandboxes: SandboxPolicy | None = None
        self._recovered: Sequence[Notice] = ()

    def chain(self, client: FrameStream) -> Chain:
        return Chain(client, self._assemble, assemble_proxy=self._assemble_proxy, observer=self._watch)

    async def close(self) -> None:
        if self._components is not None:
            await self._components.close()
        while self._started:
            await self._started.pop().stop(grace=_STOP_GRACE)

    async def _assemble(self, hello: Raw) -> Assembly:
        async with self._explained():
            spec = self._spec()
            await self._settle()
            process, keeps_out = await self._launch(spec)
            # While the agent starts, so do the proxies.
            plan, nodes = await self._nodes(hello, spec, keeps_out)
        wire = tap_stream(process.stream, self._environ, spec.name, "client")
        limit = self._options.start_limit

        def overdue() -> RpcError:
            return _overdue_proxy(plan, limit) or _overdue("agent", spec.name, process, limit)

        start = StartLimit(partial(asyncio.sleep, limit), overdue)
        return Assembly(nodes, wire, lambda: _farewell(spec, process), start)

    async def _assemble_proxy(self, hello: Raw) -> Assembly:
        """The proxies only; the other conductor has the agent. Flags may name it for permission rules."""
        async with self._explained():
            await self._settle()
            named = self._options.agent or self._options.agent_command
            spec = self._spec() if named else AgentSpec(name=_UNNAMED, command=())
            plan, nodes = await self._nodes(hello, spec)
        limit = self._options.start_limit
        start = StartLimit(partial(asyncio.sleep, limit), lambda: _overdue_proxy(plan, limit))
        return Assembly(nodes, None, start_limit=start)

    # The methods below import late, because an editor waits for the answer to `initialize`.

    def _spec(self) -> AgentSpec:
        from portico.agents.registry import AgentRegistry
        from portico.config.paths import config_folder
        from portico.config.settings import AGENT_VARIABLE, load_settings

        settings = load_settings(config_folder(self._environ), self._workspace)
        registry = AgentRegistry(python=sys.executable, environ=self._environ, custom=settings.agents)
        default = self._environ.get(AGENT_VARIABLE) or settings.agent
        return registry.choose(name=self._options.agent, command=self._options.agent_command, default=default)

    async def _launch(self, spec: AgentSpec) -> tuple[AgentProcess, Callable[[Path], bool]]:
        """Launch the agent; also returns whether its sandbox keeps it from writing a folder."""
        from portico.agents.process import LocalAgentLauncher
        from portico.agents.sandbox_policy import SandboxPolicy

        apart, workspace = self._apart(), self._workspace
        sandboxes = self._sandboxes = SandboxPolicy(self._environ, copies=self._copies(apart))
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
            self._recovered = await self._reviews().recover_all()
            for notice in self._recovered:
                self._show(notice)

    def _reviews(self) -> "ReviewService":
        from portico.chains.reviews import open_reviews
        from portico.processes.clock import SystemClock

        return open_reviews(self._environ, SystemClock())

    def _apart(self) -> Path | None:
        """The folder of an agent that is to work in trees of its sessions: an agent that takes its process's folder
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
        return (working_copies, *(shared_repository(self._workspace) if self._mode() == "worktree" else ()))

    def _mode(self) -> ReviewMode:
        if self._options.mode is not None:
            return self._options.mode
        from portico.config.paths import config_folder
        from portico.config.settings import load_settings

        return load_settings(config_folder(self._environ), self._workspace).mode

    async def _nodes(
        self, hello: Raw, spec: AgentSpec, keeps_out: Callable[[Path], bool] = lambda _: False
    ) -> "tuple[ChainPlan | None, Sequence[ChainNode]]":
        if self._options.chain is None:
            return None, ()
        from portico.chains.built_in_components import open_components
        from portico.chains.options import ChainParts
        from portico.chains.plan import ChainPlan

        mode = self._mode()
        self._components = open_components(self._environ, self._local_editor)
        parts = ChainParts(
            self._environ,
            self._components,
            msgspec.structs.replace(self._options.chain, mode=mode),
            None if mode == "direct" else self._reviews(),
        )
        plan = ChainPlan(parts, self._started.append, self._watch)
        await plan.prepare(spec, self._workspace, keeps_out)
        nodes = await plan.nodes(hello)
        return plan, [self._settled_folder(), *nodes] if mode == "direct" else nodes

    def _local_editor(self) -> EditorProvider:
        """Files and terminals of this machine. Commands are confined like the agent that they are run for."""
        from portico.editors.local import LocalEditorProvider

        sandboxes, apart = self._sandboxes, self._apart()
        if sandboxes is None:
            return LocalEditorProvider(self._environ)
        wrapper = partial(sandboxes.command_wrapper, self._workspace, apart)
        return LocalEditorProvider(self._environ, lambda _workspace, _folder: wrapper())

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


def _overdue_proxy(plan: "ChainPlan | None", limit: float) -> RpcError | None:
    for node, process in () if plan is None else plan.programs:
        if node.is_starting:
            return _overdue("proxy", node.name, process, limit)
    return None


def _overdue(what: str, name: str, process: AgentProcess, limit: float) -> RpcError:
    silence = f"The {what} {name} did not answer initialize within {limit:g} s."
    return RpcError(INTERNAL_ERROR, silence + stderr_note(process))


async def _farewell(spec: AgentSpec, process: AgentProcess) -> RpcError:
    return RpcError(INTERNAL_ERROR, f"The agent {spec.name} is gone. {await describe_exit(process)}")
