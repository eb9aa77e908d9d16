"""Intent log of an apply: what it is going to do, on disk before it begins, and whether it was done.

An intent is `begun` until one rename makes it `done`; that rename is the moment at which an apply has happened.
Whoever finds a begun intent without its owner backs it out; a done one only needs its leftovers removed.
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
    """One file: its place, where the new content waits, where the old one is kept. None is no file."""

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
    """All that an apply is going to touch. Made folders go from outer to inner, emptied ones the other way.

    The `receipt` is a file that gets its new content if the apply has happened, and only then.
    """

    root: str
    steps: tuple[IntentStep, ...]
    made: tuple[IntentFolder, ...]
    emptied: tuple[IntentFolder, ...]
    receipt: str | None = None


class _Rooted(msgspec.Struct, frozen=True):
    """As much of an intent as says which folder it is about."""

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
        """The moment at which it has happened."""
        done = begun.with_suffix(".done")
        self._disk.rename(begun, done)
        return done

    def sync(self) -> None:
        """Let the moment survive a power cut."""
        self._disk.sync_folder(self._folder)

    def forget(self, record: Path) -> None:
        self._disk.remove(record)

    @property
    def any_left(self) -> bool:
        """Whether somebody is at work here, or left something behind."""
        return has_intents(self._folder)

    def roots(self) -> set[Path]:
        """The folders that an apply is under way in, or was cut short in."""
        found = set()
        for record in (*self._folder.glob("*.begun"), *self._folder.glob("*.done")):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                found.add(Path(codecs.decode_json(record.read_bytes(), _Rooted).root))
        return found

    def left(self) -> Iterator[tuple[Path, ApplyIntent | None]]:
        """What earlier processes left, and None for an intent that cannot be read. Drafts touched nothing."""
        for draft in sorted(self._folder.glob("*.draft")):
            self._disk.remove(draft)
        for record in sorted((*self._folder.glob("*.begun"), *self._folder.glob("*.done"))):
            try:
                yield record, codecs.decode_json(record.read_bytes(), ApplyIntent)
            except (msgspec.DecodeError, OSError):
                yield record, None
