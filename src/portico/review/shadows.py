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
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.domain.privacy import is_private
from portico.review.git import Git
from portico.review.repositories import find_repository

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
    """How much a snapshot takes up at most. A file that was held before is held on, whatever its size."""

    file_bytes: int = 50 * 1024 * 1024
    new_bytes: int = 2 * 1024 * 1024 * 1024


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


class Shadow:
    """The store of one workspace, in one folder. Whoever uses it holds the lock of `checkpoints`."""

    def __init__(self, workspace: Path, folder: Path, environ: Mapping[str, str]) -> None:
        self.workspace = workspace
        self.folder = folder
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

    async def snapshot(self, bounds: Bounds) -> Snapshot:
        """The workspace as a tree in the store."""
        index = self._store / f"index.{secrets.token_hex(4)}"
        if self._index.exists():
            # With its time: git mistrusts its cache for files that are no older than the index.
            shutil.copy2(self._index, index)
        git = self.git.having(GIT_INDEX_FILE=str(index))
        try:
            left_out = await self._gather(git, bounds)
            tree = (await git.run("write-tree")).text
            if index.exists():
                index.replace(self._index)
        finally:
            index.unlink(missing_ok=True)
        return Snapshot(tree, left_out)

    async def _gather(self, git: Git, bounds: Bounds) -> tuple[LeftOut, ...]:
        held = set((await git.run("ls-files", "-z", "--cached")).names)
        touched = (await git.run("diff-files", "-z", "--name-status", "--no-renames")).names
        states = dict(zip(touched[1::2], touched[::2], strict=True))
        changed = [path for path, state in states.items() if state != "D" and _is_file(self.workspace, path)]
        gone = list(states.keys() - set(changed))
        found = await self._unheld(git, self.workspace, "", held)
        new, left_out = await asyncio.to_thread(_choose, self.workspace, found, bounds)
        if gone:
            await git.run("update-index", "-z", "--force-remove", "--stdin", given=_listed(gone))
        if taken := changed + new:
            # Many new blobs go into one pack, which is much faster than a file for each.
            taking = git.having("core.bigFileThreshold=1") if len(taken) > _MANY_FILES else git
            words = ("update-index", "-z", "--add", "--replace", "--remove", "--stdin")
            await taking.run(*words, given=_listed(taken))
        return left_out

    async def _unheld(self, git: Git, folder: Path, prefix: str, held: set[str]) -> set[str]:
        """Every new file that is not ignored: as its repository sees it, those inside included, or as we do."""
        repository = await find_repository(folder, self._environ)
        asked = git if repository is None else repository.git.at(folder)
        listed = await asked.run("ls-files", "-z", "--others", "--cached", "--exclude-standard")
        names = [prefix + name for name in listed.names]
        files, inner = await asyncio.to_thread(_parted, self.workspace, names, held)
        for path in inner:
            files |= await self._unheld(git, self.workspace / path, f"{path}/", held)
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


def _parted(workspace: Path, paths: list[str], held: set[str]) -> tuple[set[str], set[str]]:
    """The files among these that are not held, and the folders that are repositories of their own."""
    files: set[str] = set()
    inner: set[str] = set()
    for path in paths:
        if path in held:
            continue
        name = path.rstrip("/")
        try:
            folder = stat.S_ISDIR(os.lstat(f"{workspace}/{name}").st_mode)
        except OSError:
            continue  # Gone since it was listed, or listed and never there.
        if not folder:
            files.add(name)
        elif (workspace / name / ".git").exists():
            inner.add(name)
    return files, inner


def _is_file(workspace: Path, path: str) -> bool:
    try:
        mode = os.lstat(f"{workspace}/{path}").st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _choose(workspace: Path, paths: set[str], bounds: Bounds) -> tuple[list[str], tuple[LeftOut, ...]]:
    """Which new files are held: the small ones first, none of secrets, none that cannot be read."""
    sizes: list[tuple[int, str]] = []
    left_out: list[LeftOut] = []
    for path in paths:
        parts = path.split("/")
        if parts[0].startswith(STAGING_PREFIX) or any(part.casefold() == ".git" for part in parts):
            continue
        try:
            facts = os.lstat(f"{workspace}/{path}")
        except OSError:
            continue
        if not (stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)):
            continue
        if is_private(parts):
            left_out.append(LeftOut(path, "may hold secrets"))
        elif facts.st_size > bounds.file_bytes:
            left_out.append(LeftOut(path, f"larger than {bounds.file_bytes >> 20} MB"))
        elif stat.S_ISREG(facts.st_mode) and not os.access(f"{workspace}/{path}", os.R_OK):
            left_out.append(LeftOut(path, "cannot be read"))
        else:
            sizes.append((facts.st_size, path))
    taken: list[str] = []
    total = 0
    for size, path in sorted(sizes):
        total += size
        if total <= bounds.new_bytes:
            taken.append(path)
        else:
            left_out.append(LeftOut(path, f"beyond {bounds.new_bytes >> 20} MB in all"))
    return taken, tuple(sorted(left_out, key=lambda each: each.path))


def _listed(paths: list[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
