"""Registry of components: the built-in ones, those of installed packages, and which of them a chain wants.

| where                          | says                                                     |
|--------------------------------|----------------------------------------------------------|
| `--no-component`               | off                                                      |
| `--component`                  | on                                                       |
| the session                    | on or off, as a person chose in a door                   |
| `components` of the settings   | on, off or options; the user's, then a trusted folder's  |
| otherwise                      | as built in; a package's component is off                |
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from portico.chains.entry_points import installed_components, is_trusted, load_installed_component
from portico.components.component import Component
from portico.config.settings import ComponentSetting, Settings
from portico.domain.components import SessionComponents
from portico.domain.errors import InvalidInput


class BuiltInComponent(msgspec.Struct, frozen=True):
    """`make` is called at most once in a process. It imports late, so that a component that is off costs nothing."""

    make: Callable[[], Component]
    on: bool = True
    """Whether the component is on where nothing says otherwise."""
    is_adapter: bool = False
    """Whether it supplies what the editor lacks, and nothing else: it is asked for adapters, and not for proxies."""


def component_class(path: str) -> Callable[[], Component]:
    """Makes a component from a class named as "module:Class", which is imported when it is first needed."""
    module, _, name = path.partition(":")

    def make() -> Component:
        made: Component = getattr(importlib.import_module(module), name)()
        return made

    return make


class ComponentSwitches(msgspec.Struct, frozen=True, kw_only=True):
    """The components that the flags of one command switch on and off, and those that a session does."""

    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    session: SessionComponents = SessionComponents()

    def of(self, session: SessionComponents) -> "ComponentSwitches":
        """The same flags with the choice of one session."""
        return ComponentSwitches(on=self.on, off=self.off, session=session)


class ComponentChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A component that could join a chain, whether it is wanted, and why."""

    name: str
    on: bool
    reason: str
    package: str | None = None
    """The installed package that offers it; None if it is built in."""
    options: Mapping[str, Any] = {}
    is_adapter: bool = False


class ComponentRegistry:
    """All components of a process. Each is made once, when a chain first wants it."""

    def __init__(self, built_in: Mapping[str, BuiltInComponent]) -> None:
        self._built_in = built_in
        self.failures: dict[tuple[Path, str], str] = {}
        """Reason why the last chain of a workspace left a component out."""
        self._made: dict[str, Component] = {}

    def choices(self, settings: Settings, switches: ComponentSwitches) -> list[ComponentChoice]:
        """All components with what the settings of a workspace and the flags make of them. Reads package metadata."""
        found = self._built_in_choices(settings, switches)
        for name, package in sorted(installed_components().items()):
            if name in self._built_in:
                continue
            choice = _choose(name, package, settings.components, switches, on=False)
            if choice.on and not is_trusted(package, settings.trusted_packages):
                reason = f'the package {package} is not in "trustedPackages" of your settings'
                choice = msgspec.structs.replace(choice, on=False, reason=reason)
            found.append(choice)
        return found

    def proxy_choices(self, settings: Settings, switches: ComponentSwitches) -> list[ComponentChoice]:
        """The proxies of the settings, which join as components where they are switched on by name."""
        return [_choose(name, None, settings.components, switches, on=False) for name in settings.proxies]

    def check(self, names: Sequence[str], settings: Settings) -> None:
        """InvalidInput if there is neither a component nor a proxy of the settings of one of these names."""
        known = [*self._built_in, *settings.proxies]
        if all(name in known for name in names):
            return
        known += installed_components()
        for name in names:
            if name not in known:
                raise InvalidInput(
                    f'Unknown component "{name}". Available: {", ".join(known)}.',
                    suggestion="See portico components list.",
                )

    def chosen(self, settings: Settings, switches: ComponentSwitches) -> list[ComponentChoice]:
        """The components that are on."""
        if not settings.components and not switches.on and not switches.session.on:
            # The packages need not be looked at, since theirs are on by name only.
            return [one for one in self._built_in_choices(settings, switches) if one.on]
        return [one for one in self.choices(settings, switches) if one.on]

    def _built_in_choices(self, settings: Settings, switches: ComponentSwitches) -> list[ComponentChoice]:
        return [
            msgspec.structs.replace(
                _choose(name, None, settings.components, switches, on=one.on), is_adapter=one.is_adapter
            )
            for name, one in self._built_in.items()
        ]

    def component(self, choice: ComponentChoice, trusted_packages: Sequence[str]) -> Component:
        """The component of a choice. Imports it, so it blocks. InvalidInput if a package's cannot be made."""
        made = self._made.get(choice.name)
        if made is None:
            if choice.package is None:
                made = self._built_in[choice.name].make()
            else:
                made = load_installed_component(choice.name, trusted_packages)
                if made is None:
                    raise InvalidInput(f"The package {choice.package} no longer offers {choice.name}.")
            made = self._made.setdefault(choice.name, made)
        return made

    def note_failure(self, workspace: Path, name: str, problem: str | None) -> None:
        """Remember why a chain had to leave a component out; None when it works."""
        if problem is None:
            self.failures.pop((workspace, name), None)
        else:
            self.failures[workspace, name] = problem

    async def close(self) -> None:
        while self._made:
            _, component = self._made.popitem()
            await component.close()


def _choose(
    name: str,
    package: str | None,
    settings: Mapping[str, ComponentSetting],
    switches: ComponentSwitches,
    *,
    on: bool,
) -> ComponentChoice:
    setting = settings.get(name)
    reason = "default"
    if name in switches.off:
        on, reason = False, "--no-component"
    elif name in switches.on:
        on, reason = True, "--component"
    elif name in switches.session.off:
        on, reason = False, "this session"
    elif name in switches.session.on:
        on, reason = True, "this session"
    elif setting is not None:
        on, reason = setting is not False, "settings"
    options = setting if isinstance(setting, dict) else {}
    return ComponentChoice(name=name, on=on, reason=reason, package=package, options=options)
