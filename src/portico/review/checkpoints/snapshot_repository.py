"""Snapshot repository of one workspace: a private bare git repository in the state folder.

It has an index of its own, whose stat cache makes the next snapshot cheap, and bytes go in as they are: no
attribute, filter or line ending of the workspace counts. The person's repository is asked which files are
worth keeping, and is never written to. Each snapshot works on a copy of the index, so whoever is killed
leaves no lock behind.
"""

import asyncio
import math
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
from portico.domain.secret_files import is_private
from portico.files.private import copy_private, make_private_folder, write_private
from portico.review.checkpoints import permissions
from portico.review.checkpoints.permissions import FilePermissions
from portico.review.files.worker_thread import run_to_end
from portico.review.git.file_lister import inside
from portico.review.git.index_update import add_to_index
from portico.review.git.program import Git
from portico.review.git.repository import find_repository

STAGING_PREFIX = ".portico-restore-"
_GAVE_UP = "gave-up"
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
_ROOM = {"MALLOC_TOP_PAD_": str(4 * 1024 * 1024)}
"""For each file git asks for memory and gives it back; where the C library is GNU's, that took half of its time."""
_ATTRIBUTES = "* -text -ident -filter !working-tree-encoding !eol !diff !merge\n"


class SnapshotBounds(msgspec.Struct, frozen=True):
    """How much a snapshot takes up at most. A file that was held before is held on, whatever its size.

    Seconds count for a hurried one alone. Files are taken in `at_once` so many, the first ones in any case.
    Once they could not be looked through in time, nobody waits for that again for `giving_up_seconds`.
    While an agent works, only what has not changed for `resting_seconds` is taken.
    """

    file_bytes: int = 50 * 1024 * 1024
    new_bytes: int = 2 * 1024 * 1024 * 1024
    at_once: int = 4000
    listing_seconds: float = 5.0
    giving_up_seconds: float = 600.0
    taking_seconds: float = 3.0
    resting_seconds: float = 2.0


class OmittedFile(msgspec.Struct, frozen=True):
    """A file that is not held, and so never touched by a restore."""

    path: str
    reason: str


class Snapshot(msgspec.Struct, frozen=True):
    """A tree in the store, and the name of what its files may be done with."""

    tree: str
    permissions: str
    left_out: tuple[OmittedFile, ...] = ()


class SnapshotEntry(msgspec.Struct, frozen=True):
    """What one side of a difference has at a path."""

    mode: str
    blob: str

    @property
    def exists(self) -> bool:
        return self.mode in _FILE_MODES


class SnapshotDifference(msgspec.Struct, frozen=True):
    path: str
    old: SnapshotEntry
    new: SnapshotEntry


class _Found(NamedTuple):
    """A file that was looked at: its mode and size, and when it last changed in any way."""

    mode: int
    size: int
    at: float


class SnapshotIncomplete(InvalidInput):
    """Time is up, and files are yet to be kept for the first time. What is kept by now is not lost."""


