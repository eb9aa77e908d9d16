"""Restore of a checkpoint; changes the person made since come back as a proposal."""

import asyncio
from pathlib import Path

import msgspec

from portico.domain.events import AnyPayload, CheckpointRestored, ProposalUpdated
from portico.domain.reviews import ProposedFile
from portico.review.checkpoints.changes import changes_put_aside, changes_since
from portico.review.checkpoints.checkpoint import Checkpoint, RestoredCheckpoint
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.proposals.marks import mark
from portico.review.proposals.payload import LISTED_FILES, describe_files
from portico.review.proposals.protection import Protection
from portico.review.session_records import PendingRestore, ReviewRecord, ReviewRecords
from portico.review.sync import ProposalSync


class RestoreOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that was restored; what the person had changed since is in the proposal, if there is one."""

    restored: CheckpointRestored
    proposal: ProposalUpdated | None
    payloads: tuple[AnyPayload, ...]


class ComparedFiles(msgspec.Struct, frozen=True):
    """Files that differ; `unlisted` counts those that are not named."""

    files: tuple[ProposedFile, ...]
    unlisted: int


class CheckpointRestore:
    """Restores checkpoints for all sessions."""

    def __init__(self, checkpoints: Checkpoints, sync: ProposalSync, review_records: ReviewRecords) -> None:
        self._checkpoints = checkpoints
        self._sync = sync
        self._review_records = review_records

    async def compare(self, workspace: Path, checkpoint_id: str, until: str | None) -> ComparedFiles:
        """Changes from a checkpoint to another one, or to the current files."""
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
            return describe_files(changes.changes, plain, contents.__getitem__)

        files = await asyncio.to_thread(describe)
        return ComparedFiles(files, len(listed) - len(shown))

    async def restore(self, review_record: ReviewRecord, checkpoint_id: str) -> RestoreOutcome:
        workspace = Path(review_record.workspace)

        def keeping(kept: Checkpoint) -> None:
            going = PendingRestore(checkpoint_id, kept.id)
            self._review_records.keep(msgspec.structs.replace(review_record, restoring=going))

        restored = await self._checkpoints.restore(
            workspace, checkpoint_id, keeping, session=review_record.session
        )
        return await self._outcome(review_record, restored)

    async def finish(self, review_record: ReviewRecord) -> RestoreOutcome | None:
        """Tell of a restore that was killed before it could. None if it had not happened, or is long forgotten."""
        going = review_record.restoring
        if going is None:
            return None
        restored = await self._checkpoints.put_aside(
            Path(review_record.workspace), going.checkpoint, going.kept
        )
        if restored is not None:
            return await self._outcome(review_record, restored)
        self._review_records.keep(msgspec.structs.replace(review_record, restoring=None))
        return None

    async def _outcome(self, review_record: ReviewRecord, restored: RestoredCheckpoint) -> RestoreOutcome:
        workspace = Path(review_record.workspace)
        changes = await changes_put_aside(self._checkpoints, workspace, restored)
        proposal, payloads = await self._sync.put(
            review_record.session, workspace, changes, "restored", source=restored.kept.id
        )
        # An interrupted finish no longer applies to these files.
        self._review_records.keep(msgspec.structs.replace(review_record, restoring=None, homecoming=None))
        event = CheckpointRestored(
            checkpoint_id=restored.checkpoint.id,
            kept_checkpoint_id=restored.kept.id,
            files=len(restored.changes) + len(restored.undone),
            proposal_id=None if proposal is None else proposal.proposal_id,
        )
        return RestoreOutcome(restored=event, proposal=proposal, payloads=(event, *payloads))
