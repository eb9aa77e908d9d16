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
| components                    | those that are switched on; what they add depends on the agent's answer       |
| proxies of the user           | those of `--proxy`, and those that are switched on                            |
| MCP bridge                    | always; offers the tools as this agent can take them: over ACP, stdio or HTTP |
"""

import time
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.agents.process import LocalAgentLauncher
from portico.chains.component_registry import ComponentChoice
from portico.chains.mcp_servers import ConfiguredServers
from portico.chains.options import ChainParts
from portico.chains.permission_policy import approved_as, is_porter, permission_policy
from portico.chains.proxy_programs import (
    OUTER_COMPONENTS_VARIABLE,
    ProxyNames,
    ProxyPrograms,
    inherited_switches,
)
from portico.components.component import AdapterContext, ComponentContext, ComponentUnavailable
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
    from portico.domain.ids import SessionId
    from portico.review.acp.editor_sessions import EditorSessions
    from portico.review.service import ReviewService

EDITOR_STATE_VARIABLE = "PORTICO_EDITOR_STATE_FILE"
_PLANNING_SECONDS = 2 * START_SECONDS
"""Longer than a component may take: its node gives up first, and says so."""


class ChainPlan:
    """Builds the nodes of one chain: `prepare` before the client has said anything, then `nodes`.

    `on_start` receives each program that is started, and ends it.
    """

    def __init__(
        self,
        parts: ChainParts,
        on_start: Callable[[AgentProcess], None],
        watch: "ChainTrace | None" = None,
    ) -> None:
        self._parts = parts
        self._switches = inherited_switches(parts.options.components, parts.environ)
        self._on_start = on_start
        self._watch = watch
        self._programs: ProxyPrograms | None = None
        self._notices = ChainNotices()
        self._workspace = Path()
        self._settings: Settings | None = None
        self._chosen: list[ComponentChoice] = []
        self._before: list[Proxy] = []
        self._after: list[ChainNode] = []

    @property
    def programs(self) -> Sequence[tuple[ProgramNode, AgentProcess]]:
        """The nodes that are programs, each with its process."""
        return () if self._programs is None else self._programs.running

    async def prepare(
        self, spec: AgentSpec, workspace: Path, keeps_out: Callable[[Path], bool] = lambda _: False
    ) -> None:
        """Read the settings, and start the proxies that are programs. InvalidInput if something is wrong there.

        `keeps_out` says whether the agent's sandbox keeps it from writing a folder.
        """
        parts = self._parts
        self._switches = switches = self._switches.of(spec.components)

        def load() -> tuple[Settings, PermissionPolicy, list[ComponentChoice]]:
            settings = load_settings(config_folder(parts.environ), workspace)
            policy = permission_policy(spec, settings, parts.options, parts.environ)
            named = parts.options.components
            parts.components.check((*named.on, *named.off), settings)
            return settings, policy, parts.components.chosen(settings, switches)

        self._workspace = workspace
        settings, policy, self._chosen = await within_deadline(load)
        self._settings = settings
        proxies = await self._start_programs(settings)
        self._before = [self._notices, ConfiguredServers(parts.environ, self._notices)]
        if state_file := parts.environ.get(EDITOR_STATE_VARIABLE):
            self._before.append(EditorContext(Path(state_file), time.time))
        self._after = [
            ProxyNode(self._broker(spec, policy)),
            *(
                ComponentNode(choice.name, partial(self._plan, choice), self._left_out)
                for choice in self._chosen
                if not choice.is_adapter
            ),
            *proxies,
            ProxyNode(McpBridge(parts.options.mcp_bridge)),
        ]
        if parts.reviews is not None:
            # Late: most chains of an editor are direct, and have to start quickly.
            from portico.chains.review_proxies import review_proxies

            self._before += review_proxies(parts, parts.reviews, spec.name, keeps_out)
        if is_porter(spec, parts.environ):
            self._before.append(_proposal_requests(parts, spec.name))

    async def nodes(self, hello: Raw) -> list[ChainNode]:
        """All nodes, given the parameters of the client's `initialize`."""
        return [*map(ProxyNode, [*self._before, *await self._adapters(hello)]), *self._after]

    async def _start_programs(self, settings: Settings) -> list[ChainNode]:
        parts, switches = self._parts, self._switches
        optional = [one.name for one in parts.components.proxy_choices(settings, switches) if one.on]
        here = [*(one.name for one in self._chosen), *optional, *switches.off]
        for name in optional:
            parts.components.note_failure(self._workspace, name, None)
        environ = {**parts.environ, OUTER_COMPONENTS_VARIABLE: ",".join(here)}
        launch = partial(LocalAgentLauncher(environ).launch, workspace=self._workspace)
        self._programs = ProxyPrograms(launch, self._on_start, self._left_out_for_good, self._watch)
        names = ProxyNames(required=parts.options.proxies, optional=tuple(optional))
        return await self._programs.start(names, settings)

    def _broker(self, spec: AgentSpec, policy: PermissionPolicy) -> PermissionBroker:
        environ = self._parts.environ
        approvals = FileApprovals(
            state_folder(environ) / "approvals.json", lambda: time.time_ns() // 1_000_000
        )
        return PermissionBroker(
            agent=spec.name,
            policy=policy,
            approvals=approvals,
            session_grants=self._parts.session_grants,
            approved_as=approved_as(spec),
            trusts_read_only=is_porter(spec, environ),
        )

    async def _adapters(self, hello: Raw) -> list[Proxy]:
        """Capabilities that components supply to an editor without files or terminals."""
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
                if not choice.is_adapter and choice.package is None:
                    continue
                context = AdapterContext(
                    workspace=self._workspace, environ=parts.environ, editor=editor, options=choice.options
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

    async def _plan(self, choice: ComponentChoice, hello: Raw, answer: Raw) -> Sequence[Proxy]:
        """The proxies of one component for this editor and this agent."""
        parts, settings = self._parts, self._settings
        assert settings is not None

        def plan() -> Sequence[Proxy]:
            component = parts.components.component(choice, settings.trusted_packages)
            context = ComponentContext(
                workspace=self._workspace,
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
        self._parts.components.note_failure(self._workspace, name, problem)
        again = "It is tried again with the next session."
        self._notices.report(name, None if problem is None else _without("component", name, problem, again))

    def _left_out_for_good(self, name: str, problem: str) -> None:
        self._parts.components.note_failure(self._workspace, name, problem)
        again = "It is tried again when the agent is next started."
        self._notices.report(name, _without("proxy", name, problem, again))


def _without(what: str, name: str, problem: str, again: str) -> str:
    sentence = problem if problem.endswith((".", "!", "?")) else f"{problem}."
    return f"The {what} {name} is left out. {sentence} {again}"


def _proposal_requests(parts: ChainParts, agent: str) -> Proxy:
    """The proxy by which Porter proposes changes in every review mode. Reviews are loaded with its first request."""
    from portico.review.acp.proposal_requests import EditorReviews, ProposalRequests

    @cache
    def open_all() -> "ReviewService":
        if parts.reviews is not None:
            return parts.reviews
        from portico.chains.reviews import open_reviews
        from portico.processes.clock import SystemClock

        return open_reviews(parts.environ, SystemClock())

    def open_sessions() -> "EditorSessions":
        from portico.chains.review_proxies import open_editor_sessions

        return open_editor_sessions(parts.environ)

    def make_id() -> "SessionId":
        from portico.chains.review_proxies import make_id

        return make_id()

    return ProposalRequests(
        EditorReviews(agent=agent, open_reviews=open_all, open_sessions=open_sessions, make_id=make_id)
    )
