"""The packages component."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.components.packages.options import PackagesOptions, read_options
from portico.components.packages.workspace_reader import WorkspaceReader
from portico.conductor.proxy import Proxy

if TYPE_CHECKING:
    from portico.components.packages.research.service import ResearchService

_MANIFESTS = frozenset(
    {
        *(
            "Cargo.toml",
            "Cargo.lock",
            "pyproject.toml",
            "uv.lock",
            "poetry.lock",
            "requirements.txt",
            "setup.py",
        ),
        *("package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock", "go.mod", "pom.xml"),
    }
)


class PackagesComponent(Component):
    """Offers the sources of packages to any agent."""

    name = "packages"
    summary = "sources of the packages that the workspace uses, to search and read"

    def __init__(self) -> None:
        self._research: ResearchService | None = None

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        if next(WorkspaceReader(context.workspace).find(_MANIFESTS), None) is None:
            raise ComponentUnavailable(
                f"{context.workspace} uses no packages: it has no Cargo.toml, pyproject.toml, requirements.txt, "
                "package.json, go.mod or pom.xml."
            )
        from portico.components.packages.proxy import (
            PackageTools,
        )  # Late: not every session has the component.

        options = read_options(context.options)
        return (
            PackageTools(context.environ, lambda: self._shared_research(context.environ, options), options),
        )

    def _shared_research(self, environ: Mapping[str, str], options: PackagesOptions) -> "ResearchService":
        """The research of all chains of this process, with the options of the first."""
        from portico.components.packages.research.service import ResearchService

        if self._research is None:
            self._research = ResearchService(
                environ, seconds=options.research_seconds, most=options.research_at_once
            )
        return self._research
