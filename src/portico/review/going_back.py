"""Goes back to a checkpoint, and brings back what the person had changed since as a proposal, whatever is killed."""

import asyncio
from pathlib import Path

import msgspec

from portico.domain.events import AnyPayload, CheckpointRestored, ProposalUpdated
from portico.domain.reviews import ProposedFile
from portico.review.arrangements import Arrangement, Arrangements, Restoring
from portico.review.checkpoints.checkpoint import Checkpoint, Restored
from portico.review.checkpoints.checkpoints import Checkpoints
from portico.review.checkpoints.restoring import changes_put_aside, changes_since
from portico.review.gathering import Gathering
from portico.review.proposals.describing import LISTED_FILES, described_all
from portico.review.proposals.marking import mark
from portico.review.proposals.protection import Protection


class RestoreOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that was restored; what the person had changed since is in the proposal, if there is one."""

    restored: CheckpointRestored
    proposal: ProposalUpdated | None
    payloads: tuple[AnyPayload, ...]


class Compared(msgspec.Struct, frozen=True):
    """Files that differ; `unlisted` counts those beyond the ones that are named."""

    files: tuple[ProposedFile, ...]
    unlisted: int


class GoingBack:
    """For all sessions."""

    def __init__(self, checkpoints: Checkpoints, gathering: Gathering, arrangements: Arrangements) -> None:
        self._checkpoints = checkpoints
        self._gathering = gathering
        self._arrangements = arrangements

    async def compare(self, workspace: Path, checkpoint_id: str, until: str | None) -> Compared:
        """What changed from a checkpoint to another one, or to the files as they are now."""
        listed = await self._checkpoints.diff(workspace, checkpoint_id, until)
        shown = listed[:LISTED_FILES]
        changes = await changes_since(self._checkpoints, workspace, checkpoint_id, until, shown)

        def describe() -> tuple[ProposedFile, ...]:
            contents = {
                one.digest: one.loaded()
                for change in changes.changes
                for one in (change.old, change.new)
                if one is not None
            }
            marks = mark(workspace, changes, Protection())
            plain = {path: msgspec.structs.replace(one, denied=False) for path, one in marks.items()}
            return described_all(changes.changes, plain, contents.__getitem__)

        files = await asyncio.to_thread(describe)
        return Compared(files, len(listed) - len(shown))

    async def restore(self, arrangement: Arrangement, checkpoint_id: str) -> RestoreOutcome:
        workspace = Path(arrangement.workspace)

        def keeping(kept: Checkpoint) -> None:
            going = Restoring(checkpoint_id, kept.id)
            self._arrangements.keep(msgspec.structs.replace(arrangement, restoring=going))

        restored = await self._checkpoints.restore(workspace, checkpoint_id, keeping)
        return await self._told(arrangement, restored)

    async def finish(self, arrangement: Arrangement) -> RestoreOutcome | None:
        """Tell of a restore that was killed before it could. None if it had not happened, or is long forgotten."""
        going = arrangement.restoring
        if going is None:
            return None
        restored = await self._checkpoints.put_aside(
            Path(arrangement.workspace), going.checkpoint, going.kept
        )
        if restored is not None:
            return await self._told(arrangement, restored)
        self._arrangements.keep(msgspec.structs.replace(arrangement, restoring=None))
        return None

    async def _told(self, arrangement: Arrangement, restored: Restored) -> RestoreOutcome:
        workspace = Path(arrangement.workspace)
        changes = await changes_put_aside(self._checkpoints, workspace, restored)
        proposal, payloads = await self._gathering.put(
            arrangement.session, workspace, changes, "restored", source=restored.kept.id
        )
        # The files are no longer what an end that was cut short had made of them.
        self._arrangements.keep(msgspec.structs.replace(arrangement, restoring=None, homecoming=None))
        told = CheckpointRestored(
            checkpoint_id=restored.checkpoint.id,
            kept_checkpoint_id=restored.kept.id,
            files=len(restored.changes) + len(restored.undone),
            proposal_id=None if proposal is None else proposal.proposal_id,
        )
        return RestoreOutcome(restored=told, proposal=proposal, payloads=(told, *payloads))