class SnapshotRepository:
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
        self.git = Git(workspace, environ, _SETTINGS, private=True).having(
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
            alone = Git(self.folder, self._environ, private=True)
            await alone.run("init", "--bare", "--quiet", "--template=", str(self._store))
            make_private_folder(self._store / "info")
            write_private(self._store / "info" / "attributes", _ATTRIBUTES.encode())
        for left in (*self._store.glob("index.*"), *self.folder.glob("blobs.*")):
            left.unlink(missing_ok=True)

    async def snapshot(
        self, bounds: SnapshotBounds, *, hurried: bool = False, aside: bool = False
    ) -> Snapshot:
        """The workspace as a tree in the store. What a hurried one could not finish, the next goes on with.

        One that is taken `aside`, while files are written, only saves the next some work.
        """
        index = self._store / f"index.{secrets.token_hex(4)}"
        if self._index.exists():
            # With its time: git mistrusts its cache for files that are no older than the index.
            copy_private(self._index, index)
        git = self.git.having(GIT_INDEX_FILE=str(index))
        try:
            left_out, kept = await self._gather(git, index, bounds, hurried=hurried, aside=aside)
            tree = (await git.run("write-tree")).text
            if index.exists():
                index.replace(self._index)
        finally:
            index.unlink(missing_ok=True)
        return Snapshot(tree, kept, left_out)

    async def _gather(
        self, git: Git, index: Path, bounds: SnapshotBounds, *, hurried: bool, aside: bool
    ) -> tuple[tuple[OmittedFile, ...], str]:
        second = int(time.time())
        if hurried and self._gave_up_lately(bounds):
            raise self._too_many(bounds)
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
            write_private(self.folder / _GAVE_UP, b"")
            raise self._too_many(bounds) from error
        (self.folder / _GAVE_UP).unlink(missing_ok=True)
        looked_at = changed | {path: found[path] for path in new}
        # Before the index says that these files are known, lest nobody look at them again after a kill.
        kept = await run_to_end(lambda _: self._keep_permissions(held, gone, looked_at, second))
        if gone:
            await git.run("update-index", "-z", "--force-remove", "--stdin", given=_given(gone))
        # Git would not see that a file was written once more in the second in which it was taken.
        latest = second - bounds.resting_seconds if aside else math.inf
        taken = [path for path in (*changed, *new) if looked_at[path].at < latest]
        await self._take(git, index, taken, bounds, hurried=hurried)
        return left_out, kept

    def _gave_up_lately(self, bounds: SnapshotBounds) -> bool:
        """Whether a look through the files has just taken too long, and they are the same for all one knows."""
        try:
            since = (self.folder / _GAVE_UP).stat().st_mtime
        except OSError:
            return False
        ignoring = self.workspace / ".gitignore"
        changed = ignoring.stat().st_mtime > since if ignoring.exists() else False
        return 0 <= time.time() - since < bounds.giving_up_seconds and not changed

    def _too_many(self, bounds: SnapshotBounds) -> InvalidInput:
        return InvalidInput(
            f"{self.workspace} has too many files to look through within {bounds.listing_seconds:g} s.",
            suggestion="Open a smaller folder, or have git ignore what is generated.",
        )

    def permissions(self, name: str | None) -> FilePermissions | None:
        """What the files of a snapshot may be done with, if that was kept."""
        return permissions.load(self.folder, name)

    def _keep_permissions(
        self, held: set[str], gone: list[str], looked_at: dict[str, _Found], second: int
    ) -> str:
        known = permissions.current(self.folder)
        again = held if known is None else known.unsettled
        looked_at = {path: found for path in again if (found := _look(self.workspace, path))} | looked_at
        before = permissions.first(self.folder) if known is None else known.permissions
        after = before.followed(gone, {path: found.mode for path, found in looked_at.items()})
        # Git compares whole seconds, and would not see that one of these is changed within the same.
        unsettled = tuple(path for path, found in looked_at.items() if found.at >= second)
        return permissions.keep(self.folder, after, unsettled, known)

    async def _touched(self, git: Git) -> tuple[dict[str, _Found], list[str]]:
        """Held files that have changed, as they are now, and those that are gone."""
        touched = (await git.run("diff-files", "-z", "--name-status", "--no-renames")).names
        states = dict(zip(touched[1::2], touched[::2], strict=True))
        there = (path for path, state in states.items() if state != "D")
        changed = {path: found for path in there if (found := _look(self.workspace, path)) is not None}
        return changed, list(states.keys() - changed.keys())

    async def _take(
        self, git: Git, index: Path, paths: list[str], bounds: SnapshotBounds, *, hurried: bool
    ) -> None:
        deadline = time.monotonic() + bounds.taking_seconds
        for start in range(0, len(paths), bounds.at_once):
            if start:  # Whoever is stopped or killed from now on, what was taken need not be taken again.
                await run_to_end(lambda _: self._save(index))
            if hurried and start and time.monotonic() >= deadline:
                raise SnapshotIncomplete(
                    f"{len(paths) - start} files of {self.workspace} are yet to be kept for the first time.",
                    suggestion="The next turn goes on with it. Have git ignore what is generated, and there is less to keep.",
                )
            taken = paths[start : start + bounds.at_once]
            # Many new blobs go into one pack, which is much faster than a file for each. Not synced in batches
            # then: an empty file is no blob for a pack, and git loses the pack where it writes both kinds so.
            packed = ("core.bigFileThreshold=1", "core.fsyncMethod=fsync")
            taking = git.having(*packed, **_ROOM) if len(taken) > _MANY_FILES else git
            await add_to_index(taking, self.workspace, taken)

    def _save(self, index: Path) -> None:
        beside = index.with_suffix(f"{index.suffix}-saved")
        shutil.copy2(index, beside)
        beside.replace(self._index)

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

    async def names(self, tree: str) -> set[str]:
        """Every file that a tree holds."""
        return set((await self.git.run("ls-tree", "-r", "-z", "--name-only", tree)).names)

    async def tidy(self) -> None:
        """Give room back, once enough has come together."""
        collecting = self.git.having(
            "gc.auto=2000", "gc.autoPackLimit=40", "gc.autoDetach=false", "gc.pruneExpire=now"
        )
        await collecting.run("gc", "--auto", "--quiet")

    async def differences(self, old: str, new: str) -> tuple[SnapshotDifference, ...]:
        """What has to change to get from one tree to another."""
        answer = await self.git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
        fields = answer.names
        found = []
        for facts, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, new_mode, old_blob, new_blob, _ = facts.lstrip(":").split(" ")
            found.append(
                SnapshotDifference(path, SnapshotEntry(old_mode, old_blob), SnapshotEntry(new_mode, new_blob))
            )
        return tuple(found)


def _parted(workspace: Path, paths: list[str], held: set[str]) -> tuple[dict[str, _Found], set[str]]:
    """The files among these that are not held, and the folders that are repositories of their own."""
    root = str(workspace)
    files: dict[str, _Found] = {}
    inner: set[str] = set()
    astray = {"": False}
    for path in paths:
        if path in held:
            continue
        name = path.rstrip("/")
        if _leads_astray(root, name.rpartition("/")[0], astray):
            continue  # A link is where its folder was, and what is found behind that is another file.
        try:
            facts = os.lstat(f"{root}/{name}")
        except OSError:
            continue  # Gone since it was listed, or listed and never there.
        if not stat.S_ISDIR(facts.st_mode):
            files[name] = _Found(facts.st_mode, facts.st_size, facts.st_ctime)
        elif (workspace / name / ".git").exists():
            inner.add(name)
    return files, inner


def _leads_astray(root: str, folder: str, known: dict[str, bool]) -> bool:
    """Whether a folder, or one above it, is a link; what is found out goes to what is `known`."""
    if folder not in known:
        above = _leads_astray(root, folder.rpartition("/")[0], known)
        known[folder] = above or os.path.islink(f"{root}/{folder}")  # noqa: PTH114 - of many
    return known[folder]


def _look(workspace: Path, path: str) -> _Found | None:
    """A file or link as it is now; None for anything else, nothing included."""
    try:
        facts = os.lstat(f"{workspace}/{path}")
    except OSError:
        return None
    held = stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)
    return _Found(facts.st_mode, facts.st_size, facts.st_ctime) if held else None


