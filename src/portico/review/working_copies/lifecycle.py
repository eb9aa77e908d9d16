"""Working copies of all sessions: open, find, refresh, scan for changes, close.

The person's tree and repository are read and never written. The state that a working copy began with is its
base, kept in the state folder so that any process can find out later what the agent changed. In proposal
mode, a working copy has a repository of its own over the person's objects, so that git works there without
effect outside; in worktree mode, it is a git worktree on a branch.
"""

import asyncio
import contextlib
import hashlib
import os
import re
import secrets
import shutil
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType

import msgspec

from portico.domain.errors import FileMissing, InvalidInput, StoreFailed
from portico.domain.reviews import ReviewMode
from portico.files.folders import make_folders
from portico.files.private import make_private_folder
from portico.git.repository import find_repository
from portico.review.files.omitted_file import OmittedFile
from portico.review.files.process_lock import process_lock
from portico.review.files.worker_thread import run_to_end
from portico.review.text.change_set import ChangeSet
from portico.review.working_copies.changes import ChangeScanner, ScannedChanges, prefix_of
from portico.review.working_copies.creation import (
    WorkingCopyCreator,
    check_copyable,
    ignored_list_path,
    open_tree,
    repository_folder,
    resolved,
)
from portico.review.working_copies.decisions import DecisionFollower
from portico.review.working_copies.initial_copy import WorkingCopyBounds
from portico.review.working_copies.record import WorkingCopyRecord
from portico.review.working_copies.refresh import CopyRefresher, RefreshResult, adopt
from portico.review.working_copies.repository import update_repository
from portico.review.working_copies.steps import finish_steps
from portico.review.working_copies.worktrees import Worktrees

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class WorkingCopy(msgspec.Struct, frozen=True, kw_only=True):
    """Tree in which a session works: `folder` corresponds to the person's `workspace`.

    `top` is the whole tree that contains `folder`, made from the person's tree at `root`: their repository,
    or the workspace itself. `left_out` are files that the agent does not have, or cannot propose to change.
    """

    session: str
    mode: ReviewMode
    workspace: Path
    folder: Path
    top: Path
    root: Path
    left_out: tuple[OmittedFile, ...] = ()


