"""Workplaces: each session that proposes has a tree of its own, with the person's work in it, to do as it likes.

The person's tree and repository are read and never written. What a workplace began with is its base, kept in
the state folder so that any process can tell later what the agent changed. A workplace for a proposal is a
copy with a repository of its own over the person's objects, so that git works there and nothing of it is seen
outside; one in worktree mode is a git worktree on a branch.
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
from portico.review.branches.worktrees import Worktrees
from portico.review.checkpoints.shadows import LeftOut
from portico.review.disk.alone import alone
from portico.review.disk.threads import ended
from portico.review.git.repositories import find_repository
from portico.review.text.changes import ChangeSet
from portico.review.workplaces.adopting import adopt
from portico.review.workplaces.changes import Survey, Surveyor, prefix_of
from portico.review.workplaces.filling import Bounds
from portico.review.workplaces.making import Maker, carried_of, check_place, resolved, rules_of, tree_of
from portico.review.workplaces.records import Record
from portico.review.workplaces.refreshing import Refreshed, Refresher
from portico.review.workplaces.repository import follow
from portico.review.workplaces.settling import Settler
from portico.review.workplaces.steps import finish

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Workplace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a session works: `folder` is to it what `workspace` is to the person.

    `top` is the whole tree in which `folder` is, made from the person's tree at `root`: their repository, or
    the workspace itself. `left_out` names what the agent does not have, or has and cannot propose to change.
    """

    session: str
    mode: ReviewMode
    workspace: Path
    folder: Path
    top: Path
    root: Path
    left_out: tuple[LeftOut, ...] = ()


