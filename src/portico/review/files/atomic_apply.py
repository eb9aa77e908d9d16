"""Atomic apply of a change set to a folder: staged files, an intent log, renames, and rollback on failure.

New contents are written beside their places and synced, old ones keep a second name, and only then files are
exchanged by renames. The intent log knows all names beforehand, so that after a failure or a kill at any moment
the folder is brought back to what it was. Writing the intent off as done is the one moment at which it changes.
"""

import errno
import os
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import msgspec

from portico.domain.errors import PorticoError, SessionBusy, StoreFailed
from portico.files import real_path
from portico.files.locks import locked
from portico.files.private import make_private_folder
from portico.review.files.apply_plan import ApplyLimits, ApplyPlan, ApplyPlanner, PlannedWrite, unapplied
from portico.review.files.apply_recovery import (
    RecoveredApplies,
    publish_receipt,
    receipt_draft,
    recover_all,
    remove_backups,
    roll_back,
)
from portico.review.files.disk import Disk, stamp_of
from portico.review.files.intent_log import IntentLog
from portico.review.files.rollbacks import Rollback, Rollbacks
from portico.review.text.change_set import ChangeOperation, ChangeSet, FileChange, MadeFolder

_TRIES = 3
_STAGED_AT_ONCE = 16


class AppliedChanges(msgspec.Struct, frozen=True):
    """The changes were applied. `undo` takes them back; `merged` files also keep the person's changes."""

    undo: ChangeSet
    merged: tuple[str, ...] = ()


class ConflictedChanges(msgspec.Struct, frozen=True):
    """Nothing was applied: these changes conflict with the current files."""

    changes: tuple[FileChange, ...]


class ApplyReceipt(msgspec.Struct, frozen=True):
    """File of the caller that gets its new content if and only if the apply happens, also across a crash."""

    place: Path
    written: Callable[[AppliedChanges], bytes]


class ChangeWriter(Protocol):
    """Brings a change set to a person's files: all of it, or nothing with an error or the conflicts."""

    @property
    def disk(self) -> Disk:
        """Their files, as the person sees them."""
        ...

    def apply(
        self, root: Path, changes: ChangeSet, receipt: ApplyReceipt
    ) -> AppliedChanges | ConflictedChanges: ...


class _ChangedMeanwhile(Exception):
    """A file was written between the plan and its turn."""


class Applier:
    """Applies change sets, with intents in a state folder that outlives the process. Implements `ChangeWriter`."""

    def __init__(
        self,
        state: Path,
        *,
        disk: Disk | None = None,
        limits: ApplyLimits | None = None,
        rollbacks: Rollbacks | None = None,
    ) -> None:
        self._state = state
        self._disk = disk or Disk()
        self._limits = limits or ApplyLimits()
        self._intents = IntentLog(state, self._disk)
        self._rollbacks = rollbacks or Rollbacks(state.with_name("rollbacks"), self._disk)

    @property
    def disk(self) -> Disk:
        return self._disk

    @property
    def unfinished(self) -> bool:
        """Whether an apply was interrupted, or is running in another process."""
        return self._intents.any_left

    @property
    def lock(self) -> Path:
        """Lock for applies and recovery; the kernel releases it when a process dies."""
        return self._state / "apply.lock"

    def roots_left(self) -> set[Path]:
        """Folders with a running or interrupted apply."""
        return self._intents.roots()

    def recover(self) -> RecoveredApplies:
        """Bring every folder that an apply was interrupted in back to what it was."""
        make_private_folder(self._state)
        with locked(self.lock):
            return self.recover_alone()

    def recover_alone(self) -> RecoveredApplies:
        """`recover` for a caller that holds the lock."""
        return recover_all(self._intents, self._disk, self._rollbacks)

    def apply(
        self, root: Path, changes: ChangeSet, receipt: ApplyReceipt | None = None
    ) -> AppliedChanges | ConflictedChanges:
        """Apply all, or nothing with an error or the conflicts."""
        make_private_folder(self._state)
        with locked(self.lock):
            unfinished = self.recover_alone().unfinished
            if os.path.realpath(root) in unfinished:
                raise StoreFailed(
                    f"An earlier apply to {root} was interrupted and cannot be rolled back yet."
                )
            for _ in range(_TRIES):
                plan = ApplyPlanner(root, self._disk, self._limits).plan(changes)
                if plan.conflicted:
                    return ConflictedChanges(plan.conflicted)
                try:
                    return self._carry_out(plan, receipt)
                except _ChangedMeanwhile:
                    continue
        raise SessionBusy(
            f"Files in {root} keep changing while they are written; everything is as it was.",
            suggestion="Stop what writes them, then apply again.",
        )

    def _carry_out(self, plan: ApplyPlan, receipt: ApplyReceipt | None) -> AppliedChanges:
        if receipt is None and not (plan.writes or plan.intent.made or plan.intent.emptied):
            return AppliedChanges(ChangeSet(), plan.merged)
        if receipt is not None:
            intent = msgspec.structs.replace(plan.intent, receipt=str(receipt.place))
            plan = msgspec.structs.replace(plan, intent=intent)
        try:
            begun = self._intents.begin(plan.intent)
        except OSError as error:
            raise unapplied("The intent log", error) from error
        try:
            gone = _Exchange(plan, self._disk).run()
            applied = AppliedChanges(undo_of(plan, gone), plan.merged)
            if receipt is not None:
                self._disk.write_new(receipt_draft(str(receipt.place)), receipt.written(applied), 0o600)
                self._disk.sync_folder(receipt.place.parent)
            done = self._intents.finish(begun)
        except BaseException as error:
            # Also on an interrupt: half an apply must not wait for the next start.
            taken_back = self._take_back(begun, plan, error)
            if isinstance(error, OSError) and error.errno == errno.ELOOP:
                # A folder became a link since the plan was made; the next plan follows or refuses it.
                raise _ChangedMeanwhile from error
            if isinstance(error, OSError):
                raise _apply_failure(plan, error, taken_back) from error
            raise
        try:
            self._intents.sync()
            publish_receipt(plan.intent, self._disk)
            remove_backups(plan.intent, self._disk)
            self._intents.forget(done)
        except OSError:
            # It has happened. What is left over goes at the next start.
            pass
        return applied

    def _take_back(self, begun: Path, plan: ApplyPlan, cause: BaseException) -> Rollback:
        try:
            rollback_record = self._rollbacks.begin(begun.stem, Path(plan.intent.root), "apply")
            roll_back(plan.intent, self._disk, rollback_record)
            self._intents.forget(begun)
            return rollback_record.rollback
        except OSError as error:
            raise StoreFailed(
                f"An apply failed ({cause}) and could not be rolled back yet ({error}).",
                suggestion="It is rolled back at the next start. Fix the cause first.",
            ) from error


