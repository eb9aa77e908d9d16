"""Settles what killed processes left half done: an apply or a restore in the middle is rolled back.

It is called before anybody looks at a folder or works in it: at the start of a host, before a turn, a copy, a
checkpoint and a listing. While the other process is alive its lock is held, and it is waited for.
"""

import asyncio
import contextlib
import os
from pathlib import Path

from portico.domain.errors import InvalidInput, StoreFailed
from portico.domain.events import Notice
from portico.review.checkpoints.checkpoints import Checkpoints
from portico.review.disk.alone import alone
from portico.review.disk.applying import Applier
from portico.review.disk.leftovers import (
    APPLIES,
    CHECKPOINTS,
    STAGING_MARK,
    any_intent,
    any_left,
    restores_left,
)
from portico.review.disk.rollbacks import Rollback, Rollbacks, related
from portico.review.disk.threads import ended


class Settlement:
    """For all workspaces, whose reviews are kept in `folder`."""

    def __init__(
        self, folder: Path, applier: Applier, checkpoints: Checkpoints, rollbacks: Rollbacks
    ) -> None:
        self._folder = folder
        self._applier = applier
        self._checkpoints = checkpoints
        self._rollbacks = rollbacks

    async def settle_all(self) -> tuple[list[Rollback], list[str]]:
        """Roll back whatever was cut short, in any folder: what was, and the folders where it could not be yet."""
        if not await asyncio.to_thread(any_left, self._folder):
            return [], []
        rollbacks: list[Rollback] = []
        unfinished: list[str] = []
        if await asyncio.to_thread(any_intent, self._folder / APPLIES):
            async with alone(self._applier.lock):
                recovered = await ended(lambda _: self._applier.recover_alone())
            rollbacks += recovered.taken_back
            unfinished += recovered.unfinished
        for store in await asyncio.to_thread(restores_left, self._folder / CHECKPOINTS):
            with contextlib.suppress(
                OSError
            ):  # Without the mark, only the workspace itself leads to its store.
                workspace = os.fsdecode(await asyncio.to_thread((store / STAGING_MARK).read_bytes))
                try:
                    rollbacks += filter(None, [await self._checkpoints.recover(Path(workspace))])
                except (InvalidInput, StoreFailed):
                    unfinished.append(workspace)
        return rollbacks, unfinished

    async def settle(self, workspace: Path) -> None:
        """Let nobody find a folder half changed. StoreFailed or SessionBusy if it is, and cannot be helped now."""
        _, unfinished = await self.settle_all()
        if await asyncio.to_thread(_concerns, unfinished, workspace):
            raise StoreFailed(
                f"An apply or a restore in {workspace} was cut short, and its files cannot be put back yet.",
                suggestion="Make sure that the disk has room and that you may write in the folder; then try again.",
            )

    def notices(self, workspace: Path) -> list[Notice]:
        """What the person has not been told yet about rollbacks in a workspace; it counts as told from now on."""
        return [rollback.notice for rollback in self._rollbacks.take(workspace)]


def _concerns(folders: list[str], workspace: Path) -> bool:
    real = Path(os.path.realpath(workspace))
    return any(related(Path(folder), real) for folder in folders)
