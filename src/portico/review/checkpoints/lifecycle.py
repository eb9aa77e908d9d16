"""Checkpoints of all workspaces: take, list, compare, restore, prune.

The person's index, HEAD, stash and refs are never touched: everything is in a `SnapshotRepository` of the
workspace. A restore first takes a checkpoint of the current state, so that nothing is lost by it.
"""

import asyncio
import contextlib
import hashlib
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.ids import make_session_id
from portico.git.repository import RepositoryFinder
from portico.review.checkpoints.blobs import read_blob, read_blobs, write_blobs
from portico.review.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointEntry,
    Moment,
    RestoredCheckpoint,
    Retention,
    Snapshot,
    make_checkpoint,
)
from portico.review.checkpoints.comparison import CheckpointComparison, compare, list_entries, steps
from portico.review.checkpoints.held_files import STAGING_PREFIX, SnapshotBounds
from portico.review.checkpoints.permissions import FilePermissions, forget_all_but
from portico.review.checkpoints.snapshot_repository import (
    SnapshotDifference,
    SnapshotIncomplete,
    SnapshotRepository,
    UnheldFiles,
)
from portico.review.files.file_swap import ChangedMeanwhile, FileSwap, SwapStep, SwapTarget, restore_mode
from portico.review.files.leftovers import JOURNAL
from portico.review.files.process_lock import cannot_write, process_lock
from portico.review.files.rollbacks import Rollback, Rollbacks
from portico.review.files.worker_thread import run_to_end
from portico.review.git.tree_changes import TreeChange, tree_changes
from portico.sessions.ports import Clock

_ATTEMPTS = 3
_PAUSE_SECONDS = 0.1
_PATIENT_SECONDS = 300.0
_WATCH_SECONDS = 1.0


