"""The private store behind the checkpoints of one workspace: a bare repository in the state folder.

It has an index of its own, whose stat cache makes the next snapshot cheap, and bytes go in as they are: no
attribute, filter or line ending of the workspace counts. The person's repository is asked which files are
worth keeping, and is never written to. Each snapshot works on a copy of the index, so whoever is killed
leaves no lock behind.
"""

import asyncio
import os
import secrets
import shutil
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.privacy import is_private
from portico.review.git.listing import inside
from portico.review.git.program import Git
from portico.review.git.repositories import find_repository

STAGING_PREFIX = ".portico-restore-"
_MANY_FILES = 500
_FILE_MODES = {"120000", "100644", "100755"}
_SETTINGS = (
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.symlinks=true",
    "core.fileMode=true",
    "core.ignoreCase=false",
    "core.precomposeUnicode=false",
    "core.protectNTFS=false",
    "core.protectHFS=false",
    "core.compression=1",
    "core.looseCompression=1",
    "core.fsync=added",
    "core.fsyncMethod=batch",
    "core.attributesFile=",
)
_ATTRIBUTES = "* -text -ident -filter !working-tree-encoding !eol !diff !merge\n"


class Bounds(msgspec.Struct, frozen=True):
    """How much a snapshot takes up at most. A file that was held before is held on, whatever its size.

    Seconds count for a hurried one alone. Files are taken in `at_once` so many, the first ones in any case.
    """

    file_bytes: int = 50 * 1024 * 1024
    new_bytes: int = 2 * 1024 * 1024 * 1024
    at_once: int = 4000
    listing_seconds: float = 5.0
    taking_seconds: float = 3.0


class LeftOut(msgspec.Struct, frozen=True):
    """A file that is not held, and so never touched by a restore."""

    path: str
    reason: str


class Snapshot(msgspec.Struct, frozen=True):
    tree: str
    left_out: tuple[LeftOut, ...] = ()


class Entry(msgspec.Struct, frozen=True):
    """What one side of a difference has at a path."""

    mode: str
    blob: str

    @property
    def exists(self) -> bool:
        return self.mode in _FILE_MODES


class Difference(msgspec.Struct, frozen=True):
    path: str
    old: Entry
    new: Entry


class _Found(NamedTuple):
    """A new file: its mode and size."""

    mode: int
    size: int


class _Unfinished(Exception):
    """Time is up, and so many files are yet to be taken."""

    def __init__(self, left: int) -> None:
        self.left = left


class Shadow:
    """The store of one workspace, in one folder. Whoever uses it holds the lock of `checkpoints`.

    Nothing in `ours`, where Portico keeps its state, is held: to go back in the work is not to go back in that.
    """

    def __init__(self, workspace: Path, folder: Path, environ: Mapping[str, str], ours: Path) -> None:
        self.workspace = workspace
        self.folder = folder
        self._ours = inside(ours, workspace)
        self._environ = environ
        self._store = folder / "store.git"
        self._index = self._store / "index"
        self.git = Git(workspace, environ, _SETTINGS).having(
            GIT_DIR=str(self._store),
            GIT_WORK_TREE=str(workspace),
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_CONFIG_NOSYSTEM="1",
            GIT_AUTHOR_NAME="Portico",
            GIT_AUTHOR_EMAIL="portico@localhost",
            GIT_COMMITTER_NAME="Portico",
            GIT_COMMITTER_EMAIL="portico@localhost",
        )

    async def prepare(self) -> None:
        """Make the store if it is not there, and sweep what a killed process left in it."""
        if not (self._store / "info" / "attributes").is_file():
            alone = Git(self.folder, self._environ)
            await alone.run("init", "--bare", "--quiet", "--template=", str(self._store))
            (self._store / "info").mkdir(exist_ok=True)
            (self._store / "info" / "attributes").write_text(_ATTRIBUTES)
        for left in (*self._store.glob("index.*"), *self.folder.glob("blobs.*")):
            left.unlink(missing_ok=True)

    async def snapshot(self, bounds: Bounds, *, hurried: bool = False) -> Snapshot:
        """The workspace as a tree in the store. What a hurried one could not finish, the next goes on with."""
        index = self._store / f"index.{secrets.token_hex(4)}"
        if self._index.exists():
            # With its time: git mistrusts its cache for files that are no older than the index.
            shutil.copy2(self._index, index)
        git = self.git.having(GIT_INDEX_FILE=str(index))
        try:
            left_out = await self._gather(git, bounds, hurried=hurried)
            tree = (await git.run("write-tree")).text
            if index.exists():
                index.replace(self._index)
        except _Unfinished as error:
            index.replace(self._index)
            raise InvalidInput(
                f"{error.left} files of {self.workspace} are yet to be kept for the first time.",
                suggestion="The next turn goes on with it. Have git ignore what is generated, and there is less to keep.",
            ) from error
        finally:
            index.unlink(missing_ok=True)
        return Snapshot(tree, left_out)

    async def _gather(self, git: Git, bounds: Bounds, *, hurried: bool) -> tuple[LeftOut, ...]:
        try:
            async with asyncio.timeout(bounds.listing_seconds if hurried else None):
                touched, held, listed = await asyncio.gather(
                    self._touched(git), self._held(git), self._listed(git, self.workspace)
                )
                changed, gone = touched
                found = await self._unheld(git, listed, "", held)
                new, left_out = await asyncio.to_thread(
                    _choose, self.workspace, found, bounds, without=self._ours
                )
        except TimeoutError as error:
            raise InvalidInput(
                f"{self.workspace} has too many files to look through within {bounds.listing_seconds:g} s.",
                suggestion="Open a smaller folder, or have git ignore what is generated.",
            ) from error
        if gone:
            await git.run("update-index", "-z", "--force-remove", "--stdin", given=_given(gone))
        await self._take(git, changed + new, bounds, hurried=hurried)
        return left_out

    async def _touched(self, git: Git) -> tuple[list[str], list[str]]:
        """Held files that have changed, and those that are gone."""
        touched = (await git.run("diff-files", "-z", "--name-status", "--no-renames")).names
        states = dict(zip(touched[1::2], touched[::2], strict=True))
        changed = [path for path, state in states.items() if state != "D" and _is_file(self.workspace, path)]
        return changed, list(states.keys() - set(changed))

    async def _take(self, git: Git, paths: list[str], bounds: Bounds, *, hurried: bool) -> None:
        deadline = time.monotonic() + bounds.taking_seconds
        for start in range(0, len(paths), bounds.at_once):
            if hurried and start and time.monotonic() >= deadline:
                raise _Unfinished(len(paths) - start)
            taken = paths[start : start + bounds.at_once]
            # Many new blobs go into one pack, which is much faster than a file for each. Not synced in batches
            # then: an empty file is no blob for a pack, and git loses the pack where it writes both kinds so.
            packed = ("core.bigFileThreshold=1", "core.fsyncMethod=fsync")
            taking = git.having(*packed) if len(taken) > _MANY_FILES else git
            words = ("update-index", "-z", "--add", "--replace", "--remove", "--stdin")
            await taking.run(*words, given=_given(taken))

    async def _held(self, git: Git) -> set[str]:
        return set((await git.run("ls-files", "-z", "--cached")).names)

    async def _listed(self, git: Git, folder: Path) -> list[str]:
        """Every file that is not ignored: as its repository sees it, or as we do."""
        repository = await find_repository(folder, self._environ)
        asked = git if repository is None else repository.git.at(folder)
        return (await asked.run("ls-files", "-z", "--others", "--cached", "--exclude-standard")).names

    async def _unheld(self, git: Git, listed: list[str], prefix: str, held: set[str]) -> dict[str, _Found]:
        """The new ones among these files, with those of repositories inside."""
        names = [prefix + name for name in listed]
        files, inner = await asyncio.to_thread(_parted, self.workspace, names, held)
        for path in inner:
            listed = await self._listed(git, self.workspace / path)
            files |= await self._unheld(git, listed, f"{path}/", held)
        return files

    async def tidy(self) -> None:
        """Give room back, once enough has come together."""
        collecting = self.git.having(
            "gc.auto=2000", "gc.autoPackLimit=40", "gc.autoDetach=false", "gc.pruneExpire=now"
        )
        await collecting.run("gc", "--auto", "--quiet")

    async def differences(self, old: str, new: str) -> tuple[Difference, ...]:
        """What has to change to get from one tree to another."""
        answer = await self.git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
        fields = answer.names
        found = []
        for facts, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, new_mode, old_blob, new_blob, _ = facts.lstrip(":").split(" ")
            found.append(Difference(path, Entry(old_mode, old_blob), Entry(new_mode, new_blob)))
        return tuple(found)


