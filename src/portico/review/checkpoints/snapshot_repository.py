"""Snapshot repository of one workspace: a private bare git repository in the state folder.

It has its own index, whose stat cache makes the next snapshot cheap. Bytes are stored as they are:
attributes, filters and line endings of the workspace do not apply. The person's repository decides which
files are ignored, and is never written to. A snapshot changes only a copy of the index, so a killed process
leaves no lock behind; if nothing has changed, it makes no copy.
"""

import asyncio
import hashlib
import math
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from portico.domain.errors import InvalidInput
from portico.files.private import copy_private, make_private_folder, write_private
from portico.git.program import Git, GitResult, path_input
from portico.git.repository import RepositoryFinder
from portico.review.checkpoints import permissions
from portico.review.checkpoints.checkpoint import Snapshot
from portico.review.checkpoints.checkpoint_refs import CheckpointRefs
from portico.review.checkpoints.held_files import FileFacts, SnapshotBounds, choose_files, look_at, part_files
from portico.review.checkpoints.permissions import CurrentPermissions, FilePermissions
from portico.review.files.omitted_file import OmittedFile
from portico.review.files.worker_thread import run_to_end
from portico.review.git.file_lister import inside
from portico.review.git.index_file import IndexFile
from portico.review.git.index_update import add_to_index

_GAVE_UP = "gave-up"
_TREE = "tree"
_HASH_LENGTHS = (40, 64)
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
_FORMATS = ("init.defaultObjectFormat=sha1", "init.defaultRefFormat=files")
_ROOM = {"MALLOC_TOP_PAD_": str(4 * 1024 * 1024)}
"""For each file git asks for memory and gives it back; where the C library is GNU's, that took half of its time."""
_ATTRIBUTES = "* -text -ident -filter !working-tree-encoding !eol !diff !merge\n"


class SnapshotEntry(msgspec.Struct, frozen=True):
    """Mode and blob of a path on one side of a difference."""

    mode: str
    blob: str

    @property
    def exists(self) -> bool:
        return self.mode in _FILE_MODES


class SnapshotDifference(msgspec.Struct, frozen=True):
    path: str
    old: SnapshotEntry
    new: SnapshotEntry


class _Collected(NamedTuple):
    """Difference between workspace and index: files that are gone, and those to take. Nothing is written yet."""

    gone: list[str]
    taken: list[str]
    permissions: str
    left_out: tuple[OmittedFile, ...]


class UnheldFiles:
    """Listed files that the index of a snapshot repository lacks, kept until the listing or the index changes.

    Nearly always both are as they were before the last turn, and comparing them takes longer than hashing.
    """

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[str, bytes], set[bytes]]] = {}

    def find(self, folder: Path, index: IndexFile, listed: GitResult) -> set[bytes] | None:
        known = self._known.get(folder)
        return known[1] if known is not None and known[0] == self._key(index, listed) else None

    def remember(self, folder: Path, index: IndexFile, listed: GitResult, unheld: set[bytes]) -> None:
        self._known[folder] = self._key(index, listed), unheld

    def _key(self, index: IndexFile, listed: GitResult) -> tuple[str, bytes]:
        return index.checksum, hashlib.sha256(listed.output).digest()


class SnapshotIncomplete(InvalidInput):
    """Time ran out before all files were added for the first time. Those added so far are kept."""