class Checkpoints:
    """Checkpoints of all workspaces, in one folder of `ours`, the state folder, which is part of no
    checkpoint.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        clock: Clock,
        *,
        ours: Path | None = None,
        bounds: SnapshotBounds | None = None,
        retention: Retention | None = None,
        rollbacks: Rollbacks | None = None,
        step: SwapStep | None = None,
    ) -> None:
        self._folder = folder
        self._environ = environ
        self._clock = clock
        self._ours = ours or folder
        self._bounds = bounds or SnapshotBounds()
        self._retention = retention or Retention()
        self._rollbacks = rollbacks or Rollbacks(folder.with_name("rollbacks"))
        self._step = step
        self._repositories = RepositoryFinder(environ)
        self._unheld = UnheldFiles()
        self._busy: dict[Path, asyncio.Lock] = {}

    async def create(
        self,
        workspace: Path,
        label: str,
        moment: Moment = Moment.BEFORE_TURN,
        *,
        hurried: bool = False,
        session: str = "",
    ) -> Checkpoint:
        """Take a checkpoint of the workspace. A `hurried` one fails if it takes too long."""
        async with self._opened(workspace) as snapshots:
            snapshot = await snapshots.snapshot(self._bounds, hurried=hurried)
            return await self._keep(snapshots, snapshot, label, moment, session=session)

    async def create_if_changed(
        self, workspace: Path, label: str, moment: Moment, *, hurried: bool = False, session: str = ""
    ) -> Checkpoint | None:
        """Take a checkpoint, unless the newest one holds the same state."""
        async with self._opened(workspace) as snapshots:
            snapshot = await snapshots.snapshot(self._bounds, hurried=hurried)
            newest = await snapshots.refs.newest(watch=False)
            if newest is not None and newest.holds(snapshot):
                return None
            return await self._keep(snapshots, snapshot, label, moment, session=session)

    async def watch(self, workspace: Path, label: str) -> Checkpoint:
        """The newest checkpoint if it holds the current state, else a new one to compare with later."""
        async with self._opened(workspace) as snapshots:
            taking = min(self._bounds.taking_seconds, _WATCH_SECONDS)
            bounds = msgspec.structs.replace(self._bounds, taking_seconds=taking)
            snapshot = await snapshots.snapshot(bounds, hurried=True)
            newest = await snapshots.refs.newest()
            if newest is not None and newest.holds(snapshot):
                return newest
            return await self._keep(snapshots, snapshot, label, Moment.BEFORE_TURN, watch=True)

    async def compare(
        self, workspace: Path, checkpoint_id: str, touched: Collection[str]
    ) -> CheckpointComparison:
        """Changes since a checkpoint without those of other sessions, and the `touched` files that it does
        not hold.
        """
        async with self._opened(workspace) as snapshots:
            before = await self._find(snapshots, checkpoint_id)
            now = await snapshots.snapshot(self._bounds, hurried=True)
            return await compare(snapshots, before, now, await snapshots.refs.list(), touched)

    async def continue_snapshot(self, workspace: Path) -> None:
        """Finish what a hurried checkpoint could not, while the agent works, so that the next one is quick."""
        bounds = msgspec.structs.replace(self._bounds, listing_seconds=_PATIENT_SECONDS)
        whole = False
        while not whole:
            async with self._opened(workspace) as snapshots:
                with contextlib.suppress(SnapshotIncomplete):
                    await snapshots.snapshot(bounds, hurried=True, aside=True)
                    whole = True
            await asyncio.sleep(_PAUSE_SECONDS)  # Let others have the store who wait for it.

    async def list(self, workspace: Path) -> tuple[Checkpoint, ...]:
        """Newest first."""
        async with self._opened(workspace) as snapshots:
            return await snapshots.refs.list()

    async def list_changes(self, workspace: Path) -> tuple[CheckpointEntry, ...]:
        """Newest first, each with the files that changed after it."""
        async with self._opened(workspace) as snapshots:
            return await list_entries(snapshots, self._bounds)

    async def diff(
        self, workspace: Path, checkpoint_id: str, until: str | None = None
    ) -> tuple[TreeChange, ...]:
        """Changes from a checkpoint to another one, or to the current files."""
        async with self._opened(workspace) as snapshots:
            old = await self._find(snapshots, checkpoint_id)
            if until is None:
                new = (await snapshots.snapshot(self._bounds)).tree
            else:
                new = (await self._find(snapshots, until)).tree
            return await tree_changes(snapshots.git, old.tree, new)

    async def read(self, workspace: Path, checkpoint_id: str, path: str) -> bytes | None:
        """The content of a file (for a link, where it points) at a checkpoint; None if it was not there."""
        async with self._opened(workspace) as snapshots:
            checkpoint = await self._find(snapshots, checkpoint_id)
            return await read_blob(snapshots.git, checkpoint.tree, path)

    async def contents(
        self, workspace: Path, checkpoint_id: str, paths: Collection[str]
    ) -> dict[str, tuple[str, bytes]]:
        """The git mode and content of each of these files that was there at a checkpoint."""
        async with self._opened(workspace) as snapshots:
            checkpoint = await self._find(snapshots, checkpoint_id)
            return await read_blobs(snapshots.git, checkpoint.tree, paths)

    async def permissions(self, workspace: Path, checkpoint_id: str) -> FilePermissions | None:
        """File permissions at a checkpoint; None for old checkpoints without them."""
        async with self._opened(workspace) as snapshots:
            checkpoint = await self._find(snapshots, checkpoint_id)
            return await asyncio.to_thread(snapshots.permissions, checkpoint.permissions)

    async def restore(
        self,
        workspace: Path,
        checkpoint_id: str,
        keeping: Callable[[Checkpoint], None] | None = None,
        *,
        session: str = "",
    ) -> RestoredCheckpoint:
        """Restore the workspace to a checkpoint exactly, or change nothing and raise.

        `keeping` is called with the checkpoint of the current state before any file is touched.
        """
        async with self._opened(workspace) as snapshots:
            target = await self._find(snapshots, checkpoint_id)
            for _ in range(_ATTEMPTS):
                kept = await self._kept(
                    snapshots, f"Before going back to: {target.label}", Moment.BEFORE_RESTORE, session
                )
                if keeping is not None:
                    keeping(kept)
                if await self._swapped(snapshots, kept, target):
                    break
            else:
                raise SessionBusy(
                    "Files keep changing while they are restored; everything is as it was.",
                    suggestion="Stop the agent or program that writes here, and restore again.",
                )
            return await self._attributed(snapshots, target, kept)

    async def put_aside(self, workspace: Path, checkpoint_id: str, kept_id: str) -> RestoredCheckpoint | None:
        """Result of a restore whose process was killed before it could return. None if the restore did not
        happen.
        """
        async with self._opened(workspace) as snapshots:
            if not await asyncio.to_thread(self._swap(snapshots).has_happened, kept_id):
                return None
            target, kept = await self._find(snapshots, checkpoint_id), await self._find(snapshots, kept_id)
            return await self._attributed(snapshots, target, kept)

    async def release(self, workspace: Path, checkpoint_id: str) -> None:
        """Make a checkpoint subject to retention."""
        async with self._opened(workspace) as snapshots:
            checkpoint = await self._find(snapshots, checkpoint_id)
            await snapshots.refs.write(msgspec.structs.replace(checkpoint, moment=Moment.BEFORE_TURN))

    async def recover(self, workspace: Path, *, waits: bool = True) -> Rollback | None:
        """Undo an interrupted restore, as every other call does first. SessionBusy while a restore is
        running.
        """
        async with self._alone(self._snapshots_of(workspace), waits=waits) as rollback:
            return rollback

    async def _swapped(self, snapshots: SnapshotRepository, kept: Checkpoint, target: Checkpoint) -> bool:
        """Put the files in place; False if one changed at the same time."""
        differences = await snapshots.differences(kept.tree, target.tree)
        put = not differences or await self._put(snapshots, kept, target, differences)
        if put:
            moved = {each.path for each in differences}
            await asyncio.to_thread(_give_back_rights, snapshots, kept, target, moved)
        return put

    async def _put(
        self,
        snapshots: SnapshotRepository,
        kept: Checkpoint,
        target: Checkpoint,
        differences: tuple[SnapshotDifference, ...],
    ) -> bool:
        swap = self._swap(snapshots)
        staging = await asyncio.to_thread(swap.stage)
        try:
            blobs = [(number, each) for number, each in enumerate(differences) if each.new.exists]
            permissions = await asyncio.to_thread(snapshots.permissions, target.permissions)
            wanted_files = [(staging.new / str(number), each) for number, each in blobs]
            await write_blobs(snapshots.git, snapshots.folder, wanted_files, permissions)
            seen = await asyncio.to_thread(swap.look, [each.path for each in differences if each.old.exists])
            unchanged = (await snapshots.snapshot(self._bounds)).tree == kept.tree
            if unchanged:
                wanted = [_wanted(number, each) for number, each in enumerate(differences)]
                await run_to_end(lambda _: swap.perform(staging, wanted, seen, kept.id))
            return unchanged
        except ChangedMeanwhile:
            return False
        finally:
            await asyncio.to_thread(swap.sweep)

    async def _attributed(
        self, snapshots: SnapshotRepository, target: Checkpoint, kept: Checkpoint
    ) -> RestoredCheckpoint:
        """Changes since a checkpoint, separated into the person's and the agent's."""
        changes = await tree_changes(snapshots.git, target.tree, kept.tree)
        theirs: set[str] = set()
        own = []
        for earlier, later, worked in steps(await snapshots.refs.list(), target.id, kept.id):
            if earlier.tree != later.tree and not worked:
                theirs |= {each.path for each in await snapshots.differences(earlier.tree, later.tree)}
                own.append((earlier.id, later.id))
        return RestoredCheckpoint(
            checkpoint=target,
            kept=kept,
            changes=tuple(each for each in changes if each.path in theirs),
            undone=tuple(each for each in changes if each.path not in theirs),
            own=tuple(own),
        )

    async def _kept(
        self, snapshots: SnapshotRepository, label: str, moment: Moment, session: str
    ) -> Checkpoint:
        """Checkpoint of the current state, without pruning older ones."""
        snapshot = await snapshots.snapshot(self._bounds)
        made = make_checkpoint(snapshot, label, moment, await snapshots.refs.newest(), self._clock.now_ms())
        checkpoint = msgspec.structs.replace(made, session=session)
        await snapshots.refs.write(checkpoint)
        return checkpoint

    async def _keep(
        self,
        snapshots: SnapshotRepository,
        snapshot: Snapshot,
        label: str,
        moment: Moment,
        *,
        watch: bool = False,
        session: str = "",
    ) -> Checkpoint:
        made = make_checkpoint(snapshot, label, moment, await snapshots.refs.newest(), self._clock.now_ms())
        checkpoint = msgspec.structs.replace(made, watch=watch, session=session)
        await snapshots.refs.write(checkpoint)
        await self._prune(snapshots)
        return checkpoint

    async def _find(self, snapshots: SnapshotRepository, checkpoint_id: str) -> Checkpoint:
        for each in await snapshots.refs.list():
            if each.id == checkpoint_id:
                return each
        raise InvalidInput(
            f"Unknown checkpoint {checkpoint_id} in {snapshots.workspace}.",
            suggestion="List the checkpoints of this workspace; old ones are removed after a while.",
        )

    async def _prune(self, snapshots: SnapshotRepository) -> None:
        oldest = self._clock.now_ms() - self._retention.milliseconds
        ids = await snapshots.refs.ids()
        too_many = len(ids) > self._retention.count + self._retention.slack
        if not too_many and ids[-1] >= make_session_id(oldest, bytes(7)):  # IDs sort by time.
            return
        listed = await snapshots.refs.list()
        gone = [
            each
            for place, each in enumerate(listed)
            if place > 0
            and each.moment is not Moment.BEFORE_BRANCH
            and (place >= self._retention.count or each.at_ms < oldest)
        ]
        if len(gone) > self._retention.slack or any(each.at_ms < oldest for each in gone):
            await snapshots.refs.delete(gone)
            left = {each.permissions for each in listed if each not in gone}
            await asyncio.to_thread(forget_all_but, snapshots.folder, left)
            await snapshots.tidy()

    def _snapshots_of(self, workspace: Path) -> SnapshotRepository:
        real = Path(os.path.realpath(workspace))
        if not real.is_dir():
            raise InvalidInput(f"{workspace} is not a folder, so it has no checkpoints.")
        name = hashlib.sha256(os.fsencode(real)).hexdigest()[:24]
        folder = self._folder / name
        return SnapshotRepository(real, folder, self._environ, self._ours, self._repositories, self._unheld)

    def _swap(self, snapshots: SnapshotRepository) -> FileSwap:
        owner = hashlib.sha256(os.fsencode(snapshots.folder)).hexdigest()[:8]
        prefix = f"{STAGING_PREFIX}{owner}-"
        return FileSwap(snapshots.workspace, snapshots.folder / JOURNAL, prefix, self._rollbacks, self._step)

    @asynccontextmanager
    async def _opened(self, workspace: Path) -> AsyncIterator[SnapshotRepository]:
        """The snapshot repository of a workspace, locked, after an interrupted restore is undone."""
        snapshots = self._snapshots_of(workspace)
        async with self._alone(snapshots):
            await snapshots.prepare()
            yield snapshots

    @asynccontextmanager
    async def _alone(
        self, snapshots: SnapshotRepository, *, waits: bool = True
    ) -> AsyncIterator[Rollback | None]:
        busy = self._busy.setdefault(snapshots.folder, asyncio.Lock())
        async with busy, process_lock(snapshots.folder / "lock", waits=waits):
            try:
                swap = self._swap(snapshots)
                rollback = await run_to_end(lambda _: swap.undo())
                await asyncio.to_thread(swap.sweep)
                yield rollback
            except OSError as error:
                inside = str(error.filename).startswith(f"{snapshots.workspace}/")
                raise cannot_write(snapshots.workspace if inside else snapshots.folder, error) from error


def _wanted(number: int, difference: SnapshotDifference) -> SwapTarget:
    staged = number if difference.new.exists else None
    return SwapTarget(difference.path, difference.old.exists, staged, difference.new.blob)


def _give_back_rights(
    snapshots: SnapshotRepository, kept: Checkpoint, target: Checkpoint, moved: Collection[str]
) -> None:
    """Restore permissions of files whose content did not change."""
    now, then = snapshots.permissions(kept.permissions), snapshots.permissions(target.permissions)
    if now is None or then is None or kept.permissions == target.permissions:
        return
    for path, had, has in then.differing(now):
        if path not in moved:
            restore_mode(snapshots.workspace / path, has, had)
