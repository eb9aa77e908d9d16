"""Detection of changes to the person's files during a turn that must not touch them.

A mode in which the agent works elsewhere, or only reads, is a promise of Portico and no wall: a program can write by
full path. Where nothing confines it, the files are noted before a turn and compared after it. Of an agent in a
worktree, which has to write the branches of the repository, git's files are compared though it is confined. What is
noted lies in the state folder, so that the next Portico can compare after a kill.
"""

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from portico.domain.codecs import decode_msgpack
from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Notice
from portico.domain.notice_codes import CHANGED_OUTSIDE_REVIEW
from portico.domain.secret_files import is_private
from portico.files.private import make_private_folder, replace_private
from portico.files.regular import read_regular
from portico.git.repository import find_repository
from portico.processes.tasks import cancel_and_wait
from portico.review.checkpoints.comparison import ChangeKind
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.checkpoints.snapshot_repository import SnapshotIncomplete
from portico.review.driver import short_label
from portico.review.files.file_stats import FileStats, is_git_path, list_stats
from portico.review.files.process_lock import cannot_write
from portico.review.files.worker_thread import run_to_end
from portico.review.git.file_lister import inside
from portico.review.session_records import file_name
from portico.review.text.names import name_some

_LISTING_SECONDS = 5.0
_GIVING_UP_SECONDS = 600.0
_LISTED = 100
_GIT, _WORK, _IGNORED = range(3)
_PATH_BYTES = 16 * 1024


class _Noted(msgspec.Struct, frozen=True):
    """State of the files before a turn, or of git's alone. Without a `checkpoint` they cannot be restored;
    `problem` says why.
    """

    checkpoint: str | None
    problem: str | None
    stats: FileStats
    git_only: bool = False


class OutsideChanges:
    """Changes outside the review, for all sessions. Changes in `ours`, the state folder, are Portico's own."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        checkpoints: Checkpoints,
        ours: Path,
        *,
        seconds: float = _LISTING_SECONDS,
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._checkpoints = checkpoints
        self._ours = ours
        self._seconds = seconds
        self._rest: dict[Path, asyncio.Task[None]] = {}

    async def note(
        self, session: str, workspace: Path, label: str, *, git_only: bool = False
    ) -> list[AnyPayload]:
        """Note the state of the files before a turn, or of git's alone; report changes of a killed turn."""
        late = await self.find(session, workspace)
        # Before the checkpoint is taken, so that no change between the two goes unseen.
        stats = await self._list(workspace, git_only=git_only)
        if git_only:
            await asyncio.to_thread(self._write, session, _Noted(None, None, stats, git_only=True))
            return late
        if await asyncio.to_thread(self._note_again, session, workspace, stats):
            return late
        checkpoint, problem = None, None
        try:
            checkpoint = (await self._checkpoints.watch(workspace, short_label(label or "a turn"))).id
        except SnapshotIncomplete as error:
            problem = error.message
            self._keep_rest(workspace)
        except PorticoError as error:
            problem = error.message
        await asyncio.to_thread(self._write, session, _Noted(checkpoint, problem, stats))
        return late

    async def find(self, session: str, workspace: Path, *, beside: bool = False) -> list[AnyPayload]:
        """Changes since the files were noted, reported once. `beside` is true if another session writes them
        too.
        """
        noted = await asyncio.to_thread(self._read, self._path(session))
        if noted is None:
            return []
        await self._stop_keeping(workspace)
        now = await self._list(workspace, git_only=noted.git_only)
        if noted.stats.proves_same(now):
            await asyncio.to_thread(self._path(session).replace, self._last(workspace))
            return []
        touched = noted.stats.differing(now)
        checkpoint, problem = noted.checkpoint, noted.problem
        changes: Mapping[str, ChangeKind] = {path: _kind(noted.stats, now, path) for path in touched}
        unheld = frozenset(changes) if noted.git_only else frozenset[str]()
        if checkpoint is not None:
            try:
                compared = await self._checkpoints.compare(workspace, checkpoint, touched)
                unheld = compared.unheld
                changes = {**{path: changes[path] for path in unheld}, **compared.changes}
            except PorticoError as error:
                checkpoint, problem = None, error.message
        await asyncio.to_thread(self._path(session).unlink, missing_ok=True)
        if not changes:
            return []
        way_back = checkpoint if changes.keys() > unheld and not beside else None
        return [_notice(changes, unheld, way_back, problem, beside=beside)]

    def forget(self, session: str) -> None:
        self._path(session).unlink(missing_ok=True)

    async def _list(self, workspace: Path, *, git_only: bool) -> FileStats:
        folder = await asyncio.to_thread(workspace.resolve)
        git_folders = await self._git_folders(folder)
        ours = inside(self._ours, folder)
        without = () if ours is None else (ours,)

        gave_up = self._beside(workspace, "gave-up")

        def work(stop: threading.Event) -> FileStats:
            # A folder that took too long is not looked through again for a while, so that no turn waits for it.
            seconds = 0.0 if git_only or _is_recent(gave_up) else self._seconds
            found = list_stats(folder, git_folders, without=without, seconds=seconds, stop=stop)
            if seconds and not found.whole and not stop.is_set():
                make_private_folder(self._folder)
                gave_up.touch(mode=0o600)
            return found

        return await run_to_end(work)

    async def _git_folders(self, folder: Path) -> list[Path]:
        """Git folders of a folder's repository; a linked worktree has two."""
        try:
            repository = await find_repository(folder, self._environ)
        except PorticoError:
            return []
        if repository is None:
            return []
        own = repository.git_folder
        try:
            common = os.fsdecode(read_regular(own / "commondir", limit=_PATH_BYTES)).strip()
        except OSError:
            return [own]
        return [own, own / common]

    def _keep_rest(self, workspace: Path) -> None:
        """Finish the checkpoint while the agent works, so that the next turn has one."""
        going_on = self._checkpoints.continue_snapshot(workspace)
        self._rest[workspace] = asyncio.create_task(going_on, name=f"keeping the rest of {workspace}")

    async def _stop_keeping(self, workspace: Path) -> None:
        if (task := self._rest.pop(workspace, None)) is not None:
            await cancel_and_wait(task)

    def _note_again(self, session: str, workspace: Path, stats: FileStats) -> bool:
        """Whether the files are as they were after the last turn here, and what was noted for that holds on."""
        last = self._read(self._last(workspace))
        if last is None or last.checkpoint is None or not last.stats.proves_same(stats):
            return False
        try:
            self._last(workspace).replace(self._path(session))
        except FileNotFoundError:
            return False  # Another session was faster.
        return True

    def _write(self, session: str, noted: _Noted) -> None:
        try:
            make_private_folder(self._folder)
            replace_private(self._path(session), msgspec.msgpack.encode(noted))
        except OSError as error:
            raise cannot_write(self._folder, error) from error

    def _read(self, path: Path) -> _Noted | None:
        try:
            return decode_msgpack(path.read_bytes(), _Noted)
        except (OSError, msgspec.DecodeError):
            return None

    def _path(self, session: str) -> Path:
        return self._folder / f"{file_name(session)}.noted"

    def _last(self, workspace: Path) -> Path:
        return self._beside(workspace, "last")

    def _beside(self, workspace: Path, kind: str) -> Path:
        """A file for a workspace, whichever session works there."""
        name = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:24]
        return self._folder / f"{name}.{kind}"


