"""Finds the sources of a package: the version that the workspace uses, from the nearest place that has it.

Asked in this order: what is installed in the workspace, the cache, the cache of the ecosystem's client, the registry.
"""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.components.packages.cache import CachedPackage, PackageArchive, PackageCache
from portico.components.packages.errors import RegistryFailed
from portico.components.packages.installed import installed_packages
from portico.components.packages.package import Ecosystem, PackageName, check_version, is_exact
from portico.components.packages.registries.archive_file import PackageQuery, Registry
from portico.components.packages.registries.crates import CratesRegistry
from portico.components.packages.registries.go_proxy import GoRegistry
from portico.components.packages.registries.maven import MavenRegistry
from portico.components.packages.registries.npm import NpmRegistry
from portico.components.packages.registries.pypi import PypiRegistry
from portico.components.packages.shared_tasks import SharedTasks
from portico.components.packages.tree import PackageTree
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.versions.workspace_versions import workspace_versions
from portico.components.packages.workspace_reader import WorkspaceReader
from portico.files.deadline import within_deadline

_UNLOCKED = LockedVersion(version="", origin="")


class PackageSource(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one version of a package, with where each of these facts is from."""

    name: PackageName
    version: str
    version_origin: str
    source: str
    tree: PackageTree
    verified: str = ""
    notes: tuple[str, ...] = ()


class PackageLibrary:
    """The packages of one workspace, and of one user's cache and registries."""

    def __init__(
        self,
        workspace: Path,
        environ: Mapping[str, str],
        cache: PackageCache | None = None,
        *,
        offline: bool = False,
    ) -> None:
        """With `offline`, no registry is asked."""
        self._workspace = workspace
        self._environ = environ
        self._offline = offline
        self.cache = cache or PackageCache(environ)
        self._registries: dict[Ecosystem, Registry] = {
            "crates": CratesRegistry(),
            "pypi": PypiRegistry(),
            "npm": NpmRegistry(),
            "go": GoRegistry(),
            "maven": MavenRegistry(),
        }
        self._fetches: SharedTasks[PackageSource] = SharedTasks()

    async def source(self, name: PackageName, version: str = "") -> PackageSource:
        """The sources of a version, or of the one that the workspace uses, or of the latest."""
        wanted = check_version(version) if version else ""
        files = WorkspaceReader(self._workspace)
        locked = await within_deadline(lambda: workspace_versions(files, name, self._environ))
        chosen, origin = _choose(locked, wanted)
        module = PackageName.parse(name.ecosystem, chosen.module) if chosen.module else name
        query = PackageQuery(
            name=module, version=chosen.version or wanted, checksums=chosen.checksums, origin=chosen.origin
        )
        found = await within_deadline(lambda: self._find_installed(files, query))
        found = found or await asyncio.to_thread(self._find_cached, query)
        found = found or await self._fetch_once(query)
        return msgspec.structs.replace(
            found,
            version_origin=origin or found.version_origin,
            notes=(*_notes(name, locked, chosen, wanted), *found.notes),
        )

    def _find_installed(self, files: WorkspaceReader, query: PackageQuery) -> PackageSource | None:
        """The package as the workspace has it installed. Blocks."""
        for one in installed_packages(files, query.name, self._environ) if query.version else ():
            if one.version == query.version:
                return PackageSource(
                    name=query.name,
                    version=one.version,
                    version_origin=one.origin,
                    source=f"as installed in {one.origin}",
                    tree=one.tree,
                )
        return None

    def _find_cached(self, query: PackageQuery) -> PackageSource | None:
        """The package from our cache, or unpacked from the client's. Blocks."""
        if not query.version or not is_exact(query.name, query.version):
            return None
        for record in self.cache.find(query.name, query.version):
            if _fits(record, query):
                return self._cached(record)
        local = self._registries[query.name.ecosystem].find_local(query, self._environ)
        return None if local is None else self._cached(self.cache.add(local))

    async def _fetch_once(self, query: PackageQuery) -> PackageSource:
        """Fetch a package; two who ask for the same one at once wait for one download."""
        return await self._fetches.run(query, lambda: self._fetch(query), f"fetch of {query.name}")

    async def _fetch(self, query: PackageQuery) -> PackageSource:
        folder = await asyncio.to_thread(self.cache.unfinished_folder)
        try:
            if self._offline:
                raise RegistryFailed(
                    f"{query.name} {query.version}".rstrip()
                    + " is not on this machine, and no registry is asked.",
                    suggestion='The settings of the component have "offline". Continue without this package.',
                )
            archive = await self._registries[query.name.ecosystem].fetch(query, folder, self._environ)
            return await asyncio.to_thread(self._add, archive)
        except RegistryFailed as error:
            kept = await asyncio.to_thread(self.cache.versions, query.name)
            if query.version or not kept:
                raise
            note = f"The registry was not reached ({error.message}), so this is the version last used from the cache."
            return msgspec.structs.replace(self._cached(kept[0]), version_origin="the cache", notes=(note,))
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _add(self, archive: PackageArchive) -> PackageSource:
        return self._cached(self.cache.add(archive))

    def _cached(self, record: CachedPackage) -> PackageSource:
        notes = []
        if record.yanked:
            notes.append(f"This version was yanked: {record.yanked}")
        if record.links:
            notes.append(f"{record.links} links in the archive were left out.")
        return PackageSource(
            name=PackageName(record.ecosystem, record.name),
            version=record.version,
            version_origin="the latest",
            source=record.source,
            tree=self.cache.tree(record),
            verified=record.verified,
            notes=tuple(notes),
        )


def _choose(locked: list[LockedVersion], wanted: str) -> tuple[LockedVersion, str]:
    """The workspace's version unless another was asked for, and where the version is from."""
    if not wanted:
        return (locked[0], f"from {locked[0].origin}") if locked else (_UNLOCKED, "")
    same = next((one for one in locked if one.version == wanted), None)
    if same is not None:
        return same, f"as asked, and in {same.origin}"
    module = locked[0].module if locked else ""
    return msgspec.structs.replace(_UNLOCKED, module=module), "as asked"


def _notes(name: PackageName, locked: list[LockedVersion], chosen: LockedVersion, wanted: str) -> list[str]:
    notes = []
    if chosen.module:
        notes.append(f"{name} is a package of the module {chosen.module}.")
    if wanted and locked and chosen.version == "":
        notes.append(f"The workspace uses {locked[0].version}, from {locked[0].origin}.")
    others = [one.version for one in locked[1:] if one.version != chosen.version]
    if others and not wanted:
        notes.append(f"The workspace uses other versions too: {', '.join(others[:5])}.")
    return notes


def _fits(record: CachedPackage, query: PackageQuery) -> bool:
    """Whether a cached package is the one of the lockfile, as far as both know a checksum of the same kind."""
    kinds = {one[:6] for one in record.checksums}
    wanted = {one for one in query.checksums if one[:6] in kinds}
    # A lockfile of Python has checksums of all archives of a version, which differ in their kind of archive.
    return not wanted or bool(wanted & set(record.checksums))
