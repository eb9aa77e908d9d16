"""Review record of each session in the state folder: mode, folder, branch, and a restore or finish in
progress.

It is all that a door of another process needs to find proposals, checkpoints and branches of a session again.
"""

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.domain.errors import StoreFailed
from portico.domain.reviews import ReviewMode
from portico.files.private import make_private_folder
from portico.review.files.disk import Disk
from portico.review.files.process_lock import cannot_write, process_lock

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


class PendingRestore(msgspec.Struct, frozen=True):
    """A restore that is under way: where it goes back to, and which checkpoint holds what was there."""

    checkpoint: str
    kept: str


class PendingFinish(msgspec.Struct, frozen=True):
    """A worktree that is being brought home: which revision of its proposal is about to be in the person's files.

    The `commit` that shall follow was made when their HEAD was at `home`.
    """

    proposal: str
    revision: int
    home: str
    commit: str


class ReviewRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`slug` names the branch of a session that has begun one. `folder` is where its agent works."""

    session: str
    workspace: str
    mode: ReviewMode
    folder: str
    slug: str | None = None
    restoring: PendingRestore | None = None
    homecoming: PendingFinish | None = None


class ReviewRecords:
    """The arrangements of all sessions, each in a file of its own that is replaced by one rename."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._disk = Disk()
        self._busy: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def held(self, session: str) -> AsyncIterator[None]:
        """Lock a session, also against other processes."""
        beside = self._folder / f"{file_name(session)}.lock"
        async with self._busy.setdefault(session, asyncio.Lock()), process_lock(beside):
            yield

    def find(self, session: str) -> ReviewRecord | None:
        path = self._path(session)
        try:
            return codecs.decode_json(path.read_bytes(), ReviewRecord)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.DecodeError) as error:
            raise StoreFailed(
                f"The review record of session {session} cannot be read from {path}: {error}.",
                suggestion="Remove that file; proposals and checkpoints are kept elsewhere.",
            ) from error

    def keep(self, review_record: ReviewRecord) -> None:
        path = self._path(review_record.session)
        beside = path.with_suffix(".new")
        try:
            make_private_folder(self._folder)
            self._disk.remove(beside)
            self._disk.write_new(beside, msgspec.json.encode(review_record), 0o600)
            self._disk.rename(beside, path)
            self._disk.sync_folder(self._folder)
        except OSError as error:
            raise cannot_write(self._folder, error) from error

    def forget(self, session: str) -> None:
        """Delete the record of a session, which the caller holds."""
        try:
            self._path(session).unlink(missing_ok=True)
            self._path(session).with_suffix(".lock").unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        self._busy.pop(session, None)

    def _path(self, session: str) -> Path:
        return self._folder / f"{file_name(session)}.json"


def file_name(session: str) -> str:
    """A session's id if it can be a name, as ours can; those of other programs may be anything."""
    if _SAFE.fullmatch(session):
        return session
    return f"other-{hashlib.sha256(os.fsencode(session)).hexdigest()[:24]}"
