"""Atomic swap of many files of a workspace, with a journal to undo it; used by restores.

New files are staged in a folder at the top of the workspace, where a rename is atomic, and the files they replace
are moved beside them. A journal, written before the first move, says how to go back; renaming it commits the swap.
A process that finds a journal without an owner undoes it, except for files that the person has changed since.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, PermissionDenied, PorticoError, StoreFailed
from portico.files import real_path
from portico.files.folders import FolderCache, make_folders
from portico.review.files.disk import Disk
from portico.review.files.extended_attributes import copy_attributes
from portico.review.files.rollbacks import Rollback, RollbackRecord, Rollbacks

SwapStep = Callable[[str], None]
SeenFiles = Mapping[str, tuple[int, int] | None]


class ChangedMeanwhile(Exception):
    """A file was changed before it was its turn. All files are as before."""


class SwapTarget(msgspec.Struct, frozen=True):
    """Wanted state of a path: no file, or the staged file with this number, which is the git blob `blob`.

    `replaces` is true if a file is there now.
    """

    path: str
    replaces: bool
    staged: int | None
    blob: str = ""


class SwapStaging:
    """Staging folder with new files (`new`) and replaced ones (`old`)."""

    def __init__(self, workspace: Path, name: str) -> None:
        self.folder = workspace / name
        self.new = self.folder / "new"
        self.old = self.folder / "old"

    def make(self) -> None:
        """Create the folder, accessible to its owner only: files get their modes after they are written."""
        real_path.mkdir(self.folder, 0o700)
        real_path.mkdir(self.new)
        real_path.mkdir(self.old)

    def held(self, number: int | str | None) -> Path:
        """Backup of the file that this staged file replaces: a hard link, or the moved file."""
        moved = self.old / f"m{number}"
        return moved if real_path.exists(moved) else self.old / f"r{number}"

    def hold(self, place: Path, number: int | None) -> None:
        """Keep what is at a place, which is never empty if the file system knows second names."""
        try:
            real_path.link(place, self.old / f"r{number}")
        except (OSError, NotImplementedError):
            real_path.rename(place, self.old / f"m{number}")

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


class FileSwap:
    """The swaps of one workspace, whose journal is at `journal`. `step` hears of each move before it is made."""

    def __init__(
        self, workspace: Path, journal: Path, prefix: str, rollbacks: Rollbacks, step: SwapStep | None = None
    ) -> None:
        self._workspace = workspace
        self._journal = journal
        self._mark = journal.with_suffix(".staging")
        self._done = journal.with_suffix(".done")
        self._prefix = prefix
        self._rollbacks = rollbacks
        self._step = step or (lambda _: None)

    @property
    def unfinished(self) -> bool:
        return self._journal.exists()

    def has_happened(self, name: str) -> bool:
        """Whether the last swap that came to its end is the one of this name."""
        try:
            return f"@{name}".encode() in self._done.read_bytes().split(b"\0")
        except FileNotFoundError:
            return False

    def stage(self) -> SwapStaging:
        staging = SwapStaging(self._workspace, self._prefix + secrets.token_hex(6))
        try:
            # Before the folder, so that leftovers of a killed process are found without searching workspaces.
            self._write(self._mark, os.fsencode(self._workspace))
            staging.make()
        except OSError as error:
            raise _translated(str(self._workspace), error) from error
        return staging

    def look(self, paths: Iterable[str]) -> SeenFiles:
        """The modification times of these files, for `perform`."""
        return {path: _written(self._workspace / path) for path in paths}

    def perform(
        self, staging: SwapStaging, wanted: Iterable[SwapTarget], seen: SeenFiles, name: str = ""
    ) -> None:
        """Make it so, or leave the workspace as it was and say why. The staging folder is used up.

        Nothing goes away that was written after it was `seen`: ChangedMeanwhile then. Once it is done,
        `has_happened` knows it by its `name`.
        """
        wishes = sorted(wanted, key=lambda each: each.path)
        removals = [each for each in wishes if each.staged is None]
        arrivals = [each for each in wishes if each.staged is not None]
        place = str(self._workspace)
        try:
            for each in wishes:
                place = each.path
                self._check(each)
            self._write_journal(staging, removals, arrivals, name)
            for number, each in enumerate(removals):
                place = each.path
                self._step(f"remove {place}")
                real_path.rename(self._workspace / place, staging.old / f"d{number}")
            self._remove_empty(removals)
            for each in arrivals:
                place = each.path
                self._step(f"put {place}")
                self._put(staging, each)
            self._step("commit")
            held = [(staging.old / f"d{number}", each.path) for number, each in enumerate(removals)]
            held += [(staging.held(each.staged), each.path) for each in arrivals if each.replaces]
            if any(_written(old) != seen[path] for old, path in held):
                raise ChangedMeanwhile
            self._journal.replace(self._done)
        except BaseException as error:
            self._undo()
            staging.remove()
            if isinstance(error, OSError):
                raise _translated(place, error) from error
            raise
        staging.remove()

    def undo(self) -> Rollback | None:
        """Undo an unfinished swap and record that for the person. None if there was none."""
        rollback_record = self._undo(finished=True)
        return None if rollback_record is None else rollback_record.rollback

    def sweep(self) -> None:
        """Take away what no journal speaks of: staging folders, and the mark that says there is one."""
        if not self.unfinished:
            for folder in self._workspace.glob(f"{self._prefix}*"):
                shutil.rmtree(folder, ignore_errors=True)
            self._journal.with_suffix(".tmp").unlink(missing_ok=True)
            self._mark.unlink(missing_ok=True)

    def _undo(self, *, finished: bool = False) -> RollbackRecord | None:
        try:
            records = self._journal.read_bytes().split(b"\0")
        except FileNotFoundError:
            return None
        staging = SwapStaging(self._workspace, os.fsdecode(records[0]))
        rollback_record = self._rollbacks.begin(staging.folder.name.lstrip("."), self._workspace, "restore")
        entries = [(record[:1], os.fsdecode(record[1:])) for record in records[1:]]
        removals = [path for kind, path in entries if kind == b"-"]
        blobs = dict(record.split(":", 1) for kind, record in entries if kind == b"#")
        for kind, record in reversed(entries):
            if kind in b"+~":
                staged, _, path = record.partition(":")
                old = staging.held(staged) if kind == b"~" else None
                if not real_path.exists(staging.new / staged):
                    self._take_back(path, old, blobs.get(staged), rollback_record)
                elif old is not None and old.name[0] == "m":
                    self._bring_back(path, old, rollback_record)
        for kind, path in reversed(entries):
            if kind == b"/":
                with contextlib.suppress(OSError):
                    real_path.rmdir(self._workspace / path)
        for number, path in enumerate(removals):
            if real_path.exists(staging.old / f"d{number}"):
                self._bring_back(path, staging.old / f"d{number}", rollback_record)
        if finished:
            rollback_record.finish()
        self._journal.unlink()
        staging.remove()
        return rollback_record

    def _check(self, wish: SwapTarget) -> None:
        """Check that the replaced entry is still a file or link, and not behind a link."""
        facts = real_path.find(self._workspace / wish.path) if wish.replaces else None
        if wish.replaces and (facts is None or not _is_entry(facts)):
            raise InvalidInput(f"{wish.path} was just removed or changed its kind; nothing was restored.")

    def _put(self, staging: SwapStaging, wish: SwapTarget) -> None:
        place = self._workspace / wish.path
        self._make_folders(place.parent)
        new = staging.new / str(wish.staged)
        if wish.replaces:
            staging.hold(place, wish.staged)
        elif real_path.exists(place):
            raise InvalidInput(
                f"{wish.path} exists, and no checkpoint holds it; nothing was restored.",
                suggestion="Move it away and restore again.",
            )
        real_path.rename(new, place)

    def _make_folders(self, folder: Path) -> None:
        try:
            make_folders(folder).close()
        except OSError as error:
            if error.errno not in real_path.ABSENT:
                raise
            raise PermissionDenied(
                f"{folder} is a link or a file, or behind one, where a folder is meant; nothing was restored."
            ) from error

    def _remove_empty(self, removals: list[SwapTarget]) -> None:
        for each in reversed(removals):
            for folder in (self._workspace / each.path).parents:
                if folder == self._workspace:
                    break
                try:
                    real_path.rmdir(folder)
                except OSError:
                    break

    def _write_journal(
        self, staging: SwapStaging, removals: list[SwapTarget], arrivals: list[SwapTarget], name: str
    ) -> None:
        folders: dict[str, None] = {}
        records = [staging.folder.name, f"@{name}", *(f"-{each.path}" for each in removals)]
        records += [f"#{each.staged}:{each.blob}" for each in arrivals]
        for each in arrivals:
            parts = each.path.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                above = "/".join(parts[:depth])
                if not (self._workspace / above).is_dir() or (self._workspace / above).is_symlink():
                    folders.setdefault(above)
        records += [f"/{folder}" for folder in folders]
        records += [f"{'~' if each.replaces else '+'}{each.staged}:{each.path}" for each in arrivals]
        self._write(self._journal, b"\0".join(os.fsencode(record) for record in records))

    def _write(self, place: Path, data: bytes) -> None:
        """Write a file of the state folder, so that a kill leaves all of it or nothing."""
        beside = self._journal.with_suffix(".tmp")
        beside.unlink(missing_ok=True)
        Disk().write_new(beside, data, 0o600)
        beside.replace(place)

    def _take_back(
        self, path: str, old: Path | None, blob: str | None, rollback_record: RollbackRecord
    ) -> None:
        """Give a place that got a new file what it had before, unless the person has written there since."""
        place = self._workspace / path
        if old is None:
            facts = real_path.find(place)
            if _holds(place, blob):
                real_path.unlink(place, missing_ok=True)
            elif facts is not None and _is_entry(facts):
                rollback_record.spare(path)
        elif real_path.exists(old):
            if _holds(place, blob):
                real_path.rename(old, place)
            else:
                rollback_record.spare(path, old)

    def _bring_back(self, path: str, old: Path, rollback_record: RollbackRecord) -> None:
        """Give a file that was moved away its name back, unless the person has taken that."""
        place = self._workspace / path
        try:
            make_folders(place.parent).close()
            taken = real_path.exists(place)
        except OSError:
            taken = True  # A link or a file is where its folder was.
        if taken:
            rollback_record.spare(path, old)
        else:
            real_path.rename(old, place)


def _written(path: Path) -> tuple[int, int] | None:
    try:
        facts = real_path.lstat(path)
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _holds(place: Path, blob: str | None) -> bool:
    """Whether a file or link is this git blob still. The journal of an older version names none: then any is."""
    facts = real_path.find(place)
    if facts is None or not _is_entry(facts):
        return False
    data = Disk().read_entry(place).data
    digest = hashlib.sha1 if blob is None or len(blob) == 40 else hashlib.sha256
    return blob is None or digest(b"blob %d\0" % len(data) + data).hexdigest() == blob


def _is_entry(facts: os.stat_result) -> bool:
    """Whether it is a file or a link."""
    return stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode)


def set_restored_mode(
    staged: int, place: Path, had: int | None, folders: FolderCache, *, executable: bool
) -> None:
    """Give a staged file the rights it `had`, and what is noted on the file that it replaces."""
    facts = real_path.find(place, folders)
    if sys.platform == "win32":
        return
    if facts is None or not stat.S_ISREG(facts.st_mode):
        if had is not None:
            os.fchmod(staged, had)
        return
    copy_attributes(place, staged, folders)
    os.fchmod(staged, _given_back(facts.st_mode, had, executable=executable))
    if (facts.st_uid, facts.st_gid) != (os.getuid(), os.getgid()):
        with contextlib.suppress(PermissionError):  # Only the superuser may give files away.
            os.fchown(staged, facts.st_uid, facts.st_gid)


def restore_mode(place: Path, has: int, had: int) -> None:
    """Give a file whose content is as it was the rights it `had`, unless it has others by now than it is known for."""
    with contextlib.suppress(OSError):  # It is gone, or belongs to another user.
        mode = real_path.lstat(place).st_mode
        if stat.S_ISREG(mode) and stat.S_IMODE(mode) & 0o777 == has:
            real_path.chmod(place, _given_back(mode, had, executable=bool(had & 0o100)))


def _given_back(mode: int, had: int | None, *, executable: bool) -> int:
    """Mode of a restored file: the owner's bits are restored, others get no more than they have now."""
    bits = stat.S_IMODE(mode) & ~0o111
    bits |= (bits & 0o444) >> 2 if executable else 0
    return bits if had is None else bits & had | had & 0o700


def _translated(place: str, error: OSError) -> PorticoError:
    if isinstance(error, PermissionError):
        return PermissionDenied(
            f"{place} cannot be written ({error.strerror}); everything is as it was.",
            suggestion="Check the rights of the folder, and restore again.",
        )
    return StoreFailed(
        f"{place} cannot be put in place ({error.strerror}); everything is as it was.",
        suggestion="Free some space if the disk is full, and restore again.",
    )