def _choose(
    workspace: Path, files: Mapping[str, _Found], bounds: SnapshotBounds, *, without: str | None
) -> tuple[list[str], tuple[OmittedFile, ...]]:
    """Which new files are held: the small ones first, none of secrets, none that cannot be read."""
    sizes: list[tuple[int, str]] = []
    left_out: list[OmittedFile] = []
    for path, found in files.items():
        parts = path.split("/")
        if parts[0].startswith(STAGING_PREFIX) or any(part.casefold() == ".git" for part in parts):
            continue
        if without is not None and path.startswith(f"{without}/"):
            continue
        if not (stat.S_ISREG(found.mode) or stat.S_ISLNK(found.mode)):
            continue
        if is_private(parts):
            left_out.append(OmittedFile(path, "may hold secrets"))
        elif found.size > bounds.file_bytes:
            left_out.append(OmittedFile(path, f"larger than {bounds.file_bytes >> 20} MB"))
        elif not _readable(workspace, path, found.mode):
            left_out.append(OmittedFile(path, "cannot be read"))
        else:
            sizes.append((found.size, path))
    taken: list[str] = []
    total = 0
    for size, path in sorted(sizes):
        total += size
        if total <= bounds.new_bytes:
            taken.append(path)
        else:
            left_out.append(OmittedFile(path, f"beyond {bounds.new_bytes >> 20} MB in all"))
    return taken, tuple(sorted(left_out, key=lambda each: each.path))


def _readable(workspace: Path, path: str, mode: int) -> bool:
    open_to_all = stat.S_IROTH | stat.S_IRGRP | stat.S_IRUSR
    if not stat.S_ISREG(mode) or mode & open_to_all == open_to_all:
        return True  # As nearly all are, so the system is asked only about the others.
    return os.access(f"{workspace}/{path}", os.R_OK)


def _given(paths: list[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
