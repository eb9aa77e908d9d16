"""Recovery of a folder after an apply that was interrupted.

The names that exist show which steps were done, so recovery itself can be interrupted and repeated. A file
that the person changed since is not touched: it is reported, and its earlier version is kept.
"""

import os
from pathlib import Path

import msgspec

from portico.review.files.disk import Disk, digest_at
from portico.review.files.intent_log import ApplyIntent, IntentLog, IntentStep
from portico.review.files.rollbacks import Rollback, RollbackRecord, Rollbacks


class RecoveredApplies(msgspec.Struct, frozen=True):
    """Applies that were rolled back, and folders that could not be recovered yet.

    An unreadable intent names no folder.
    """

    taken_back: tuple[Rollback, ...] = ()
    unfinished: tuple[str, ...] = ()


def recover_all(intents: IntentLog, disk: Disk, rollbacks: Rollbacks) -> RecoveredApplies:
    taken_back: list[Rollback] = []
    unfinished: list[str] = []
    for record, intent in intents.left():
        if intent is None:
            continue
        try:
            if record.suffix == ".done":
                publish_receipt(intent, disk)
            if not Path(intent.root).is_dir():
                # It may be on a disk that is not mounted now.
                unfinished.append(intent.root)
                continue
            if record.suffix == ".done":
                remove_backups(intent, disk)
            else:
                rollback_record = rollbacks.begin(record.stem, Path(intent.root), "apply")
                roll_back(intent, disk, rollback_record)
                if rollbacks.concern_person(Path(intent.root)):
                    taken_back.append(rollback_record.finish())
            intents.forget(record)
        except OSError:
            unfinished.append(intent.root)
    return RecoveredApplies(tuple(taken_back), tuple(unfinished))


def roll_back(intent: ApplyIntent, disk: Disk, rollback_record: RollbackRecord) -> None:
    """Undo the steps in reverse order. Files that the person changed since are not touched."""
    back = _WayBack(intent, disk, rollback_record)
    for step in intent.steps:
        if not step.deletes:
            back.take_back(step)
    for folder in reversed(intent.made):
        place = Path(folder.path)
        if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
            disk.remove_folder(place)
    for folder in reversed(intent.emptied):
        if not os.path.lexists(folder.path) and _is_plain(Path(folder.path).parent):
            disk.make_folder(Path(folder.path), folder.mode)
    for step in intent.steps:
        if step.deletes:
            back.bring_back(step)
    for place in sorted({Path(step.target).parent for step in intent.steps}):
        disk.sync_folder(place)
    if intent.receipt is not None:
        disk.remove(receipt_draft(intent.receipt))


def receipt_draft(receipt: str) -> Path:
    """Path of a receipt until the apply has happened."""
    return Path(f"{receipt}.draft")


def publish_receipt(intent: ApplyIntent, disk: Disk) -> None:
    """Put the receipt of an apply that has happened in its place, unless it is there."""
    if intent.receipt is not None and receipt_draft(intent.receipt).exists():
        disk.rename(receipt_draft(intent.receipt), Path(intent.receipt))
        disk.sync_folder(Path(intent.receipt).parent)


def remove_backups(intent: ApplyIntent, disk: Disk) -> None:
    """Remove files that only a rollback needs."""
    for step in intent.steps:
        if step.kept is not None and os.path.lexists(step.kept):
            disk.remove(Path(step.kept))


class _WayBack:
    def __init__(self, intent: ApplyIntent, disk: Disk, rollback_record: RollbackRecord) -> None:
        self._root = Path(intent.root)
        self._disk = disk
        self._rollback_record = rollback_record

    def take_back(self, step: IntentStep) -> None:
        """Give a written file its content from before."""
        target = Path(step.target)
        staged = None if step.staged is None else Path(step.staged)
        kept = None if step.kept is None else Path(step.kept)
        if staged is not None and os.path.lexists(staged):
            # It was not exchanged. The staged file goes last, for it is what says so.
            if kept is not None:
                self._disk.remove(kept)
            self._disk.remove(staged)
        elif kept is None:
            if not _is_plain(target.parent):
                return
            if digest_at(target) == step.new_digest:
                self._disk.remove(target)
            elif target.is_symlink() or target.is_file():
                self._spare(step, None)
        elif os.path.lexists(kept):
            if digest_at(target) == step.new_digest and _is_plain(target.parent):
                self._disk.rename(kept, target)
            else:
                self._spare(step, kept)

    def bring_back(self, step: IntentStep) -> None:
        """Give a removed file its name back."""
        target = Path(step.target)
        kept = None if step.kept is None else Path(step.kept)
        if kept is None or not os.path.lexists(kept):
            return
        if os.path.lexists(target) or not _is_plain(target.parent):
            self._spare(step, kept)
        else:
            self._disk.rename(kept, target)

    def _spare(self, step: IntentStep, kept: Path | None) -> None:
        self._rollback_record.spare(Path(step.target).relative_to(self._root).as_posix(), kept)


def _is_plain(folder: Path) -> bool:
    """Whether a folder is there, and no link leads elsewhere on the way to it."""
    return folder.is_dir() and os.path.realpath(folder) == str(folder)
