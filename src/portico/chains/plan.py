"""Plan of one chain: its nodes, from the settings, the flags, the environment, the editor and the agent.

From the client's side:

| node                          | joins                                                                         |
|-------------------------------|-------------------------------------------------------------------------------|
| notices                       | always; tells the person what was left out                                    |
| MCP servers of the settings   | always                                                                        |
| editor context                | if `PORTICO_EDITOR_STATE_FILE` is set                                         |
| review                        | for sessions that an ACP editor opens, if the mode is not `direct`            |
| path translation, proposals   | where changes can be reviewed                                                 |
| adapters of components        | for what the editor lacks, by its `initialize`                                |
| permissions                   | always                                                                        |
| components                    | those that are switched on; what they add is decided when the agent answered  |
| proxies of the user           | those of `--proxy`, and those that are switched on                            |
| MCP bridge                    | always; offers the tools as this agent can take them: over ACP, stdio or HTTP |
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.chains.mcp_servers import ConfiguredServers
from portico.chains.options import ChainParts
from portico.chains.permission_policy import approved_as, is_porter, permission_policy
from portico.chains.proxy_programs import OUTER_COMPONENTS_VARIABLE, ProxyPrograms, inherited_switches
from portico.components.component import AdapterContext, ComponentContext, ComponentUnavailable
from portico.components.registry import ComponentChoice
from portico.conductor.component_node import START_SECONDS, ComponentNode
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.node import ChainNode, ProxyNode
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy
from portico.conductor.program_node import ProgramNode
from portico.conductor.proxies.editor_context import EditorContext
from portico.conductor.proxies.notices import ChainNotices
from portico.conductor.proxy import Proxy
from portico.config.paths import config_folder, state_folder
from portico.config.settings import Settings, load_settings
from portico.domain.errors import PorticoError
from portico.files.deadline import within_deadline
from portico.sessions.ports import AgentProcess, AgentSpec

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import ChainTrace

EDITOR_STATE_VARIABLE = "PORTICO_EDITOR_STATE_FILE"
_PLANNING_SECONDS = 2 * START_SECONDS
"""Longer than a component may take: its node gives up first, and says so."""


class ChainPlan:
    """Builds the nodes of one chain in two steps: `prepare` before the client has said anything, then `nodes`.

    `on_start` receives each program that is started, and ends it.
    """

    def __init__(
        self,
        parts: ChainParts,
        on_start: Callable[[AgentProcess], None],
        watch: "ChainTrace | None" = None,
    ) -> None:
        self._parts = parts
        self._notices = ChainNotices()
        self._switches = inherited_switches(parts.options.components, parts.environ)
        self._on_start = on_start
        self._watch = watch
        self._programs: ProxyPrograms | None = None
        self._settings: Settings | None = None
        self._broker: PermissionBroker | None = None
        self._chosen: list[ComponentChoice] = []
        self._proxies: list[ChainNode] = []

    @property
    def programs(self) -> Sequence[tuple[ProgramNode, AgentProcess]]:
        """The nodes that are programs, each with its process."""
        return () if self._programs is None else self._programs.running

    async def prepare(self, spec: AgentSpec, workspace: Path) -> None:
        """Read the settings, and start the proxies that are programs. InvalidInput if something is wrong there."""
        parts, switches = self._parts, self._switches

        def load() -> tuple[Settings, PermissionPolicy, list[ComponentChoice]]:
            settings = load_settings(config_folder(parts.environ), workspace)
            policy = permission_policy(spec, settings, parts.options, parts.environ)
            named = parts.options.components
            parts.components.check((*named.on, *named.off), settings)
            return settings, policy, parts.components.chosen(settings, switches)

        settings, policy, self._chosen = await within_deadline(load)
        approvals = FileApprovals(
            state_folder(parts.environ) / "approvals.json", lambda: time.time_ns() // 1_000_000
        )
        self._broker = PermissionBroker(
            agent=spec.name,
            policy=policy,
            approvals=approvals,
            approved_as=approved_as(spec),
            trusts_read_only=is_porter(spec, parts.environ),
        )
        optional = [one.name for one in parts.components.proxy_choices(settings, switches) if one.on]
        here = [*(one.name for one in self._chosen), *optional, *switches.off]
        environ = {**parts.environ, OUTER_COMPONENTS_VARIABLE: ",".join(here)}
        self._settings = settings
        self._programs = ProxyPrograms(environ, self._on_start, self._left_out_for_good, self._watch)
        self._proxies = await self._programs.start(settings, parts.options.proxies, optional, workspace)

    async def nodes(
        self,
        hello: Raw,
        spec: AgentSpec,
        workspace: Path,
        keeps_out: Callable[[Path], bool] = lambda _: False,
    ) -> list[ChainNode]:
        """The nodes for an agent, given the parameters of the client's `initialize`.

        `keeps_out` says whether the agent's sandbox keeps it from writing a folder.
        """
        environ, options = self._parts.environ, self._parts.options
        assert self._broker is not None, "prepare comes first"
        before: list[Proxy] = [self._notices, ConfiguredServers(environ, self._notices)]
        if state_file := environ.get(EDITOR_STATE_VARIABLE):
            before.append(EditorContext(Path(state_file), time.time))
        before += self._review_proxies(spec, keeps_out)
        before += await self._adapters(hello, workspace)
        components = [
            ComponentNode(choice.name, partial(self._plan, choice, workspace), self._left_out)
            for choice in self._chosen
            if not choice.adapts_only
        ]
        bridge = McpBridge(options.mcp_bridge)
        return [*map(ProxyNode, [*before, self._broker]), *components, *self._proxies, ProxyNode(bridge)]

    def _review_proxies(self, spec: AgentSpec, keeps_out: Callable[[Path], bool]) -> list[Proxy]:
        reviews, mode = self._parts.reviews, self._parts.options.mode
        if reviews is None:
            return []
        # Late: most chains of an editor are direct, and have to start quickly.
        from portico.chains.review_proxies import proposal_tool_proxy, review_proxy
        from portico.review.acp.path_translation import PathTranslation

        after: list[Proxy] = [PathTranslation(), proposal_tool_proxy(reviews)]
        if mode == "direct":
            return after
        return [review_proxy(self._parts.environ, spec.name, mode, reviews, keeps_out), *after]

    async def _adapters(self, hello: Raw, workspace: Path) -> list[Proxy]:
        """What components supply in place of an editor that lacks files or terminals."""
        try:
            editor = decode(hello, acp.InitializeRequest).client_capabilities
        except msgspec.DecodeError:
            return []
        if editor.fs.read_text_file and editor.fs.write_text_file and editor.terminal:
            return []
        parts, settings = self._parts, self._settings
        assert settings is not None

        def adapt() -> list[Proxy]:
            found: list[Proxy] = []
            for choice in self._chosen:
                context = AdapterContext(
                    workspace=workspace, environ=parts.environ, editor=editor, options=choice.options
                )
                try:
                    component = parts.components.component(choice, settings.trusted_packages)
                    found += component.adapt(context)
                except Exception as error:  # noqa: BLE001 - top level of a component: its node tries again and reports
                    self._left_out(choice.name, f"{type(error).__name__}: {error}")
            return found

        try:
            return await within_deadline(adapt)
        except PorticoError as error:
            self._notices.report(
                "adapters", f"The editor's files and terminals are left out. {error.message}"
            )
            return []

    async def _plan(
        self, choice: ComponentChoice, workspace: Path, hello: Raw, answer: Raw
    ) -> Sequence[Proxy]:
        """The proxies of one component for this editor and this agent."""
        parts, settings = self._parts, self._settings
        assert settings is not None

        def plan() -> Sequence[Proxy]:
            component = parts.components.component(choice, settings.trusted_packages)
            context = ComponentContext(
                workspace=workspace,
                environ=parts.environ,
                editor=decode(hello, acp.InitializeRequest).client_capabilities,
                agent=decode(answer, acp.InitializeResponse).agent_capabilities,
                options=choice.options,
            )
            return component.plan(context)

        try:
            return await within_deadline(plan, seconds=_PLANNING_SECONDS)
        except ComponentUnavailable:
            return ()

    def _left_out(self, name: str, problem: str | None) -> None:
        told = None if problem is None else f"The component {name} is left out. {problem}"
        self._notices.report(name, told and f"{told} It is tried again with the next session.")

    def _left_out_for_good(self, name: str, problem: str) -> None:
        told = f"The proxy {name} is left out. {problem} It is tried again when the agent is next started."
        self._notices.report(name, told)