class SnapshotRepository:
    """Snapshots of one workspace. The caller holds the lock of the store.

    Nothing in `ours`, the state folder, is part of a snapshot: a restore must not restore Portico's state.
    """

    def __init__(
        self,
        workspace: Path,
        folder: Path,
        environ: Mapping[str, str],
        ours: Path,
        repositories: RepositoryFinder,
        unheld: UnheldFiles,
    ) -> None:
        self.workspace = workspace
        self.folder = folder
        self._repositories = repositories
        self._unheld_files = unheld
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
        self.refs = CheckpointRefs(self._store, self.git)

    async def prepare(self) -> None:
        """Create the store if it does not exist, and remove leftovers of killed processes."""
        if not (self._store / "info" / "attributes").is_file():
            alone = Git(self.folder, self._environ, _FORMATS, private=True)
            await alone.run("init", "--bare", "--quiet", "--template=", str(self._store))
            make_private_folder(self._store / "info")
            write_private(self._store / "info" / "attributes", _ATTRIBUTES.encode())
        for left in (*self._store.glob("index.*"), *self.folder.glob("blobs.*")):
            left.unlink(missing_ok=True)

    async def snapshot(
        self, bounds: SnapshotBounds, *, hurried: bool = False, aside: bool = False
    ) -> Snapshot:
        """Store the workspace as a tree. The next snapshot continues what a `hurried` one could not finish.

        A snapshot taken `aside`, while files are being written, only saves the next one some work.
        """
        before = await asyncio.to_thread(IndexFile, self._index)
        found = await self._collect(before, bounds, hurried=hurried, aside=aside)
        tree = None
        if not found.gone and not found.taken:
            tree = await asyncio.to_thread(self._known_tree, before)
        if tree is None:
            tree = await self._write_tree(found, bounds, hurried=hurried)
        return Snapshot(tree, found.permissions, found.left_out)

    async def _write_tree(self, found: _Collected, bounds: SnapshotBounds, *, hurried: bool) -> str:
        """Update a copy of the index, write its tree, and keep it for the next snapshot."""
        index = self._store / f"index.{secrets.token_hex(4)}"
        git = self.git.having(GIT_INDEX_FILE=str(index))
        try:
            if self._index.exists():
                # With its time: git mistrusts its cache for files that are no older than the index.
                await asyncio.to_thread(copy_private, self._index, index)
            if found.gone:
                given = path_input(found.gone)
                await git.run("update-index", "-z", "--force-remove", "--stdin", given=given)
            await self._take(git, index, found.taken, bounds, hurried=hurried)
            tree = (await git.run("write-tree")).text
            await asyncio.to_thread(self._keep_index, index, tree)
        finally:
            index.unlink(missing_ok=True)
        return tree

    def _keep_index(self, index: Path, tree: str) -> None:
        checksum = IndexFile(index).checksum
        if index.exists():
            index.replace(self._index)
        write_private(self._store / _TREE, f"{checksum} {tree}".encode())

    def _known_tree(self, index: IndexFile) -> str | None:
        """Tree of the last snapshot, if it was made from this index."""
        try:
            checksum, _, tree = (self._store / _TREE).read_text().partition(" ")
        except FileNotFoundError:
            return None
        return tree if checksum == index.checksum and len(tree) in _HASH_LENGTHS else None

    async def _collect(
        self, index: IndexFile, bounds: SnapshotBounds, *, hurried: bool, aside: bool
    ) -> _Collected:
        second = int(time.time())
        if hurried and self._gave_up_lately(bounds):
            raise self._too_many(bounds)
        try:
            async with asyncio.timeout(bounds.listing_seconds if hurried else None):
                touched, listed = await asyncio.gather(self._touched(index), self._listed(self.workspace))
                changed, gone = touched
                found = await self._unheld(index, listed)
                new, left_out = await asyncio.to_thread(
                    choose_files, self.workspace, found, bounds, without=self._ours
                )
        except TimeoutError as error:
            write_private(self.folder / _GAVE_UP, b"")
            raise self._too_many(bounds) from error
        (self.folder / _GAVE_UP).unlink(missing_ok=True)
        looked_at = changed | {path: found[path] for path in new}
        known = await asyncio.to_thread(permissions.current, self.folder)
        held = await self._held(index) if known is None else set()
        # Before the index is updated: after a kill, files in the index are not looked at again.
        kept = await run_to_end(lambda _: self._keep_permissions(known, held, gone, looked_at, second))
        # Git would not see that a file was written once more in the second in which it was taken.
        latest = second - bounds.resting_seconds if aside else math.inf
        taken = [path for path in (*changed, *new) if looked_at[path].at < latest]
        return _Collected(gone, taken, kept, left_out)

    def _gave_up_lately(self, bounds: SnapshotBounds) -> bool:
        """Whether listing the files timed out recently, and .gitignore has not changed since."""
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
        """File permissions of a snapshot, if they are stored."""
        return permissions.load(self.folder, name)

    def _keep_permissions(
        self,
        known: CurrentPermissions | None,
        held: set[bytes],
        gone: list[str],
        looked_at: dict[str, FileFacts],
        second: int,
    ) -> str:
        again = map(os.fsdecode, held) if known is None else known.unsettled
        looked_at = {path: found for path in again if (found := look_at(self.workspace, path))} | looked_at
        before = permissions.first(self.folder) if known is None else known.permissions
        after = before.followed(gone, {path: found.mode for path, found in looked_at.items()})
        # Git compares whole seconds, and would not see that one of these is changed within the same.
        unsettled = tuple(path for path, found in looked_at.items() if found.at >= second)
        return permissions.keep(self.folder, after, unsettled, known)

    async def _touched(self, index: IndexFile) -> tuple[dict[str, FileFacts], list[str]]:
        """Files in the index that have changed, and those that are gone."""
        if index.is_empty:
            return {}, []
        touched = (await self.git.run("diff-files", "-z", "--name-status", "--no-renames")).names
        states = dict(zip(touched[1::2], touched[::2], strict=True))
        there = (path for path, state in states.items() if state != "D")
        changed = {path: found for path in there if (found := look_at(self.workspace, path)) is not None}
        return changed, list(states.keys() - changed.keys())

    async def _take(
        self, git: Git, index: Path, paths: list[str], bounds: SnapshotBounds, *, hurried: bool
    ) -> None:
        deadline = time.monotonic() + bounds.taking_seconds
        for start in range(0, len(paths), bounds.at_once):
            if start:  # The next snapshot can continue from here if this one is killed.
                await run_to_end(lambda _: self._save(index))
            if hurried and start and time.monotonic() >= deadline:
                raise SnapshotIncomplete(
                    f"{len(paths) - start} files of {self.workspace} are yet to be kept for the first time.",
                    suggestion="The next turn continues with it. To keep less, let git ignore generated files.",
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

    async def _held(self, index: IndexFile) -> set[bytes]:
        names = await asyncio.to_thread(index.names)
        if names is not None:
            return names
        return set((await self.git.run("ls-files", "-z", "--cached")).raw_names)

    async def _listed(self, folder: Path) -> GitResult:
        """All files that are not ignored, by the rules of the surrounding repository if there is one."""
        repository = await self._repositories.find(folder)
        asked = self.git if repository is None else repository.git.at(folder)
        return await asked.run("ls-files", "-z", "--others", "--cached", "--exclude-standard")

    async def _unheld(self, index: IndexFile, listed: GitResult) -> dict[str, FileFacts]:
        """New files among those listed, including those in nested repositories."""
        unheld = await asyncio.to_thread(self._unheld_files.find, self.folder, index, listed)
        if unheld is None:
            held = await self._held(index)
            unheld = await asyncio.to_thread(lambda: set(listed.raw_names) - held)
            self._unheld_files.remember(self.folder, index, listed, unheld)
        if not unheld:
            return {}
        files, inner = await asyncio.to_thread(part_files, self.workspace, map(os.fsdecode, unheld))
        if inner:
            files |= await self._unheld_inside(inner, await self._held(index))
        return files

    async def _unheld_inside(self, folders: Iterable[str], held: set[bytes]) -> dict[str, FileFacts]:
        found: dict[str, FileFacts] = {}
        for folder in folders:
            listed = await self._listed(self.workspace / folder)
            unheld = {os.fsencode(f"{folder}/") + name for name in listed.raw_names} - held
            files, inner = await asyncio.to_thread(part_files, self.workspace, map(os.fsdecode, unheld))
            found |= files | await self._unheld_inside(inner, held)
        return found

    async def names(self, tree: str) -> set[str]:
        """Paths of all files in a tree."""
        return set((await self.git.run("ls-tree", "-r", "-z", "--name-only", tree)).names)

    async def tidy(self) -> None:
        """Collect garbage once there is enough of it."""
        collecting = self.git.having(
            "gc.auto=2000", "gc.autoPackLimit=40", "gc.autoDetach=false", "gc.pruneExpire=now"
        )
        await collecting.run("gc", "--auto", "--quiet")

    async def differences(self, old: str, new: str) -> tuple[SnapshotDifference, ...]:
        """Differences between two trees."""
        answer = await self.git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
        fields = answer.names
        found = []
        for facts, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, new_mode, old_blob, new_blob, _ = facts.lstrip(":").split(" ")
            found.append(
                SnapshotDifference(path, SnapshotEntry(old_mode, old_blob), SnapshotEntry(new_mode, new_blob))
            )
        return tuple(found)
