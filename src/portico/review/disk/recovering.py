"""Brings a folder back to what it was after an apply that did not come to its end.

Each step can be told from the names that are there, so that recovery may itself be killed and begun again. What
a person wrote meanwhile is theirs: it stays, and is named.
"""

import os
from pathlib import Path

import msgspec

from portico.review.disk.calls import Disk, digest_at
from portico.review.disk.intents import Intent, Intents, Step


class Recovered(msgspec.Struct, frozen=True):
    """Folders brought back, files left as a person has them now, and folders that could not be brought back."""

    taken_back: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()


def recover_all(intents: Intents, disk: Disk) -> Recovered:
    taken_back: list[str] = []
    left_alone: list[str] = []
    unfinished: list[str] = []
    for record, intent in intents.left():
        if intent is None:
            unfinished.append(str(record))
            continue
        try:
            if record.suffix == ".done":
                hand_over(intent, disk)
            if not Path(intent.root).is_dir():
                # It may be on a disk that is not mounted now.
                unfinished.append(intent.root)
                continue
            if record.suffix == ".done":
                clear_away(intent, disk)
            else:
                left_alone += back_out(intent, disk)
                taken_back.append(intent.root)
            intents.forget(record)
        except OSError:
            unfinished.append(intent.root)
    return Recovered(tuple(taken_back), tuple(left_alone), tuple(unfinished))


def back_out(intent: Intent, disk: Disk) -> list[str]:
    """Undo what was begun, the last thing first. The files that somebody else wrote since are named."""
    left_alone = [step.target for step in intent.steps if not step.deletes and not _restore(step, disk)]
    for folder in reversed(intent.made):
        place = Path(folder.path)
        if place.is_dir() and not place.is_symlink() and not any(place.iterdir()):
            disk.remove_folder(place)
    for folder in reversed(intent.emptied):
        if not os.path.lexists(folder.path):
            disk.make_folder(Path(folder.path), folder.mode)
    left_alone += [step.target for step in intent.steps if step.deletes and not _bring_back(step, disk)]
    for place in sorted({Path(step.target).parent for step in intent.steps}):
        disk.sync_folder(place)
    if intent.receipt is not None:
        disk.remove(draft_of(intent.receipt))
    return left_alone


def draft_of(receipt: str) -> Path:
    """Where a receipt waits for the moment at which the apply has happened."""
    return Path(f"{receipt}.draft")


def hand_over(intent: Intent, disk: Disk) -> None:
    """Put the receipt of an apply that has happened in its place, unless it is there."""
    if intent.receipt is not None and draft_of(intent.receipt).exists():
        disk.rename(draft_of(intent.receipt), Path(intent.receipt))
        disk.sync_folder(Path(intent.receipt).parent)


def clear_away(intent: Intent, disk: Disk) -> None:
    """Remove what only a way back needed."""
    for step in intent.steps:
        if step.kept is not None and os.path.lexists(step.kept):
            disk.remove(Path(step.kept))


def _restore(step: Step, disk: Disk) -> bool:
    """Take a written file back. False if somebody else wrote it since."""
    target = Path(step.target)
    staged = None if step.staged is None else Path(step.staged)
    kept = None if step.kept is None else Path(step.kept)
    if staged is not None and os.path.lexists(staged):
        # It was not exchanged. The staged file goes last, for it is what says so.
        if kept is not None:
            disk.remove(kept)
        disk.remove(staged)
        return True
    if kept is None:
        if digest_at(target) == step.new_digest:
            disk.remove(target)
            return True
        return not target.is_file()
    if not os.path.lexists(kept):
        return True
    if digest_at(target) in {step.new_digest, None} and (target.is_symlink() or not target.is_dir()):
        disk.rename(kept, target)
        return True
    disk.remove(kept)
    return False


def _bring_back(step: Step, disk: Disk) -> bool:
    """Give a removed file its name back. False if somebody else took the name."""
    kept = None if step.kept is None else Path(step.kept)
    if kept is None or not os.path.lexists(kept):
        return True
    if os.path.lexists(step.target):
        disk.remove(kept)
        return False
    disk.rename(kept, Path(step.target))
    return True