class WorkingCopies:
    """Working copies of all sessions, in one folder of `ours`, the state folder, which is never copied.

    `linked` are names of ignored folders that are shared with the agent instead of copied.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        ours: Path | None = None,
        linked: tuple[str, ...] = (),
        bounds: WorkingCopyBounds | None = None,
    ) -> None:
        self._folder = resolved(folder)
        self._ours = self._folder if ours is None else resolved(ours)
        self._environ = environ
        self._bounds = bounds or WorkingCopyBounds()
        self._worktrees = Worktrees(self._folder / "worktrees", environ)
        self._maker = WorkingCopyCreator(self._ours, environ, self._bounds, linked)

    def check(self, workspace: Path) -> None:
        """InvalidInput for a folder that cannot be copied."""
        check_copyable(resolved(workspace))

    async def open(self, workspace: Path, session: str, *, mode: ReviewMode = "proposal") -> WorkingCopy:
        """The session's working copy, created if it does not exist or was deleted."""
        if mode not in ("proposal", "worktree"):
            raise InvalidInput(f"A session in {mode} mode works in the workspace itself.")
        real = resolved(workspace)
        if not real.is_dir():
            raise InvalidInput(f"{workspace} is not a folder, so no agent can work in it.")
        async with self._alone(real, session) as place:
            record = WorkingCopyRecord.load(place)
            if record is not None and record.mode != mode:
                raise InvalidInput(
                    f"The session {session} works in {record.mode} mode already.",
                    suggestion="Apply or discard what it proposes and close it, then begin in another mode.",
                )
            if record is None or not record.top.is_dir():
                record = await self._made(place, real, session, mode)
            await _caught_up(record)
            working_copy = _working_copy(record)
            await asyncio.to_thread(_ensure, working_copy.folder)
            return working_copy

    async def find(self, workspace: Path, session: str) -> WorkingCopy | None:
        """The working copy of a session, if it has one."""
        async with self._alone(resolved(workspace), session) as place:
            record = WorkingCopyRecord.load(place)
            return None if record is None else _working_copy(record)

    async def refresh(
        self, working_copy: WorkingCopy, typed: Mapping[str, bytes] = MappingProxyType({})
    ) -> RefreshResult:
        """Take over the person's changes in files that the agent did not change, and unsaved text (`typed`).

        Worktrees take over unsaved text only.
        """
        if working_copy.mode != "proposal":
            taken = [path for path, data in typed.items() if await self.adopt(working_copy, path, data)]
            return RefreshResult(tuple(taken))
        async with self._opened(working_copy) as record:
            if not record.root.is_dir():
                raise FileMissing(f"{record.root} is gone, so nothing can be taken over from it.")
            listing = await self._maker.trees(record).of_person(record.root, self._ours)
            await update_repository(repository_folder(record), record.root, self._environ)
            refresher = CopyRefresher(record, open_tree(record), self._bounds, typed)
            return await run_to_end(lambda _: refresher.refresh(listing.files))

    async def changes(self, working_copy: WorkingCopy) -> ChangeSet:
        """The agent's changes since the base, with contents. Paths are relative to the workspace."""
        return (await self.survey(working_copy)).changes

    async def survey(self, working_copy: WorkingCopy) -> ScannedChanges:
        """The agent's changes, and those that cannot be proposed."""
        async with self._opened(working_copy) as record:
            listed = await self._maker.trees(record).of_working_copy(record.top)
            surveyor = ChangeScanner(record, open_tree(record), self._bounds)

            def look(_: threading.Event) -> ScannedChanges:
                survey = surveyor.survey(listed, ignored_list_path(record))
                if surveyor.renewed:
                    record.save()
                return survey

            return await run_to_end(look)

    async def follow_decisions(
        self,
        working_copy: WorkingCopy,
        applied: ChangeSet,
        discarded: ChangeSet,
        typed: Mapping[str, bytes] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        """Bring applied and discarded parts into the working copy. An undo is applied like any change.

        Unsaved text (`typed`) counts as the person's. Can be repeated. Returns paths in which a discarded
        part can no longer be separated from the rest; they are not changed.
        """
        async with self._opened(working_copy) as record:
            follower = DecisionFollower(record, open_tree(record), self._bounds, typed)
            return await run_to_end(lambda _: follower.follow(applied, discarded))

    async def adopt(self, working_copy: WorkingCopy, path: str, data: bytes) -> bool:
        """Take over unsaved text of the person, if the agent did not change the file."""
        async with self._opened(working_copy) as record:
            return await run_to_end(lambda _: adopt(record, open_tree(record), path, data))

    async def close(self, working_copy: WorkingCopy) -> None:
        """Remove the working copy, if it exists."""
        async with self._alone(working_copy.workspace, working_copy.session) as place:
            if working_copy.mode == "worktree":
                await self._close_worktree(working_copy)
            await run_to_end(lambda _: _sweep(place))

    async def _close_worktree(self, working_copy: WorkingCopy) -> None:
        if working_copy.root.is_dir() and await find_repository(working_copy.root, self._environ) is not None:
            worktree = await self._worktrees.find(working_copy.workspace, working_copy.session)
            if worktree is not None:
                await self._worktrees.close(worktree)
        elif working_copy.top.is_relative_to(self._folder):  # There is no repository left that knows of it.
            await run_to_end(lambda _: _remove(working_copy.top))

    async def _made(self, place: Path, workspace: Path, session: str, mode: ReviewMode) -> WorkingCopyRecord:
        try:
            await run_to_end(lambda _: _clear(place))
            if mode == "worktree":
                return await self._maker.worktree(place, workspace, session, self._worktrees)
            return await self._maker.copy(place, workspace, session)
        except BaseException as error:
            await run_to_end(lambda _: _sweep(place))
            if isinstance(error, OSError):
                raise StoreFailed(
                    f"The copy for the agent could not be made ({error.strerror or error}).",
                    suggestion="Free some space if the disk is full, then try again.",
                ) from error
            raise

    @asynccontextmanager
    async def _alone(self, workspace: Path, session: str) -> AsyncIterator[Path]:
        """Folder of a working copy, locked."""
        if not _SESSION.fullmatch(session):
            raise InvalidInput(f"“{session}” cannot be the name of a session.")
        key = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        locks = self._folder / "locks"
        make_private_folder(locks)
        # Lock files must not be removed, so a few are shared by all working copies.
        shared = hashlib.sha256(f"{key}/{session}".encode()).hexdigest()[:3]
        async with process_lock(locks / shared):
            yield self._folder / key / session

    @asynccontextmanager
    async def _opened(self, working_copy: WorkingCopy) -> AsyncIterator[WorkingCopyRecord]:
        """Record of a working copy, after interrupted steps are finished."""
        async with self._alone(working_copy.workspace, working_copy.session) as place:
            record = WorkingCopyRecord.load(place)
            if record is None or not record.top.is_dir():
                raise FileMissing(
                    f"The copy that the session {working_copy.session} worked in is gone from {working_copy.top}.",
                    suggestion="It was deleted, or the session was closed. Open the session again.",
                )
            try:
                await _caught_up(record)
                yield record
            except OSError as error:
                raise StoreFailed(
                    f"The copy for the agent could not be brought up to date ({error.strerror or error}).",
                    suggestion="Free some space if the disk is full, then try again; what was begun is finished then.",
                ) from error


async def _caught_up(record: WorkingCopyRecord) -> None:
    if record.steps:
        await run_to_end(lambda _: finish_steps(record, open_tree(record)))


def _ensure(folder: Path) -> None:
    """Create the agent's current folder again if it was removed or replaced by a link."""
    try:
        make_folders(folder).close()
    except OSError as error:
        raise StoreFailed(
            f"{folder}, where the agent works, is not a folder any more ({error.strerror}).",
            suggestion="Remove what is in its place, then open the session again.",
        ) from error


def _clear(place: Path) -> None:
    _sweep(place)
    make_private_folder(place)


def _sweep(place: Path) -> None:
    """Remove a working copy, first by a rename, and leftovers of earlier ones."""
    if place.exists():
        place.rename(place.with_name(f".gone-{secrets.token_hex(6)}"))
    for gone in place.parent.glob(".gone-*"):
        _remove(gone)


def _remove(folder: Path) -> None:
    """Remove a tree, folders that an agent made read-only included."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for parent, _, _ in os.walk(folder):
            with contextlib.suppress(OSError):
                Path(parent).chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)


def _working_copy(record: WorkingCopyRecord) -> WorkingCopy:
    return WorkingCopy(
        session=record.session,
        mode=record.mode,
        workspace=record.workspace,
        folder=record.top / prefix_of(record),
        top=record.top,
        root=record.root,
        left_out=record.left_out,
    )
