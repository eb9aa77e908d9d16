"""crates.io, or what replaces it in cargo's configuration, through cargo.

`cargo info` downloads one crate, verifies it against the index and builds nothing. The crate is then in cargo's cache.
"""

import asyncio
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from portico.components.packages.cache import PackageArchive, check_checksums
from portico.components.packages.errors import PackageNotFound, PackageRefused, RegistryFailed
from portico.components.packages.registries.archive_file import PackageQuery
from portico.components.packages.registries.client_program import ProgramResult, run_client
from portico.files.regular import read_regular

_VERSION = re.compile(r"^version: (\S+)", re.MULTILINE)
_LARGEST_CONFIG = 1024 * 1024
_MOST_REPLACEMENTS = 10


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
        flags = (await asyncio.to_thread(_read_cargo_source, environ)).flags
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
    local = _read_cargo_source(environ).folder
    if local is not None and (crate := local / f"{name}-{version}.crate").is_file():
        yield crate
    found = (_cargo_home(environ) / "registry" / "cache").glob(f"*/{name}-{version}.crate")
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


class _CargoSource(msgspec.Struct, frozen=True):
    """The flags that choose a registry, or the folder of a local one."""

    flags: tuple[str, ...] = ()
    folder: Path | None = None


def _cargo_home(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("CARGO_HOME") or Path(environ.get("HOME") or Path.home()) / ".cargo")


def _read_cargo_source(environ: Mapping[str, str]) -> _CargoSource:
    """The source from which cargo takes the crates of crates.io. Blocks.

    `cargo info` does not follow a replacement by itself: it wants to be told which registry is meant.
    """
    home = _cargo_home(environ)
    config = _read_config(home / "config.toml") or _read_config(home / "config")
    sources, registries = _table(config, "source"), _table(config, "registries")
    name = "crates-io"
    for _ in range(_MOST_REPLACEMENTS):
        following = _table(sources, name).get("replace-with")
        if not isinstance(following, str):
            break
        name = following
    if name == "crates-io":
        return _CargoSource()
    if name in registries:
        return _CargoSource(("--registry", name))
    source = _table(sources, name)
    if isinstance(source.get("registry"), str):
        return _CargoSource(("--index", source["registry"]))
    folder = source.get("local-registry")
    return _CargoSource(folder=home.parent / folder) if isinstance(folder, str) else _CargoSource()


def _read_config(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_regular(path, limit=_LARGEST_CONFIG).decode())
    except (OSError, ValueError):
        return {}


def _table(config: dict[str, Any], name: str) -> dict[str, Any]:
    table = config.get(name)
    return table if isinstance(table, dict) else {}
