"""Recovery of a workspace after a crash: interrupted applies and restores are rolled back.

It runs before a folder is read or changed: at the start of a host, before a turn, a copy, a checkpoint and a
listing. While the other process is alive it holds its lock, and recovery waits for it.
"""

import asyncio
import contextlib
import os
from pathlib import Path

from portico.domain.errors import InvalidInput, SessionBusy, StoreFailed
from portico.domain.events import Notice
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.files.apply_recovery import RecoveredApplies
from portico.review.files.atomic_apply import Applier
from portico.review.files.leftovers import (
    APPLIES,
    CHECKPOINTS,
    STAGING_MARK,
    has_intents,
    has_leftovers,
    restores_left,
)
from portico.review.files.process_lock import process_lock
from portico.review.files.rollbacks import Rollback, Rollbacks, related
from portico.review.files.worker_thread import run_to_end


class ReviewRecovery:
    """Recovers all workspaces whose reviews are kept in `folder`."""

    def __init__(
        self, folder: Path, applier: Applier, checkpoints: Checkpoints, rollbacks: Rollbacks
    ) -> None:
        self._folder = folder
        self._applier = applier
        self._checkpoints = checkpoints
        self._rollbacks = rollbacks

    async def recover_all(self) -> list[Notice]:
        """Roll back interrupted work in all folders, except where that is impossible now; notices about it.

        Old versions that earlier rollbacks kept are removed.
        """
        await asyncio.to_thread(self._rollbacks.prune)
        rollbacks: list[Rollback] = []
        with contextlib.suppress(SessionBusy, StoreFailed):
            if await asyncio.to_thread(has_intents, self._folder / APPLIES):
                rollbacks += (await self._recover_applies(waits=False)).taken_back
        for folder in await asyncio.to_thread(self._restores):
            with contextlib.suppress(SessionBusy, StoreFailed, InvalidInput):
                rollbacks += filter(None, [await self._checkpoints.recover(folder, waits=False)])
        return [rollback.notice for rollback in rollbacks]

    async def recover(self, workspace: Path) -> None:
        """Make sure that a folder is not half changed. StoreFailed or SessionBusy if that is impossible now."""
        if not await asyncio.to_thread(has_leftovers, self._folder):
            return
        real = Path(await asyncio.to_thread(os.path.realpath, workspace))
        unfinished: list[Path] = []
        if any(related(root, real) for root in await asyncio.to_thread(self._applier.roots_left)):
            recovered = await self._recover_applies(waits=True)
            unfinished += map(Path, recovered.unfinished)
        for folder in await asyncio.to_thread(self._restores):
            if related(folder, real):
                try:
                    await self._checkpoints.recover(folder)
                except (InvalidInput, StoreFailed):
                    unfinished.append(folder)
        if any(related(folder, real) for folder in unfinished):
            raise StoreFailed(
                f"An apply or a restore in {workspace} was interrupted, and cannot be rolled back yet.",
                suggestion="Make sure that the disk has free space and that the folder is writable, then try again.",
            )

    async def notices(self, workspace: Path) -> list[Notice]:
        """Notices about rollbacks in a workspace that were not shown yet; they count as shown from now on."""
        return [rollback.notice for rollback in await asyncio.to_thread(self._rollbacks.take, workspace)]

    async def _recover_applies(self, *, waits: bool) -> RecoveredApplies:
        async with process_lock(self._applier.lock, waits=waits):
            return await run_to_end(lambda _: self._applier.recover_alone())

    def _restores(self) -> list[Path]:
        """The workspaces whose last restore has not come to its end."""
        found = []
        for store in restores_left(self._folder / CHECKPOINTS):
            # Without the mark, only the workspace itself leads to its store.
            with contextlib.suppress(OSError):
                found.append(Path(os.fsdecode((store / STAGING_MARK).read_bytes())))
        return found
