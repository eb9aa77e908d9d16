"""Cache of unpacked packages, shared by all workspaces and processes of a user.

A package is unpacked beside the others and gets its name when it is whole, so an interrupted fetch leaves nothing
behind that could be read, and of two processes that fetch the same package one comes first. Its folder is named by
the fingerprint of its archive: the same version from another registry is another package.
"""

import base64
import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import msgspec

from portico.components.packages.archives.member import UnpackLimits
from portico.components.packages.archives.unpack import DEFAULT_LIMITS, unpack
from portico.components.packages.errors import PackageRefused
from portico.components.packages.package import Ecosystem, PackageName, is_exact
from portico.components.packages.tree import PackageTree
from portico.config.paths import cache_folder
from portico.domain import codecs
from portico.files.failures import file_failure
from portico.files.private import make_private_folder, replace_private
from portico.files.regular import read_regular

DEFAULT_CACHE_BYTES = 2 * 1024**3
_RECORD, _TREE, _UNFINISHED = "record.json", "tree", ".unfinished"
_DEPTH = 4  # ecosystem, name, version, fingerprint
_STALE_SECONDS = 24 * 3600
_IN_USE_SECONDS = 3600
_CHUNK = 1024 * 1024


class CachedPackage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The record of a package in the cache. `checksums` are those of its archive."""

    ecosystem: Ecosystem
    name: str
    version: str
    source: str
    checksums: tuple[str, ...]
    root: str
    files: int
    size: int
    links: int = 0
    verified: str = ""
    yanked: str = ""


class PackageArchive(msgspec.Struct, frozen=True, kw_only=True):
    """A downloaded archive of a package, and what it was checked against."""

    name: PackageName
    version: str
    path: Path
    source: str
    folder_depth: int = 0
    """The number of folders that the archive wraps around the package."""
    verified: str = ""
    yanked: str = ""


class PackageCache:
    """All methods block."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        most_bytes: int = DEFAULT_CACHE_BYTES,
        limits: UnpackLimits = DEFAULT_LIMITS,
    ) -> None:
        self.folder = cache_folder(environ) / "packages"
        self._most_bytes = most_bytes
        self.limits = limits

    def find(self, name: PackageName, version: str) -> list[CachedPackage]:
        """Packages of this version, the last used first."""
        return [record for record, _ in self._records(self._folder_of(name) / quote(version, safe="+"))]

    def versions(self, name: PackageName) -> list[CachedPackage]:
        """Packages of any version, the last used first."""
        return [record for record, _ in self._records(self._folder_of(name))]

    def list(self) -> list[CachedPackage]:
        """All packages, the last used first."""
        return [record for record, _ in self._records(self.folder)]

    def tree(self, record: CachedPackage) -> PackageTree:
        """The files of a package, which counts as used now."""
        place = self.place(record)
        with suppress(OSError):
            os.utime(place / _RECORD)
        return PackageTree(root=Path(os.path.realpath(place / _TREE / record.root)))

    def place(self, record: CachedPackage) -> Path:
        """The folder of a package."""
        folder = self._folder_of(PackageName(record.ecosystem, record.name)) / quote(record.version, safe="+")
        return folder / fingerprint(record.checksums)

    def unfinished_folder(self) -> Path:
        """A new folder for a download, removed by its owner, or after a day."""
        parent = self.folder / _UNFINISHED
        try:
            make_private_folder(parent)
            self._remove_stale(parent)
            place = parent / f"{os.getpid()}-{os.urandom(8).hex()}"
            place.mkdir(mode=0o700)
        except OSError as error:
            raise file_failure(error, parent) from error
        return place

    def add(self, archive: PackageArchive) -> CachedPackage:
        """Unpack an archive and keep it. PackageRefused if it is unsafe."""
        if not is_exact(archive.name, archive.version):
            raise PackageRefused(f"The registry calls the package's version {archive.version[:80]!r}.")
        place = self.unfinished_folder()
        try:
            tree = place / _TREE
            tree.mkdir(mode=0o700)
            unpacked = unpack(archive.path, tree, self.limits)
            record = CachedPackage(
                ecosystem=archive.name.ecosystem,
                name=archive.name.name,
                version=archive.version,
                source=archive.source,
                checksums=checksums_of(archive.path),
                root=_inner_folder(tree, archive.folder_depth),
                files=unpacked.files,
                size=unpacked.size,
                links=unpacked.links,
                verified=archive.verified,
                yanked=archive.yanked,
            )
            replace_private(place / _RECORD, msgspec.json.encode(record))
            self._keep(place, self.place(record))
        except OSError as error:
            raise file_failure(error, place) from error
        finally:
            shutil.rmtree(place, ignore_errors=True)
        self.trim()
        return record

    def remove(self, record: CachedPackage) -> None:
        """Remove a package: at once for others, who may be reading it, and then its files."""
        place = self.unfinished_folder()
        with suppress(OSError):
            self.place(record).rename(place / "removed")
        shutil.rmtree(place, ignore_errors=True)

    def trim(self) -> None:
        """Remove packages that were not used lately, until the rest fits the size limit."""
        total = 0
        for record, used in self._records(self.folder):
            total += record.size
            if total > self._most_bytes and time.time() - used > _IN_USE_SECONDS:
                self.remove(record)
                total -= record.size

    def clean(self) -> None:
        """Remove everything, unfinished downloads too."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _keep(self, place: Path, target: Path) -> None:
        make_private_folder(target.parent)
        try:
            place.rename(target)
        except OSError:
            if not (target / _RECORD).exists():
                raise
            # Another process kept the same archive just now.

    def _records(self, folder: Path) -> Iterator[tuple[CachedPackage, float]]:
        """Records below a folder with the time of their last use, the last used first."""
        found = []
        for place in _folders_below(folder, _DEPTH - len(folder.relative_to(self.folder).parts)):
            path = place / _RECORD
            with suppress(OSError, msgspec.DecodeError):  # Another process may remove it just now.
                record = codecs.decode_json(read_regular(path, limit=_CHUNK), CachedPackage)
                found.append((record, path.stat().st_mtime))
        return iter(sorted(found, key=lambda one: one[1], reverse=True))

    def _folder_of(self, name: PackageName) -> Path:
        return self.folder / name.ecosystem / quote(name.name, safe="@")

    def _remove_stale(self, parent: Path) -> None:
        for one in parent.iterdir():
            with suppress(OSError):
                if time.time() - one.stat().st_mtime > _STALE_SECONDS:
                    shutil.rmtree(one, ignore_errors=True)


def _folders_below(folder: Path, depth: int) -> Iterator[Path]:
    """Folders at a depth, without hidden ones. One that goes away meanwhile is left out."""
    if depth == 0:
        yield folder
        return
    try:
        inner = [one for one in folder.iterdir() if not one.name.startswith(".")]
    except OSError:
        return
    for one in inner:
        yield from _folders_below(one, depth - 1)


def fingerprint(checksums: tuple[str, ...]) -> str:
    """A short name of an archive."""
    return checksums[0].removeprefix("sha256:")[:16]


def checksums_of(path: Path) -> tuple[str, ...]:
    """Checksums of a file in the notations of lockfiles: `sha256:…`, and `sha512-…` as npm writes it."""
    sha256, sha512 = hashlib.sha256(), hashlib.sha512()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            sha256.update(data)
            sha512.update(data)
    return f"sha256:{sha256.hexdigest()}", f"sha512-{base64.b64encode(sha512.digest()).decode()}"


def check_checksums(path: Path, wanted: tuple[str, ...], origin: str) -> str:
    """Verify the archive, and say how; nothing if no checksum is known. PackageRefused if none of them fits."""
    known = [one for one in wanted if one.startswith(("sha256:", "sha512-"))]
    if not known:
        return ""
    found = checksums_of(path)
    if not set(known) & set(found):
        raise PackageRefused(
            f"The archive is not the one that {origin} names: its checksum is {found[0]}.",
            suggestion="Nothing of it was kept. Tell the person: the registry, the mirror or the lockfile is wrong.",
        )
    return f"{known[0][:6]} of {origin}"


def _inner_folder(tree: Path, depth: int) -> str:
    """The folder of the package itself, below those that the archive wraps around it."""
    inner = tree
    for _ in range(depth):
        entries = list(inner.iterdir())
        if len(entries) != 1 or not entries[0].is_dir():
            break
        inner = entries[0]
    return str(inner.relative_to(tree))
