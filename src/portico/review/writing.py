"""Lets a decision write to a person's files, with a checkpoint from before and one from after."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Notice
from portico.review.checkpoints.checkpoints import Checkpoints, Moment
from portico.review.proposals.deciding import Decided
from portico.review.session_review import checkpoint_payload


class Writing:
    """For all workspaces."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints

    async def write(
        self, workspace: Path, doing: str, decide: Callable[[], Decided]
    ) -> tuple[Decided, list[AnyPayload]]:
        """What was decided, and what there is to tell of it."""
        told = [await self._checkpoint(workspace, f"Before {doing}", Moment.BEFORE_APPLY)]
        decided = await asyncio.to_thread(decide)
        if not decided.conflicted and not isinstance(told[0], Notice):
            # What is written now is not the person's own work, if they go back later.
            told.append(await self._checkpoint(workspace, f"After {doing}", Moment.AFTER_TURN))
        return decided, told

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
