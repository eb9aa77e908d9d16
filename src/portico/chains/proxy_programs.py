"""Proxies of the user in a chain: programs of the settings, and classes of installed packages.

`--proxy NAME` means that the chain must not be without it. A proxy that `components` of the settings or
`--component NAME` switch on is left out if it fails, like any component.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from portico.agents.exit_report import describe_exit
from portico.chains.component_registry import ComponentSwitches
from portico.conductor.component_node import START_SECONDS
from portico.conductor.node import ChainNode, ProxyNode
from portico.conductor.program_node import LeaveOut, ProgramNode
from portico.config.settings import ProgramSetting, Settings
from portico.domain.errors import AgentNotFound, InvalidInput
from portico.sessions.ports import AgentProcess, AgentSpec

if TYPE_CHECKING:
    from portico.conductor.tracing.writer import ChainTrace

OUTER_COMPONENTS_VARIABLE = "PORTICO_OUTER_COMPONENTS"
"""Names the components of the chain that a proxy is part of. A conductor among the proxies does not add them again."""


class ProxyNames(msgspec.Struct, frozen=True, kw_only=True):
    """The proxies that a chain must have, and those that it can do without."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


class ProxyPrograms:
    """Starts the programs of one chain. `running` has those that were started, each with its node."""

    def __init__(
        self,
        launch: Callable[[AgentSpec], Awaitable[AgentProcess]],
        on_start: Callable[[AgentProcess], None],
        report: Callable[[str, str], None],
        watch: "ChainTrace | None",
    ) -> None:
        self._launch = launch
        self._on_start = on_start
        self._report = report
        self._watch = watch
        self.running: list[tuple[ProgramNode, AgentProcess]] = []

    async def start(self, names: ProxyNames, settings: Settings) -> list[ChainNode]:
        """The nodes of all these proxies, the optional ones first. InvalidInput for a required one that fails."""
        nodes: list[ChainNode] = []
        for name in names.optional:
            if name not in names.required:
                node = await self._optional(name, settings.proxies[name])
                nodes += [] if node is None else [node]
        return [*nodes, *[await self._required(name, settings) for name in names.required]]

    async def _required(self, name: str, settings: Settings) -> ChainNode:
        setting = settings.proxies.get(name)
        if setting is not None:
            return await self._program(name, setting, None)
        from portico.chains.entry_points import load_installed_proxy

        proxy = await asyncio.to_thread(load_installed_proxy, name, settings.trusted_packages)
        if proxy is not None:
            return ProxyNode(proxy)
        known = ", ".join(settings.proxies) or "none"
        raise InvalidInput(
            f"Unknown proxy {name!r}. Available in the settings: {known}.",
            suggestion='Add it under "proxies" in your settings, or install a package that offers it.',
        )

    async def _optional(self, name: str, setting: ProgramSetting) -> ChainNode | None:
        try:
            return await self._program(name, setting, LeaveOut(self._report, START_SECONDS))
        except InvalidInput as error:
            self._report(name, error.message)
            return None

    async def _program(self, name: str, setting: ProgramSetting, leave_out: LeaveOut | None) -> ProgramNode:
        spec = AgentSpec(name=name, command=(setting.command, *setting.args), env=setting.env)
        try:
            process = await self._launch(spec)
        except AgentNotFound as error:
            raise InvalidInput(
                f"The proxy {name} cannot be started by “{setting.command}”.",
                suggestion='Check its command in the settings under "proxies", or give its full path.',
            ) from error
        self._on_start(process)
        node = ProgramNode(name, process.stream, partial(describe_exit, process), leave_out)
        if self._watch is not None:
            self._watch.learn(setting.env)
            node.frames.tap = self._watch.wire(name)
        self.running.append((node, process))
        return node


def inherited_switches(switches: ComponentSwitches, environ: Mapping[str, str]) -> ComponentSwitches:
    """The switches, and off for what the chain has already that this process is a proxy of."""
    outer = environ.get(OUTER_COMPONENTS_VARIABLE, "").split(",")
    return msgspec.structs.replace(switches, off=(*switches.off, *filter(None, outer)))
