"""Intent log of an apply: what it is going to do, on disk before it begins, and whether it was done.

An intent is `begun` until one rename makes it `done`; at that moment the apply has happened. A begun intent
without a running owner is rolled back; for a done one, only leftovers are removed.
"""

import contextlib
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.review.files.disk import Disk
from portico.review.files.leftovers import has_intents


class IntentStep(msgspec.Struct, frozen=True, kw_only=True):
    """One file: its path, and the paths of its staged new content and of its backup. None means no file."""

    target: str
    staged: str | None
    kept: str | None
    new_digest: str | None

    @property
    def deletes(self) -> bool:
        return self.staged is None


class IntentFolder(msgspec.Struct, frozen=True):
    path: str
    mode: int | None


class ApplyIntent(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an apply is going to touch. Created folders are listed from outer to inner, removed
    ones in reverse.

    The `receipt` is a file that gets its new content if and only if the apply has happened.
    """

    root: str
    steps: tuple[IntentStep, ...]
    made: tuple[IntentFolder, ...]
    emptied: tuple[IntentFolder, ...]
    receipt: str | None = None


class _Rooted(msgspec.Struct, frozen=True):
    """Part of an intent that names its folder."""

    root: str


class IntentLog:
    """The intents in a state folder."""

    def __init__(self, state: Path, disk: Disk) -> None:
        self._folder = state
        self._disk = disk

    def begin(self, intent: ApplyIntent) -> Path:
        name = secrets.token_hex(8)
        draft = self._folder / f"{name}.draft"
        begun = self._folder / f"{name}.begun"
        try:
            self._disk.write_new(draft, msgspec.json.encode(intent), 0o600)
            self._disk.rename(draft, begun)
            self._disk.sync_folder(self._folder)
        except OSError:
            for record in (draft, begun):
                record.unlink(missing_ok=True)
            raise
        return begun

    def finish(self, begun: Path) -> Path:
        """Mark the apply as done, by one rename."""
        done = begun.with_suffix(".done")
        self._disk.rename(begun, done)
        return done

    def sync(self) -> None:
        """Make the rename durable."""
        self._disk.sync_folder(self._folder)

    def forget(self, record: Path) -> None:
        self._disk.remove(record)

    @property
    def any_left(self) -> bool:
        """Whether an apply is running, or was interrupted."""
        return has_intents(self._folder)

    def roots(self) -> set[Path]:
        """Folders with a running or interrupted apply."""
        found = set()
        for record in (*self._folder.glob("*.begun"), *self._folder.glob("*.done")):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                found.add(Path(codecs.decode_json(record.read_bytes(), _Rooted).root))
        return found

    def left(self) -> Iterator[tuple[Path, ApplyIntent | None]]:
        """Intents of earlier processes; None for an unreadable one. Drafts are removed."""
        for draft in sorted(self._folder.glob("*.draft")):
            self._disk.remove(draft)
        for record in sorted((*self._folder.glob("*.begun"), *self._folder.glob("*.done"))):
            try:
                yield record, codecs.decode_json(record.read_bytes(), ApplyIntent)
            except (msgspec.DecodeError, OSError):
                yield record, None
