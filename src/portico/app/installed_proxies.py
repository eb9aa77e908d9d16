"""Proxies of installed packages: entry points of the group `portico.proxies`, for packages that the user trusts."""

from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint, entry_points

from portico.conductor.proxy import Proxy
from portico.domain.errors import InvalidInput

GROUP = "portico.proxies"


def load_installed_proxy(name: str, trusted_packages: Sequence[str]) -> Proxy | None:
    """Make the proxy that an installed package offers under `name`; None if there is none.

    Nothing of a package is imported before its name was found in `trusted_packages`.
    """
    found = [point for point in entry_points(group=GROUP) if point.name == name]
    if not found:
        return None
    trusted = {_normalized(package) for package in trusted_packages}
    for point in found:
        if _normalized(_package(point)) in trusted:
            return _make(point)
    packages = ", ".join(sorted({_package(point) for point in found}))
    raise InvalidInput(
        f"The proxy {name!r} belongs to the package {packages}, which is not trusted to run inside Portico.",
        suggestion=f'If you trust it, add it to "trustedPackages" in your settings: ["{packages}"].',
    )


def _make(point: EntryPoint) -> Proxy:
    try:
        factory: Callable[[], object] = point.load()
        proxy = factory()
    except Exception as error:
        raise InvalidInput(
            f"The proxy {point.name!r} of the package {_package(point)} failed to start: "
            f"{type(error).__name__}: {error}",
            suggestion="Update the package, or leave the proxy out.",
        ) from error
    if not isinstance(proxy, Proxy):
        raise InvalidInput(
            f"The entry point {point.name!r} of the package {_package(point)} is not a portico.proxy.Proxy.",
            suggestion="Leave the proxy out, and tell the author of the package.",
        )
    return proxy


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "unknown"


def _normalized(package: str) -> str:
    return package.lower().replace("_", "-").replace(".", "-")