def _parted(workspace: Path, paths: list[str], held: set[str]) -> tuple[dict[str, _Found], set[str]]:
    """The files among these that are not held, and the folders that are repositories of their own."""
    root = str(workspace)
    files: dict[str, _Found] = {}
    inner: set[str] = set()
    for path in paths:
        if path in held:
            continue
        name = path.rstrip("/")
        try:
            facts = os.lstat(f"{root}/{name}")
        except OSError:
            continue  # Gone since it was listed, or listed and never there.
        if not stat.S_ISDIR(facts.st_mode):
            files[name] = _Found(facts.st_mode, facts.st_size)
        elif (workspace / name / ".git").exists():
            inner.add(name)
    return files, inner


def _is_file(workspace: Path, path: str) -> bool:
    try:
        mode = os.lstat(f"{workspace}/{path}").st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _choose(
    workspace: Path, files: Mapping[str, _Found], bounds: Bounds, *, without: str | None
) -> tuple[list[str], tuple[LeftOut, ...]]:
    """Which new files are held: the small ones first, none of secrets, none that cannot be read."""
    sizes: list[tuple[int, str]] = []
    left_out: list[LeftOut] = []
    for path, found in files.items():
        parts = path.split("/")
        if parts[0].startswith(STAGING_PREFIX) or any(part.casefold() == ".git" for part in parts):
            continue
        if without is not None and path.startswith(f"{without}/"):
            continue
        if not (stat.S_ISREG(found.mode) or stat.S_ISLNK(found.mode)):
            continue
        if is_private(parts):
            left_out.append(LeftOut(path, "may hold secrets"))
        elif found.size > bounds.file_bytes:
            left_out.append(LeftOut(path, f"larger than {bounds.file_bytes >> 20} MB"))
        elif not _readable(workspace, path, found.mode):
            left_out.append(LeftOut(path, "cannot be read"))
        else:
            sizes.append((found.size, path))
    taken: list[str] = []
    total = 0
    for size, path in sorted(sizes):
        total += size
        if total <= bounds.new_bytes:
            taken.append(path)
        else:
            left_out.append(LeftOut(path, f"beyond {bounds.new_bytes >> 20} MB in all"))
    return taken, tuple(sorted(left_out, key=lambda each: each.path))


def _readable(workspace: Path, path: str, mode: int) -> bool:
    open_to_all = stat.S_IROTH | stat.S_IRGRP | stat.S_IRUSR
    if not stat.S_ISREG(mode) or mode & open_to_all == open_to_all:
        return True  # As nearly all are, so the system is asked only about the others.
    return os.access(f"{workspace}/{path}", os.R_OK)


def _given(paths: list[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