class _Exchange:
    """Execution of one apply, after its intent is on disk."""

    def __init__(self, plan: ApplyPlan, disk: Disk) -> None:
        self._plan = plan
        self._disk = disk

    def run(self) -> set[str]:
        """Do all of it; the emptied folders that went."""
        intent = self._plan.intent
        arriving = [write for write in self._plan.writes if not write.step.deletes]
        # Each file waits for the disk to have it, and many can wait at once. None is left waiting at the end.
        with ThreadPoolExecutor(_STAGED_AT_ONCE, "portico-stage") as threads:
            for _ in threads.map(self._stage, arriving):
                pass
        for write in self._plan.writes:
            if write.step.deletes and write.step.kept is not None:
                self._check_unchanged(write)
                self._disk.rename(Path(write.step.target), Path(write.step.kept))
        gone = {folder.path for folder in intent.emptied if self._removed(Path(folder.path))}
        for folder in intent.made:
            if not Path(folder.path).is_dir():
                self._disk.make_folder(Path(folder.path), folder.mode)
        for write in arriving:
            self._put(write)
        # A folder's name is safe once the folder above it is.
        paths = (path for step in intent.steps for path in (step.target, step.kept or step.target))
        touched = {Path(folder) for folder in {os.path.dirname(path) for path in paths}}  # noqa: PTH120 - of many
        touched |= {Path(folder.path).parent for folder in (*intent.made, *intent.emptied)}
        for place in sorted(touched):
            self._disk.sync_folder(place)
        return gone

    def _stage(self, write: PlannedWrite) -> None:
        if write.step.staged is not None and write.data is not None:
            owner = None if write.found is None else write.found.owner
            self._disk.write_new(Path(write.step.staged), write.data, write.mode, owner, write.like)

    def _put(self, write: PlannedWrite) -> None:
        self._check_unchanged(write)
        target = Path(write.step.target)
        if write.step.kept is not None:
            self._disk.keep(target, Path(write.step.kept))
        if write.step.staged is not None:
            self._disk.rename(Path(write.step.staged), target)

    def _removed(self, folder: Path) -> bool:
        if real_path.names(folder):
            return False
        self._disk.remove_folder(folder)
        return True

    def _check_unchanged(self, write: PlannedWrite) -> None:
        """Check that the file has not been written since it was planned."""
        facts = real_path.find(write.step.target)
        stamp = None if facts is None else stamp_of(facts)
        planned = None if write.found is None else write.found.stamp
        if stamp != planned:
            raise _ChangedMeanwhile


def undo_of(plan: ApplyPlan, gone: Collection[str]) -> ChangeSet:
    """Change set that reverts an executed plan; `gone` are the folders that it removed."""
    root = Path(plan.intent.root)

    def shown(path: str) -> str:
        return Path(path).relative_to(root).as_posix()

    return ChangeSet(
        changes=tuple(map(_reversed, plan.effective)),
        made=tuple(MadeFolder(shown(one.path), one.mode) for one in plan.intent.emptied if one.path in gone),
        emptied=tuple(shown(one.path) for one in plan.intent.made),
    )


def _reversed(change: FileChange) -> FileChange:
    turned = {ChangeOperation.CREATE: ChangeOperation.DELETE, ChangeOperation.DELETE: ChangeOperation.CREATE}
    return FileChange(
        path=change.old_path or change.path,
        operation=turned.get(change.operation, change.operation),
        old_path=change.path if change.old_path is not None else None,
        old=change.new,
        new=change.old,
        old_mode=change.new_mode,
        new_mode=change.old_mode,
    )


def _apply_failure(plan: ApplyPlan, error: OSError, taken_back: Rollback) -> PorticoError:
    """Error that names the person's file rather than a temporary one."""
    if taken_back.edits:
        notice = taken_back.notice
        return StoreFailed(
            f"The apply failed ({error.strerror or error}). {notice.text}", suggestion=notice.details
        )
    named = {
        path: step.target for step in plan.intent.steps for path in (step.staged, step.kept, step.target)
    }
    for name in (error.filename2, error.filename):
        if isinstance(name, str | os.PathLike) and os.fspath(name) in named:
            return unapplied(str(Path(named[os.fspath(name)]).relative_to(plan.intent.root)), error)
    return unapplied("The change", error)
