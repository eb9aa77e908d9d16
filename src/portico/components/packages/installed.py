"""Packages that are installed in a workspace: in its virtual environment or its node_modules.

They are read in place and never copied to the cache, which other workspaces share: what is installed here may have
been changed here.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from portico.components.packages.package import PackageName, normalize_python
from portico.components.packages.tree import PackageTree
from portico.components.packages.versions.locked_version import LockedVersion
from portico.components.packages.workspace_reader import WorkspaceReader
from portico.domain import codecs

_ENVIRONMENTS = (".venv", "venv", "env")
_DIST_INFO = re.compile(r"(.+)-([^-]+)\.dist-info")
_MOST_ENTRIES = 500
_LARGEST_RECORD = 16 * 1024 * 1024


class InstalledPackage(msgspec.Struct, frozen=True):
    """A version that is installed, with its files."""

    version: str
    origin: str
    tree: PackageTree


class _Manifest(msgspec.Struct, frozen=True):
    version: str


def installed_versions(
    files: WorkspaceReader, name: PackageName, environ: Mapping[str, str]
) -> Iterator[LockedVersion]:
    """Versions that are installed, each once."""
    for one in installed_packages(files, name, environ):
        yield LockedVersion(version=one.version, origin=one.origin)


def installed_packages(
    files: WorkspaceReader, name: PackageName, environ: Mapping[str, str]
) -> Iterator[InstalledPackage]:
    """Installed packages of this name. Blocks."""
    if name.ecosystem == "npm":
        yield from _node_packages(files, name)
    elif name.ecosystem == "pypi":
        yield from _python_packages(files, name, environ)


def _node_packages(files: WorkspaceReader, name: PackageName) -> Iterator[InstalledPackage]:
    # pnpm has a link there, to a folder that is in the workspace too.
    folder = files.folder_inside(f"node_modules/{name.name}")
    manifest = None if folder is None else WorkspaceReader(folder).read("package.json", limit=1024 * 1024)
    if folder is None or manifest is None:
        return
    try:
        version = codecs.decode_json(manifest, _Manifest).version
    except msgspec.DecodeError:
        return
    tree = PackageTree(root=folder, nested=frozenset({"node_modules"}))
    yield InstalledPackage(version, "node_modules", tree)


def _python_packages(
    files: WorkspaceReader, name: PackageName, environ: Mapping[str, str]
) -> Iterator[InstalledPackage]:
    for origin, folder in _site_packages(files, environ):
        place = WorkspaceReader(folder)
        for entry in place.names(""):
            found = _DIST_INFO.fullmatch(entry)
            if found is None or normalize_python(found[1]) != name.name:
                continue
            owned = _owned_entries(place.read(f"{entry}/RECORD", limit=_LARGEST_RECORD) or "", entry)
            if owned:
                tree = PackageTree(root=place.root, entries=(*owned, entry))
                yield InstalledPackage(found[2], origin, tree)


def _site_packages(files: WorkspaceReader, environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    places = [(name, files.folder_inside(name)) for name in _ENVIRONMENTS]
    if active := environ.get("VIRTUAL_ENV"):
        places.append(("the active virtual environment", Path(active)))
    for name, place in places:
        if place is None:
            continue
        for folder in (*sorted(place.glob("lib/python3*/site-packages")), place / "Lib" / "site-packages"):
            if folder.is_dir() and folder.resolve().is_relative_to(place.resolve()):
                yield name, folder


def _owned_entries(record: str, metadata: str) -> tuple[str, ...]:
    """The parts of a package: the topmost folders that are importable and its own, and single files.

    A folder without an `__init__.py` may be shared with other packages.
    """
    rows = (row[0] for row in csv.reader(record.splitlines()) if row)
    paths = [path for path in rows if _is_own(PurePosixPath(path), metadata)]
    known = set(paths)
    entries: dict[str, None] = {}
    for path in paths:
        above = [str(one) for one in reversed(PurePosixPath(path).parents)][1:]
        top = next((folder for folder in above if f"{folder}/__init__.py" in known), path)
        entries[top] = None
    return tuple(entries)[:_MOST_ENTRIES]


def _is_own(path: PurePosixPath, metadata: str) -> bool:
    return (
        not path.is_absolute()
        and ".." not in path.parts
        and "__pycache__" not in path.parts
        and path.parts[:1] != (metadata,)
        and path.suffix != ".pth"
    )
