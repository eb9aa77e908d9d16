"""Records of rolled back applies and restores, kept until a session has shown them to the person.

A file that the person changed after the crash is not touched. The version that a rollback would have restored
is kept here for a month after it was shown, so that no content is lost.
"""

import contextlib
import os
import shutil
import time
from pathlib import Path
from typing import Literal

import msgspec

from portico.domain import codecs
from portico.domain.events import Notice
from portico.files.private import make_private_folder
from portico.review.files.disk import Disk
from portico.review.text.change_set import LINK_MODE
from portico.review.text.names import escape_bytes, name_some

_KEPT_SECONDS = 30 * 24 * 3600.0


class OwnEdit(msgspec.Struct, frozen=True):
    """File that the person changed after a crash; `earlier` is the path of its earlier version."""

    path: str
    earlier: str | None = None


class Rollback(msgspec.Struct, frozen=True):
    """Apply or restore that was rolled back in a folder, and the person's edits that were not touched."""

    root: str
    what: Literal["apply", "restore"]
    edits: tuple[OwnEdit, ...] = ()

    @property
    def notice(self) -> Notice:
        """Notice for the person."""
        subject = "An apply" if self.what == "apply" else "A restore"
        text = f"{subject} in {self.root} was interrupted and has been rolled back."
        if not self.edits:
            return Notice(level="info", text=text)
        named = name_some([edit.path for edit in self.edits])
        one = len(self.edits) == 1
        text += (
            f" You changed {named} in the meantime: "
            f"{'it stays' if one else 'they stay'} as you have {'it' if one else 'them'} now."
        )
        kept = [
            f"{edit.path}: the earlier version is in {edit.earlier}" for edit in self.edits if edit.earlier
        ]
        return Notice(level="warning", text=text, details="\n".join(kept) or None)


class Rollbacks:
    """Rollbacks that have not been shown, one file each, with the earlier versions beside it.

    Those in a folder of `ours`, such as working copies, are not shown.
    """

    def __init__(self, folder: Path, disk: Disk | None = None, *, ours: Path | None = None) -> None:
        self._folder = folder
        self._disk = disk or Disk()
        self._ours = None if ours is None else Path(os.path.realpath(ours))

    def concern_person(self, root: Path) -> bool:
        return self._ours is None or self._ours not in root.parents

    def begin(self, name: str, root: Path, what: Literal["apply", "restore"]) -> "RollbackRecord":
        """Record of the rollback with this name, continued if a killed process had begun it."""
        return RollbackRecord(self._folder / name, Rollback(escape_bytes(str(root)), what), self._disk)

    def take(self, workspace: Path) -> list[Rollback]:
        """Rollbacks in a workspace, above it or below it; they count as shown from now on."""
        found = []
        real = Path(os.path.realpath(workspace))
        for place in sorted(self._folder.glob("*.json")):
            rollback = _read(place)
            if rollback is not None and related(Path(rollback.root), real):
                found.append(rollback)
                with contextlib.suppress(OSError):
                    os.utime(place.with_suffix(""))  # Its time runs from now on.
                with contextlib.suppress(OSError):
                    place.unlink()
        return found

    def prune(self) -> None:
        """Remove earlier versions that were shown more than 30 days ago."""
        with contextlib.suppress(OSError):
            for place in self._folder.iterdir():
                if place.is_dir() and _age(place) > _KEPT_SECONDS and not _note_of(place).exists():
                    shutil.rmtree(place, ignore_errors=True)


class RollbackRecord:
    """Record of one rollback in progress. Every step can be repeated after a crash."""

    def __init__(self, place: Path, rollback: Rollback, disk: Disk) -> None:
        self._place = place
        self._note = _note_of(place)
        self._disk = disk
        self.rollback = _read(self._note) or rollback

    def spare(self, path: str, earlier: Path | None = None) -> None:
        """Leave a file as the person has it, and move the version from before to a place of its own."""
        kept = None if earlier is None else self._place / path
        edit = OwnEdit(escape_bytes(path), None if kept is None else escape_bytes(str(kept)))
        if edit not in self.rollback.edits:
            self.rollback = msgspec.structs.replace(self.rollback, edits=(*self.rollback.edits, edit))
            self._write()
        if earlier is None or kept is None:
            return
        if not os.path.lexists(kept):
            self._copy(earlier, kept)
        self._disk.remove(earlier)

    def finish(self) -> Rollback:
        """Write down that all else is as it was before."""
        if not self._note.exists():
            self._write()
        return self.rollback

    def _copy(self, source: Path, target: Path) -> None:
        make_private_folder(target.parent)
        found = self._disk.read_entry(source)
        beside = target.with_name(f"{target.name}.part")
        self._disk.remove(beside)
        self._disk.write_new(beside, found.data, LINK_MODE if found.mode == LINK_MODE else 0o600)
        self._disk.rename(beside, target)

    def _write(self) -> None:
        make_private_folder(self._note.parent)
        beside = self._place.with_name(f"{self._place.name}.part")
        self._disk.remove(beside)
        self._disk.write_new(beside, msgspec.json.encode(self.rollback), 0o600)
        self._disk.rename(beside, self._note)


def _note_of(place: Path) -> Path:
    """Path of the record, beside the earlier versions, until it is shown."""
    return place.with_name(f"{place.name}.json")


def _age(place: Path) -> float:
    return time.time() - place.stat().st_mtime


def related(one: Path, other: Path) -> bool:
    """Whether one folder is the other, or is somewhere in it."""
    return one == other or one in other.parents or other in one.parents


def _read(place: Path) -> Rollback | None:
    try:
        return codecs.decode_json(place.read_bytes(), Rollback)
    except (OSError, msgspec.DecodeError):
        return None
