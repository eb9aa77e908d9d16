"""The packages component."""

from collections.abc import Sequence

from portico.components.component import Component, ComponentContext
from portico.conductor.proxy import Proxy


class PackagesComponent(Component):
    """Offers the sources of packages to any agent."""

    name = "packages"
    summary = "sources of the packages that the workspace uses, to search and read"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        # Late: only sessions with the component need the readers of lockfiles and archives.
        from portico.components.packages.proxy import PackageTools

        return (PackageTools(context.environ),)
