"""The version of a package that a workspace uses, from its lockfiles, manifests and installed packages."""

from collections.abc import Iterator, Mapping
from itertools import chain

from portico.components.packages.installed import installed_versions
from portico.components.packages.package import PackageName, is_exact
from portico.components.packages.versions.go_mod import go_versions
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.versions.node_lock import node_lock_versions
from portico.components.packages.versions.pom import pom_versions
from portico.components.packages.versions.requirements import requirements_versions
from portico.components.packages.versions.toml_lock import crates_versions, python_lock_versions
from portico.components.packages.workspace_reader import WorkspaceReader


def workspace_versions(
    files: WorkspaceReader, name: PackageName, environ: Mapping[str, str]
) -> list[LockedVersion]:
    """Versions of a package in a workspace, the one that counts first. Blocks."""
    first: dict[str, LockedVersion] = {}
    for one in _versions(files, name, environ):
        # A lockfile is untrusted: what is no version must not reach a path or a command line.
        if is_exact(name, one.version):
            first.setdefault(one.version, one)
    return list(first.values())


def _versions(
    files: WorkspaceReader, name: PackageName, environ: Mapping[str, str]
) -> Iterator[LockedVersion]:
    match name.ecosystem:
        case "crates":
            return crates_versions(files, name)
        case "go":
            return go_versions(files, name)
        case "maven":
            return pom_versions(files, name)
        case "npm":
            return chain(node_lock_versions(files, name), installed_versions(files, name, environ))
        case "pypi":
            return chain(
                python_lock_versions(files, name),
                requirements_versions(files, name),
                installed_versions(files, name, environ),
            )
