"""Packages in lockfiles of cargo, uv and poetry: TOML with one `[[package]]` table for each."""

import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

from portico.components.packages.package import PackageName, normalize_python
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.workspace_reader import WorkspaceReader

_START = "[[package]]"
_NAME = re.compile(r'^name = "([^"\n]+)"', re.MULTILINE)
_CRATES_IO = ("registry+", "sparse+")


def crates_versions(files: WorkspaceReader, name: PackageName) -> Iterator[LockedVersion]:
    """Versions in the nearest Cargo.lock, the newest first, as cargo sorts them last."""
    wanted = name.name.replace("-", "_")
    for path in files.find({"Cargo.lock"}):
        text = files.read(path) or ""
        found = [
            LockedVersion(version=one["version"], origin=path, checksums=_checksum(one))
            for one in _tables(text, lambda found: found.replace("-", "_") == wanted)
            # Without a source it is a package of the workspace itself.
            if isinstance(one.get("version"), str) and str(one.get("source", "")).startswith(_CRATES_IO)
        ]
        yield from reversed(found)


def _checksum(table: dict[str, Any]) -> tuple[str, ...]:
    checksum = table.get("checksum")
    return (f"sha256:{checksum}",) if isinstance(checksum, str) else ()


def python_lock_versions(files: WorkspaceReader, name: PackageName) -> Iterator[LockedVersion]:
    """Versions in uv.lock, poetry.lock and pdm.lock."""
    for path in files.find({"uv.lock", "poetry.lock", "pdm.lock"}):
        text = files.read(path) or ""
        for one in _tables(text, lambda found: normalize_python(found) == name.name):
            if isinstance(one.get("version"), str):
                yield LockedVersion(version=one["version"], origin=path, checksums=_hashes(one))


def _hashes(table: dict[str, Any]) -> tuple[str, ...]:
    """Hashes of all archives of a version: uv has `sdist` and `wheels`, poetry and pdm have `files`."""
    listed: list[Any] = [table.get("sdist")]
    for key in ("wheels", "files"):
        more = table.get(key)
        listed += more if isinstance(more, list) else []
    hashes = [one.get("hash") for one in listed if isinstance(one, dict)]
    return tuple(one for one in hashes if isinstance(one, str))


def _tables(text: str, is_wanted: Callable[[str], bool]) -> Iterator[dict[str, Any]]:
    """The tables of one package. Only these are parsed: a lockfile may have megabytes of others."""
    for block in f"\n{text}".split(f"\n{_START}\n")[1:]:
        named = _NAME.search(block)
        if named is None or not is_wanted(named[1]):
            continue
        table = re.split(r"^\[(?!\[?package[.\]])", block, maxsplit=1, flags=re.MULTILINE)[0]
        try:
            packages = tomllib.loads(f"{_START}\n{table}").get("package")
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
        if isinstance(packages, list) and packages and isinstance(packages[0], dict):
            yield packages[0]
