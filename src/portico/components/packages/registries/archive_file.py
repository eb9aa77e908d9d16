"""The archive of one exact version, as a registry delivers it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from portico.components.packages.cache import PackageArchive
from portico.components.packages.package import PackageName


class PackageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A version or a range to fetch; an empty one means the latest. `checksums` are those of the lockfile."""

    name: PackageName
    version: str = ""
    checksums: tuple[str, ...] = ()
    origin: str = ""
    """The file that the checksums are from."""


class Registry(Protocol):
    """A registry as its own client is configured."""

    def find_local(self, query: PackageQuery, environ: Mapping[str, str]) -> PackageArchive | None:
        """The archive of an exact version, if the client has it in its cache. Blocks."""
        ...

    async def fetch(self, query: PackageQuery, folder: Path, environ: Mapping[str, str]) -> PackageArchive:
        """Download an archive into a folder. PackageNotFound, PackageRefused or RegistryFailed."""
        ...
