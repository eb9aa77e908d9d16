"""Packages in lockfiles of npm, pnpm and yarn."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from portico.components.packages.package import PackageName
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.workspace_reader import WorkspaceReader
from portico.domain import codecs

_VERSION = re.compile(r"\d+\.\d+\.\d+[A-Za-z0-9.+-]*")
_INTEGRITY = re.compile(r"integrity:? \"?(sha512-[A-Za-z0-9+/=]+)")
_YARN_VERSION = re.compile(r'^  version:? "?([^"\s]+)"?', re.MULTILINE)


def node_lock_versions(files: WorkspaceReader, name: PackageName) -> Iterator[LockedVersion]:
    """Versions in the lockfiles nearest to the root; a direct dependency comes before the dependencies of others."""
    readers = {
        "package-lock.json": _npm,
        "npm-shrinkwrap.json": _npm,
        "pnpm-lock.yaml": _pnpm,
        "yarn.lock": _yarn,
    }
    for path in files.find(readers):
        text = files.read(path) or ""
        for version, integrity in readers[path.rpartition("/")[2]](text, name.name):
            yield LockedVersion(
                version=version,
                origin=path,
                checksums=(integrity,) if integrity.startswith("sha512-") else (),
            )


def _npm(text: str, name: str) -> Iterator[tuple[str, str]]:
    try:
        lock = codecs.decode_json(text)
    except msgspec.DecodeError:
        return
    if not isinstance(lock, dict):
        return
    packages = lock.get("packages")
    if isinstance(packages, dict):
        found = [
            (path, one)
            for path, one in packages.items()
            if path.endswith(f"node_modules/{name}") and isinstance(one, dict) and "link" not in one
        ]
        entries: list[Any] = [
            one for _, one in sorted(found, key=lambda item: item[0].count("node_modules/"))
        ]
    else:
        dependencies = lock.get("dependencies")
        entries = [dependencies.get(name)] if isinstance(dependencies, dict) else []
    yield from map(_npm_entry, filter(_is_npm_entry, entries))


def _is_npm_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and _VERSION.fullmatch(str(entry.get("version"))) is not None


def _npm_entry(entry: dict[str, Any]) -> tuple[str, str]:
    return str(entry["version"]), str(entry.get("integrity", ""))


def _pnpm(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Direct dependencies are in `importers`, archives in `packages`; the file is written by pnpm, line by line."""
    quoted = re.escape(name)
    keys = re.compile(rf"^  ['\"]?/?{quoted}[@/](\d[^\s(_'\":]*)[^\n]*:\n((?:    [^\n]*\n)*)", re.MULTILINE)
    archives = {found[1]: found[2] for found in keys.finditer(text)}
    direct = re.search(
        rf"^ +['\"]?{quoted}['\"]?:(?:\n +specifier: [^\n]*\n +version:)? +['\"]?(\d[^\s(_'\"]*)",
        text,
        re.MULTILINE,
    )
    first = [direct[1]] if direct is not None and direct[1] in archives else []
    for version in dict.fromkeys([*first, *reversed(archives)]):
        integrity = _INTEGRITY.search(archives[version])
        yield version, "" if integrity is None else integrity[1]


def _yarn(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Entries of classic yarn and of berry: a line with all ranges, then indented lines."""
    for entry in re.split(r"\n(?=\S)", text):
        ranges, _, body = entry.partition("\n")
        named = [one.strip(' "') for one in ranges.rstrip(":").strip('"').split(",")]
        if not any(one.startswith(f"{name}@") for one in named):
            continue
        version = _YARN_VERSION.search(body)
        integrity = _INTEGRITY.search(body)
        if version is not None and _VERSION.fullmatch(version[1]):
            yield version[1], "" if integrity is None else integrity[1]
