"""State of every component in a workspace: whether it joins the chains there, and why not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from portico.acp import _schema as acp
from portico.components.component import ComponentContext, ComponentUnavailable
from portico.components.registry import ComponentChoice, ComponentRegistry, ComponentSwitches
from portico.config.paths import config_folder
from portico.config.settings import Settings, load_settings
from portico.domain.errors import PorticoError

ComponentState = Literal["on", "off", "idle", "failed"]
_EDITOR = acp.ClientCapabilities(
    fs=acp.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
)


class ComponentStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A component that is `idle` is on, and has nothing to work with here."""

    name: str
    state: ComponentState
    reason: str
    origin: str
    """`built in`, `package NAME` or `proxy`."""
    summary: str = ""


def component_statuses(
    registry: ComponentRegistry,
    workspace: Path,
    environ: Mapping[str, str],
    switches: ComponentSwitches,
) -> list[ComponentStatus]:
    """All components, as a chain in this workspace would have them. Plans those that are on, so it blocks."""
    settings = load_settings(config_folder(environ), workspace)
    registry.check((*switches.on, *switches.off), settings)
    found = [
        _status(registry, choice, settings, workspace, environ)
        for choice in registry.choices(settings, switches)
    ]
    found += [
        ComponentStatus(
            name=choice.name,
            state="on" if choice.on else "off",
            reason=choice.reason,
            origin="proxy",
            summary=" ".join((settings.proxies[choice.name].command, *settings.proxies[choice.name].args)),
        )
        for choice in registry.proxy_choices(settings, switches)
    ]
    known = {one.name for one in found}
    found += [
        ComponentStatus(name=name, state="failed", reason="unknown name in the settings", origin="settings")
        for name in settings.components
        if name not in known
    ]
    return found


def _status(
    registry: ComponentRegistry,
    choice: ComponentChoice,
    settings: Settings,
    workspace: Path,
    environ: Mapping[str, str],
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
        component = registry.component(choice, settings.trusted_packages)
        status = msgspec.structs.replace(status, summary=component.summary)
        if choice.on:
            component.plan(
                ComponentContext(
                    workspace=workspace,
                    environ=environ,
                    editor=_EDITOR,
                    agent=acp.AgentCapabilities(),
                    options=choice.options,
                )
            )
    except ComponentUnavailable as error:
        return msgspec.structs.replace(status, state="idle", reason=str(error))
    except PorticoError as error:
        return msgspec.structs.replace(status, state="failed", reason=error.message)
    except Exception as error:  # noqa: BLE001 - top level of a component: what is wrong with it is what is asked
        return msgspec.structs.replace(status, state="failed", reason=f"{type(error).__name__}: {error}")
    return status
