"""Proxies of a chain, chosen from the settings, the flags and the environment.

From the client's side: editor context (where an editor writes its state), review for ACP editors that want it,
the translation of paths for sessions that work in a folder of their own, the tool to propose changes with,
permissions, the tools of attached editors, the user's own proxies in the order given, and next to the agent the
bridge for MCP tools.
"""

import asyncio
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import msgspec

from portico.acp import _schema as acp
from portico.agents.exit_report import describe_exit
from portico.agents.registry import PORTER, AgentRegistry
from portico.components.component import ComponentContext, ComponentUnavailable
from portico.components.registry import ComponentRegistry, ComponentSwitches
from portico.conductor.mcp_bridge.bridge import BridgeKind, McpBridge
from portico.conductor.node import ChainNode, ProxyNode
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy, parse_rule
from portico.conductor.program_node import ProgramNode
from portico.conductor.proxies.editor_context import EditorContext
from portico.config.paths import config_folder, state_folder
from portico.config.settings import AgentSetting, Settings, load_settings, read_user_settings
from portico.domain.errors import AgentNotFound, InvalidInput
from portico.domain.reviews import ReviewMode
from portico.files.deadline import within_deadline
from portico.sessions.ports import AgentLauncher, AgentProcess, AgentSpec

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import ChainTrace, TraceWriter
    from portico.review.service import ReviewService

EDITOR_STATE_VARIABLE = "PORTICO_EDITOR_STATE_FILE"
BYPASS_VARIABLE = "PORTICO_BYPASS_PERMISSIONS"


class ChainOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the flags of one command add to the settings."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    components: ComponentSwitches = ComponentSwitches()
    mcp_bridge: BridgeKind = "stdio"
    mode: ReviewMode = "direct"
    trace: "TraceWriter | None" = None


NO_CHAIN_OPTIONS = ChainOptions()