def _is_recent(place: Path) -> bool:
    try:
        return 0 <= time.time() - place.stat().st_mtime < _GIVING_UP_SECONDS
    except OSError:
        return False


def _kind(before: FileStats, now: FileStats, path: str) -> ChangeKind:
    """Kind of change of a file of which only stat facts are known."""
    old, new = before.files.get(os.fsencode(path)), now.files.get(os.fsencode(path))
    if old is None or new is None:
        return "new" if old is None else "removed"
    return "permissions" if old[1:3] == new[1:3] and old[0] != new[0] else "changed"


def _notice(
    changes: Mapping[str, ChangeKind],
    unheld: Collection[str],
    checkpoint: str | None,
    problem: str | None,
    *,
    beside: bool,
) -> Notice:
    paths = sorted(changes, key=lambda path: (_weight(path, unheld), path))
    named = name_some([_plain(path) for path in paths])
    which = "This file" if len(paths) == 1 else "These files"
    lines = [_line(path, changes[path], kept=path not in unheld) for path in paths[:_LISTED]]
    if len(paths) > _LISTED:
        lines.append(f"and {len(paths) - _LISTED} more")
    if beside:
        lines.append("Another session is working in your folder, so these may be its changes.")
    elif problem is not None:
        lines.append(f"They cannot be restored: {problem}")
    least = min(_weight(path, unheld) for path in paths)
    harmless = least == _IGNORED or (beside and least != _GIT)
    return Notice(
        level="info" if harmless else "warning",
        text=f"{which} changed in your folder during this turn, outside the review: {named}.",
        details="\n".join(lines),
        code=CHANGED_OUTSIDE_REVIEW,
        paths=tuple(map(_plain, paths[:_LISTED])),
        checkpoint_id=checkpoint,
    )


def _line(path: str, kind: ChangeKind, *, kept: bool) -> str:
    line = f"{kind}: {_plain(path)}"
    if is_git_path(os.fsencode(path)) and not _names_commit(path):
        return f"{line} (git obeys it and it cannot be restored; look at it before you use git here)"
    return line if kept else f"{line} (not kept, so it cannot be restored)"


def _names_commit(path: str) -> bool:
    return path.endswith("/HEAD") or "/refs/heads/" in path


def _weight(path: str, unheld: Collection[str]) -> int:
    """Sort key: files that git runs first, then the person's work and secrets, then ignored files."""
    if is_git_path(os.fsencode(path)):
        return _GIT
    return _IGNORED if path in unheld and not is_private(path.split("/")) else _WORK


def _plain(path: str) -> str:
    """A path that any reader can show: what is no text, or would act on a screen, comes out escaped."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in path)
