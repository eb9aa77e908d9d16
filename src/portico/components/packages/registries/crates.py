"""crates.io, or what replaces it in cargo's configuration, through cargo.

`cargo info` downloads one crate, verifies it against the index and builds nothing. The crate is then in cargo's cache.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from portico.components.packages.cache import PackageArchive, check_checksums
from portico.components.packages.errors import PackageNotFound, PackageRefused, RegistryFailed
from portico.components.packages.registries.archive_file import PackageQuery
from portico.components.packages.registries.cargo_source import cargo_home, read_cargo_source
from portico.components.packages.registries.client_program import ProgramResult, run_client

_VERSION = re.compile(r"^version: (\S+)", re.MULTILINE)


class CratesRegistry:
    def find_local(self, query: PackageQuery, environ: Mapping[str, str]) -> PackageArchive | None:
        for path in _cached_crates(query.name.name, query.version, environ):
            try:
                verified = check_checksums(path, query.checksums, query.origin)
            except PackageRefused:
                continue  # The same version from another registry.
            return _archive(query, query.version, path, verified or "by cargo", "cargo's cache")
        return None

    async def fetch(self, query: PackageQuery, folder: Path, environ: Mapping[str, str]) -> PackageArchive:
        spec = f"{query.name.name}@{query.version}" if query.version else query.name.name
        flags = (await asyncio.to_thread(read_cargo_source, environ)).flags
        command = ("cargo", "info", "--quiet", "--color=never", *flags, spec)
        result = await run_client(command, folder, environ)
        version = _VERSION.search(result.output)
        if result.exit_code != 0 or version is None:
            raise _failure(query, result)
        for path in _cached_crates(query.name.name, version[1], environ):
            verified = check_checksums(path, query.checksums, query.origin) or "by cargo"
            return _archive(query, version[1], path, verified, "the registry, with cargo")
        raise RegistryFailed(f"cargo downloaded {spec}, but it is not in cargo's cache.")


def _archive(query: PackageQuery, version: str, path: Path, verified: str, source: str) -> PackageArchive:
    return PackageArchive(
        name=query.name, version=version, path=path, source=source, folder_depth=1, verified=verified
    )


def _cached_crates(name: str, version: str, environ: Mapping[str, str]) -> Iterator[Path]:
    local = read_cargo_source(environ).folder
    if local is not None and (crate := local / f"{name}-{version}.crate").is_file():
        yield crate
    found = (cargo_home(environ) / "registry" / "cache").glob(f"*/{name}-{version}.crate")
    # The newest first: it is the one that cargo has just downloaded.
    yield from sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)


def _failure(query: PackageQuery, result: ProgramResult) -> Exception:
    asked = f"{query.name} {query.version}".strip()
    if "could not find" in result.errors or "no matching package" in result.errors:
        return PackageNotFound(
            f"There is no crate {asked} in the registry that cargo uses, or it was yanked.",
            suggestion="Check the name, or leave out the version.",
        )
    return RegistryFailed(f"cargo could not download {asked}: {result.last_line()}")