class ChainPlan:
    """Builds the nodes of one chain. `on_start` receives each program that is started, and ends it.

    `programs` are the nodes that are programs, each with its process.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        options: ChainOptions,
        agents: AgentLauncher,
        on_start: Callable[[AgentProcess], None],
        watch: "ChainTrace | None" = None,
        reviews: "ReviewService | None" = None,
        components: ComponentRegistry | None = None,
    ) -> None:
        self._environ = environ
        self._options = options
        self._agents = agents
        self._on_start = on_start
        self.programs: list[tuple[ProgramNode, AgentProcess]] = []
        self._watch = watch
        self._reviews = reviews
        self._components = components

    async def nodes(
        self, spec: AgentSpec, workspace: Path, keeps_out: Callable[[Path], bool] = lambda _: False
    ) -> Sequence[ChainNode]:
        """The proxies for an agent. `keeps_out` says whether its sandbox keeps it from writing a folder."""
        settings = await within_deadline(lambda: load_settings(config_folder(self._environ), workspace))
        nodes: list[ChainNode] = []
        if state_file := self._environ.get(EDITOR_STATE_VARIABLE):
            nodes.append(ProxyNode(EditorContext(Path(state_file), time.time)))
        nodes += self._review_nodes(spec, keeps_out)
        approvals = FileApprovals(
            state_folder(self._environ) / "approvals.json", lambda: time.time_ns() // 1_000_000
        )
        broker = PermissionBroker(
            agent=spec.name,
            policy=self._policy(spec, settings),
            approvals=approvals,
            approved_as=_approved_as(spec),
            trusts_read_only=spec.name == PORTER and not self._is_namesake(spec, {}),
        )
        nodes.append(ProxyNode(broker))
        nodes += await within_deadline(lambda: self._component_nodes(settings, workspace))
        nodes += [await self._program(name, settings, workspace) for name in self._options.proxies]
        nodes.append(ProxyNode(McpBridge(self._options.mcp_bridge)))
        return nodes

    def _review_nodes(self, spec: AgentSpec, keeps_out: Callable[[Path], bool]) -> list[ChainNode]:
        if self._reviews is None:
            return []
        # Late: most chains of an editor are direct, and have to start quickly.
        from portico.app.review_proxies import proposal_tool_proxy, review_proxy
        from portico.review.acp.path_translation import PathTranslation

        after: list[ChainNode] = [
            ProxyNode(PathTranslation()),
            ProxyNode(proposal_tool_proxy(self._reviews)),
        ]
        if self._options.mode == "direct":
            return after
        review = review_proxy(self._environ, spec.name, self._options.mode, self._reviews, keeps_out)
        return [ProxyNode(review), *after]

    def _component_nodes(self, settings: Settings, workspace: Path) -> list[ChainNode]:
        if self._components is None:
            return []
        nodes: list[ChainNode] = []
        for choice in self._components.chosen(settings, self._options.components):
            context = ComponentContext(
                workspace=workspace,
                environ=self._environ,
                editor=acp.ClientCapabilities(),
                agent=acp.AgentCapabilities(),
                options=choice.options,
            )
            component = self._components.component(choice, settings.trusted_packages)
            with suppress(ComponentUnavailable):
                nodes += map(ProxyNode, component.plan(context))
        return nodes

    def _policy(self, spec: AgentSpec, settings: Settings) -> PermissionPolicy:
        allowances = tuple(map(parse_rule, settings.permissions.allow))
        if any(rule.agent for rule in allowances) and self._is_namesake(spec, settings.agents):
            allowances = tuple(rule for rule in allowances if rule.agent is None)
        return PermissionPolicy(
            allow=(*allowances, *map(parse_rule, self._options.allow)),
            deny=tuple(map(parse_rule, (*settings.permissions.deny, *self._options.deny))),
            bypass=self._is_unasked(spec, settings),
        )

    def _is_unasked(self, spec: AgentSpec, settings: Settings) -> bool:
        """Whether a person let this very agent do everything: by its settings, by its name, or by its command."""
        setting = settings.agents.get(spec.name)
        if (
            setting is not None
            and setting.bypass_permissions
            and not self._is_namesake(spec, settings.agents)
        ):
            return True
        unasked = {entry.strip() for entry in self._environ.get(BYPASS_VARIABLE, "").split(",")} - {""}
        if spec.name not in unasked:
            return shlex.join(spec.command) in unasked
        # The environment is the person's, and so is what they mean by a name: a workspace cannot give it another.
        own = read_user_settings(config_folder(self._environ)).agents
        return spec.name in self._registry(own).names() and not self._is_namesake(spec, own)

    def _is_namesake(self, spec: AgentSpec, agents: Mapping[str, AgentSetting]) -> bool:
        """Whether these settings, or Portico, give its name to another program."""
        registry = self._registry(agents)
        if spec.name not in registry.names():
            return False
        meant = registry.resolve(spec.name)
        return meant.command != spec.command or not meant.env.items() <= spec.env.items()

    def _registry(self, agents: Mapping[str, AgentSetting]) -> AgentRegistry:
        return AgentRegistry(python=sys.executable, environ=self._environ, custom=agents)

    async def _program(self, name: str, settings: Settings, workspace: Path) -> ChainNode:
        setting = settings.proxies.get(name)
        if setting is None:
            from portico.components.entry_points import load_installed_proxy

            proxy = await asyncio.to_thread(load_installed_proxy, name, settings.trusted_packages)
            if proxy is not None:
                return ProxyNode(proxy)
            known = ", ".join(settings.proxies) or "none"
            raise InvalidInput(
                f"Unknown proxy {name!r}. Available in the settings: {known}.",
                suggestion='Add it under "proxies" in your settings, or install a package that offers it.',
            )
        spec = AgentSpec(name=name, command=(setting.command, *setting.args), env=setting.env)
        try:
            process = await self._agents.launch(spec, workspace)
        except AgentNotFound as error:
            raise InvalidInput(
                f"The proxy {name} cannot be started by “{setting.command}”.",
                suggestion='Check its command in the settings under "proxies", or give its full path.',
            ) from error
        self._on_start(process)
        node = ProgramNode(name, process.stream, partial(describe_exit, process))
        if self._watch is not None:
            self._watch.learn(setting.env)
            node.frames.tap = self._watch.wire(name)
        self.programs.append((node, process))
        return node


def _approved_as(spec: AgentSpec) -> str:
    """Whose approvals count for an agent: one that is named after its program is known by its whole command.

    Otherwise all that `python`, `node` or `npx` may start would be one agent.
    """
    named_after_program = bool(spec.command) and spec.name in (
        PurePath(spec.command[0]).stem,
        spec.command[0],
    )
    return shlex.join(spec.command) if named_after_program else spec.name