class Workplaces:
    """The workplaces of all sessions, in one folder of `ours`, the state folder, which no agent gets a copy of.

    `linked` are names of ignored folders that the person wants shared with the agent instead of copied.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        ours: Path | None = None,
        linked: tuple[str, ...] = (),
        bounds: Bounds | None = None,
    ) -> None:
        self._folder = resolved(folder)
        self._ours = self._folder if ours is None else resolved(ours)
        self._environ = environ
        self._bounds = bounds or Bounds()
        self._worktrees = Worktrees(self._folder / "worktrees", environ)
        self._maker = Maker(self._ours, environ, self._bounds, linked)

    def check(self, workspace: Path) -> None:
        """InvalidInput, with another way, for a folder of which there can be no copy."""
        check_place(resolved(workspace))

    async def open(self, workspace: Path, session: str, *, mode: ReviewMode = "proposal") -> Workplace:
        """The session's workplace: a new one, or the one it has. One deleted by hand is made anew."""
        if mode not in ("proposal", "worktree"):
            raise InvalidInput(f"A session in {mode} mode works in the workspace itself.")
        real = resolved(workspace)
        if not real.is_dir():
            raise InvalidInput(f"{workspace} is not a folder, so no agent can work in it.")
        async with self._alone(real, session) as place:
            record = Record.load(place)
            if record is not None and record.mode != mode:
                raise InvalidInput(
                    f"The session {session} works in {record.mode} mode already.",
                    suggestion="Apply or discard what it proposes and close it, then begin in another mode.",
                )
            if record is None or not record.top.is_dir():
                record = await self._made(place, real, session, mode)
            await _caught_up(record)
            workplace = _workplace(record)
            await asyncio.to_thread(_ensure, workplace.folder)
            return workplace

    async def find(self, workspace: Path, session: str) -> Workplace | None:
        """The workplace that a session has, whoever opened it."""
        async with self._alone(resolved(workspace), session) as place:
            record = Record.load(place)
            return None if record is None else _workplace(record)

    async def refresh(
        self, workplace: Workplace, typed: Mapping[str, bytes] = MappingProxyType({})
    ) -> Refreshed:
        """Take over what the person changed since, where the agent did not, and what they have `typed` unsaved.

        Worktrees keep their start, but for what is typed.
        """
        if workplace.mode != "proposal":
            taken = [path for path, data in typed.items() if await self.adopt(workplace, path, data)]
            return Refreshed(tuple(taken))
        async with self._opened(workplace) as record:
            if not record.root.is_dir():
                raise FileMissing(f"{record.root} is gone, so nothing can be taken over from it.")
            listing = await self._maker.trees(record).of_person(record.root, self._ours)
            await follow(rules_of(record), record.root, self._environ)
            refresher = Refresher(record, tree_of(record), self._bounds, typed)
            return await ended(lambda _: refresher.refresh(listing.files))

    async def changes(self, workplace: Workplace) -> ChangeSet:
        """What the agent changed, from the base to its tree, contents loaded. Paths are in the workspace."""
        return (await self.survey(workplace)).changes

    async def survey(self, workplace: Workplace) -> Survey:
        """The changes, and beside them what the agent changed that cannot be proposed."""
        async with self._opened(workplace) as record:
            listed = await self._maker.trees(record).of_workplace(record.top)
            surveyor = Surveyor(record, tree_of(record), self._bounds)

            def look(_: threading.Event) -> Survey:
                survey = surveyor.survey(listed, carried_of(record))
                if surveyor.renewed:
                    record.save()
                return survey

            return await ended(look)

    async def settle(
        self,
        workplace: Workplace,
        applied: ChangeSet,
        discarded: ChangeSet,
        typed: Mapping[str, bytes] = MappingProxyType({}),
    ) -> tuple[str, ...]:
        """Let the workplace follow what the person applied and gave up. An undo is applied like any change.

        What they have `typed` into files and not saved counts. To tell it twice is to tell it once. The paths are returned in which a part that was given up can no
        longer be told from the rest; they stay as they are.
        """
        async with self._opened(workplace) as record:
            settler = Settler(record, tree_of(record), self._bounds, typed)
            return await ended(lambda _: settler.settle(applied, discarded))

    async def adopt(self, workplace: Workplace, path: str, data: bytes) -> bool:
        """Take over what the person has in a file and has not saved yet, if the agent left it as it was."""
        async with self._opened(workplace) as record:
            return await ended(lambda _: adopt(record, tree_of(record), path, data))

    async def close(self, workplace: Workplace) -> None:
        """Take the workplace away. Closing one that is closed or was deleted by hand is no error."""
        async with self._alone(workplace.workspace, workplace.session) as place:
            if workplace.mode == "worktree":
                await self._close_worktree(workplace)
            await ended(lambda _: _sweep(place))

    async def _close_worktree(self, workplace: Workplace) -> None:
        if workplace.root.is_dir() and await find_repository(workplace.root, self._environ) is not None:
            worktree = await self._worktrees.find(workplace.workspace, workplace.session)
            if worktree is not None:
                await self._worktrees.close(worktree)
        elif workplace.top.is_relative_to(self._folder):  # There is no repository left that knows of it.
            await ended(lambda _: _remove(workplace.top))

    async def _made(self, place: Path, workspace: Path, session: str, mode: ReviewMode) -> Record:
        try:
            await ended(lambda _: _clear(place))
            if mode == "worktree":
                return await self._maker.worktree(place, workspace, session, self._worktrees)
            return await self._maker.copy(place, workspace, session)
        except BaseException as error:
            await ended(lambda _: _sweep(place))
            if isinstance(error, OSError):
                raise StoreFailed(
                    f"The copy for the agent could not be made ({error.strerror or error}).",
                    suggestion="Make room on the disk if it is full, then try again.",
                ) from error
            raise

    @asynccontextmanager
    async def _alone(self, workspace: Path, session: str) -> AsyncIterator[Path]:
        """Where a workplace is or will be, for nobody else meanwhile."""
        if not _SESSION.fullmatch(session):
            raise InvalidInput(f"“{session}” cannot be the name of a session.")
        key = hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
        locks = self._folder / "locks"
        make_private_folder(locks)
        # A lock that is removed locks nobody out, so a few are shared by all and stay.
        shared = hashlib.sha256(f"{key}/{session}".encode()).hexdigest()[:3]
        async with alone(locks / shared):
            yield self._folder / key / session

    @asynccontextmanager
    async def _opened(self, workplace: Workplace) -> AsyncIterator[Record]:
        """The record of a workplace, with what was cut short finished."""
        async with self._alone(workplace.workspace, workplace.session) as place:
            record = Record.load(place)
            if record is None or not record.top.is_dir():
                raise FileMissing(
                    f"The copy that the session {workplace.session} worked in is gone from {workplace.top}.",
                    suggestion="Somebody deleted it, or the session was closed. Open the session again.",
                )
            try:
                await _caught_up(record)
                yield record
            except OSError as error:
                raise StoreFailed(
                    f"The copy for the agent could not be brought up to date ({error.strerror or error}).",
                    suggestion="Make room on the disk if it is full, then try again; what was begun is finished then.",
                ) from error


async def _caught_up(record: Record) -> None:
    if record.steps:
        await ended(lambda _: finish(record, tree_of(record)))


def _ensure(folder: Path) -> None:
    """Have the folder where an agent stands, which it may have removed or replaced by a link."""
    try:
        make_folders(folder).close()
    except OSError as error:
        raise StoreFailed(
            f"{folder}, where the agent works, is no folder any more ({error.strerror}).",
            suggestion="Remove what is in its place, then open the session again.",
        ) from error


def _clear(place: Path) -> None:
    _sweep(place)
    make_private_folder(place)


def _sweep(place: Path) -> None:
    """Remove a workplace at once for all others, then in fact; and what was left of earlier ones."""
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


def _workplace(record: Record) -> Workplace:
    return Workplace(
        session=record.session,
        mode=record.mode,
        workspace=record.workspace,
        folder=record.top / prefix_of(record),
        top=record.top,
        root=record.root,
        left_out=record.left_out,
    )
