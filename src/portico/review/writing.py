"""Lets a decision write to a person's files, with a checkpoint from before and one from after.

Where a window is attached to the workspace it is written through that, and never past what is typed there.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Notice
from portico.review.checkpoints.checkpoint import Moment
from portico.review.checkpoints.checkpoints import Checkpoints
from portico.review.disk.applying import Applier, Writer
from portico.review.proposals.deciding import Decided
from portico.review.session_review import checkpoint_payload
from portico.review.windows.applying import WindowApplier
from portico.review.windows.seeing import Sight, see
from portico.sessions.windows import Windows


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """What is about to be written: by which session, where, to which files at most, and in which words.

    One that is `saved` must be on the disk when it is done, and goes there.
    """

    session: str
    workspace: Path
    paths: Collection[str]
    doing: str
    saved: bool = False


class Written(msgspec.Struct, frozen=True):
    """What was decided, what there is to tell of it, and what the person has in files that are not saved."""

    decided: Decided
    told: list[AnyPayload]
    typed: Mapping[str, bytes]


class Writing:
    """For all workspaces."""

    def __init__(self, checkpoints: Checkpoints, applier: Applier, windows: Windows) -> None:
        self._checkpoints = checkpoints
        self._applier = applier
        self._windows = windows

    async def write(self, deed: Deed, decide: Callable[[Writer], Decided]) -> Written:
        told = [await self._checkpoint(deed.workspace, f"Before {deed.doing}", Moment.BEFORE_APPLY)]
        sight = await see(self._windows, deed.session, deed.workspace, deed.paths)
        through = None if sight.window is None else self._through(deed, sight)
        decided = await asyncio.to_thread(decide, through or self._applier)
        if not decided.conflicted and not isinstance(told[0], Notice):
            # What is written now is not the person's own work, if they go back later.
            told.append(await self._checkpoint(deed.workspace, f"After {deed.doing}", Moment.AFTER_TURN))
        return Written(decided, told, sight.typed if through is None else through.sight.typed)

    def _through(self, deed: Deed, sight: Sight) -> WindowApplier:
        loop = asyncio.get_running_loop()
        return WindowApplier(
            *(self._applier, self._windows, loop, deed.session, sight), doing=deed.doing, saved=deed.saved
        )

    async def _checkpoint(self, workspace: Path, label: str, moment: Moment) -> AnyPayload:
        try:
            return checkpoint_payload(await self._checkpoints.create(workspace, label, moment, hurried=True))
        except PorticoError as error:
            # An apply can be taken back without one.
            return Notice(
                level="warning",
                text=f"No checkpoint was taken. {error.message}",
                details=error.details.suggestion,
            )
