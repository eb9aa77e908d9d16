"""State of every component in a workspace: whether it joins the chains there, and why not."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.chains.component_registry import ComponentChoice, ComponentSwitches
from portico.chains.options import ChainParts
from portico.chains.proxy_programs import inherited_switches
from portico.components.component import ComponentContext, ComponentUnavailable
from portico.conductor.component_node import START_SECONDS
from portico.config.paths import config_folder
from portico.config.settings import Settings, load_settings
from portico.domain.components import AS_IN_SETTINGS, ComponentStatus, SessionComponents
from portico.domain.errors import InvalidInput, PorticoError
from portico.files.deadline import within_deadline

_EDITOR = acp.ClientCapabilities(
    fs=acp.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
)

_AGENT = acp.AgentCapabilities()


class ChainComponents:
    """Implements `sessions.ports.ComponentCatalog` with the components of this process."""

    def __init__(self, parts: ChainParts) -> None:
        self._parts = parts
        self._flags = inherited_switches(parts.options.components, parts.environ)

    async def statuses(
        self,
        workspace: Path,
        chosen: SessionComponents = AS_IN_SETTINGS,
        agent: acp.AgentCapabilities = _AGENT,
    ) -> Sequence[ComponentStatus]:
        """All components, as a chain in this workspace would have them. Plans those that are on."""
        return await within_deadline(
            lambda: self._statuses(workspace, self._flags.of(chosen), agent), seconds=START_SECONDS
        )

    async def switch(
        self, workspace: Path, chosen: SessionComponents, change: SessionComponents
    ) -> SessionComponents:
        return await within_deadline(lambda: self._switch(workspace, chosen, change))

    def _switch(
        self, workspace: Path, chosen: SessionComponents, change: SessionComponents
    ) -> SessionComponents:
        settings = self._settings(workspace)
        self._parts.components.check((*change.on, *change.off), settings)
        usual = {one.name: one.on for one in self._choices(settings, self._flags)}
        for name in (*change.on, *change.off):
            wanted = name in change.on
            if name in (*self._flags.on, *self._flags.off):
                raise InvalidInput(
                    f'The component "{name}" is switched by a flag of the command that started Portico.',
                    suggestion="Start it without --component or --no-component to choose per session.",
                )
            chosen = chosen.without(name) if usual[name] == wanted else chosen.switched(wanted, name)
        for one in self._choices(settings, self._flags.of(chosen)):
            if one.name in change.on and not one.on:
                raise InvalidInput(f'The component "{one.name}" cannot be switched on: {one.reason}.')
        return chosen

    def _settings(self, workspace: Path) -> Settings:
        return load_settings(config_folder(self._parts.environ), workspace)

    def _choices(self, settings: Settings, switches: ComponentSwitches) -> list[ComponentChoice]:
        registry = self._parts.components
        return [*registry.choices(settings, switches), *registry.proxy_choices(settings, switches)]

    def _statuses(
        self, workspace: Path, switches: ComponentSwitches, agent: acp.AgentCapabilities
    ) -> list[ComponentStatus]:
        registry, settings = self._parts.components, self._settings(workspace)
        registry.check((*self._parts.options.components.on, *self._parts.options.components.off), settings)
        context = ComponentContext(
            workspace=workspace, environ=self._parts.environ, editor=_EDITOR, agent=agent
        )
        found = [self._status(choice, settings, context) for choice in registry.choices(settings, switches)]
        found += [
            self._with_failure(
                ComponentStatus(
                    name=choice.name,
                    state="on" if choice.on else "off",
                    reason=choice.reason,
                    origin="proxy",
                    summary=" ".join(
                        (settings.proxies[choice.name].command, *settings.proxies[choice.name].args)
                    ),
                ),
                workspace,
            )
            for choice in registry.proxy_choices(settings, switches)
        ]
        found = [
            msgspec.structs.replace(one, fixed=one.name in (*switches.on, *switches.off)) for one in found
        ]
        known = {one.name for one in found}
        named = dict.fromkeys(settings.components, "unknown name in the settings")
        named |= dict.fromkeys(switches.session.on, "chosen for this session, and no longer available")
        return found + [
            ComponentStatus(name=name, state="failed", reason=reason, origin="unknown", fixed=True)
            for name, reason in named.items()
            if name not in known
        ]

    def _status(
        self, choice: ComponentChoice, settings: Settings, context: ComponentContext
    ) -> ComponentStatus:
        status = ComponentStatus(
            name=choice.name,
            state="on" if choice.on else "off",
            reason=choice.reason,
            origin="built in" if choice.package is None else f"package {choice.package}",
        )
        if choice.package is not None and not choice.on:
            return status  # Nothing of a package is imported that is not wanted.
        try:
            component = self._parts.components.component(choice, settings.trusted_packages)
            status = msgspec.structs.replace(status, summary=component.summary)
            if choice.on:
                component.plan(msgspec.structs.replace(context, options=choice.options))
        except ComponentUnavailable as error:
            return msgspec.structs.replace(status, state="idle", reason=str(error))
        except PorticoError as error:
            return msgspec.structs.replace(status, state="failed", reason=error.message)
        except Exception as error:  # noqa: BLE001 - top level of a component: what is wrong with it is what is asked
            return msgspec.structs.replace(status, state="failed", reason=f"{type(error).__name__}: {error}")
        return self._with_failure(status, context.workspace)

    def _with_failure(self, status: ComponentStatus, workspace: Path) -> ComponentStatus:
        """The status of a component that could be planned, unless the last chain here had to leave it out."""
        problem = self._parts.components.failures.get((workspace, status.name))
        if status.state != "on" or problem is None:
            return status
        return msgspec.structs.replace(status, state="failed", reason=problem)
