"""Proxies and components of installed packages: entry points of packages that the user trusts.

Nothing of a package is imported before its name was found among the trusted ones.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from portico.components.component import Component
from portico.conductor.proxy import Proxy
from portico.domain.errors import InvalidInput

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PROXY_GROUP = "portico.proxies"
COMPONENT_GROUP = "portico.components"

_PUBLIC_NAMES: dict[type, str] = {
    Proxy: "portico.proxy.Proxy",
    Component: "portico.components.component.Component",
}

_Made = TypeVar("_Made", Proxy, Component)


def load_installed_proxy(name: str, trusted_packages: Sequence[str]) -> Proxy | None:
    """Make the proxy that an installed package offers under `name`; None if there is none."""
    return _load(PROXY_GROUP, name, trusted_packages, Proxy)


def load_installed_component(name: str, trusted_packages: Sequence[str]) -> Component | None:
    """Make the component that an installed package offers under `name`; None if there is none."""
    return _load(COMPONENT_GROUP, name, trusted_packages, Component)  # type: ignore[type-abstract]


def installed_components() -> dict[str, str]:
    """The components that installed packages offer, trusted or not: name to package."""
    return {point.name: _package(point) for point in _entry_points(COMPONENT_GROUP)}


def is_trusted(package: str, trusted_packages: Sequence[str]) -> bool:
    return _normalized(package) in set(map(_normalized, trusted_packages))


def _entry_points(group: str) -> "Iterable[EntryPoint]":
    # Late: its import takes longer than all of a small chain's.
    from importlib.metadata import entry_points

    return entry_points(group=group)


def _load(group: str, name: str, trusted_packages: Sequence[str], kind: type[_Made]) -> _Made | None:
    found = [point for point in _entry_points(group) if point.name == name]
    if not found:
        return None
    for point in found:
        if is_trusted(_package(point), trusted_packages):
            return _make(point, kind)
    packages = ", ".join(sorted({_package(point) for point in found}))
    raise InvalidInput(
        f"The {kind.__name__.lower()} {name!r} belongs to the package {packages}, which is not trusted to run "
        "inside Portico.",
        suggestion=f'If you trust it, add it to "trustedPackages" in your settings: ["{packages}"].',
    )


def _make(point: "EntryPoint", kind: type[_Made]) -> _Made:
    what = kind.__name__.lower()
    try:
        factory: Callable[[], object] = point.load()
        made = factory()
    except Exception as error:
        raise InvalidInput(
            f"The {what} {point.name!r} of the package {_package(point)} failed to start: "
            f"{type(error).__name__}: {error}",
            suggestion=f"Update the package, or leave the {what} out.",
        ) from error
    if not isinstance(made, kind):
        raise InvalidInput(
            f"The entry point {point.name!r} of the package {_package(point)} is not a {_PUBLIC_NAMES[kind]}.",
            suggestion=f"Leave the {what} out, and tell the author of the package.",
        )
    return made


def _package(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else "unknown"


def _normalized(package: str) -> str:
    return package.lower().replace("_", "-").replace(".", "-")
