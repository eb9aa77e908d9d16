"""Encoder for proposals, hunks and restored checkpoints, and codec of review modes."""

from collections.abc import Iterable

from portico.api.fields import to_enum
from portico.api.v1 import agent_pb
from portico.api.v1 import events_pb as pb
from portico.domain import events
from portico.domain.reviews import ProposedFile, ProposedHunk, ReviewMode

_MODES: dict[agent_pb.ReviewMode, ReviewMode] = {
    agent_pb.ReviewMode.DIRECT: "direct",
    agent_pb.ReviewMode.PROPOSAL: "proposal",
    agent_pb.ReviewMode.BRANCH: "branch",
    agent_pb.ReviewMode.WORKTREE: "worktree",
}


def read_review_mode(mode: agent_pb.ReviewMode) -> ReviewMode | None:
    """What the caller asks for; None leaves it to the settings."""
    return _MODES.get(mode)


def to_review_mode(mode: ReviewMode) -> agent_pb.ReviewMode:
    return to_enum(agent_pb.ReviewMode, mode)


def to_proposal(proposal: events.ProposalUpdated) -> pb.ProposalUpdated:
    return pb.ProposalUpdated(
        proposal_id=proposal.proposal_id,
        revision=proposal.revision,
        status=to_enum(pb.ProposalStatus, proposal.status),
        origin=to_enum(pb.ProposalOrigin, proposal.origin),
        files=to_proposed_files(proposal.files),
        unlisted=proposal.unlisted,
        can_undo=proposal.can_undo,
    )


def to_proposed_files(files: Iterable[ProposedFile]) -> list[pb.ProposedFile]:
    return [
        pb.ProposedFile(
            path=file.path,
            operation=to_enum(pb.FileOperation, file.operation),
            old_path=file.old_path or "",
            added=file.added,
            removed=file.removed,
            diff=file.diff,
            hunks=to_hunks(file.hunks),
            binary=file.binary,
            generated=file.generated,
            shortened=file.shortened,
            conflict=file.conflict,
            denied=file.denied,
            warning=file.warning or "",
        )
        for file in files
    ]


def to_hunks(hunks: Iterable[ProposedHunk]) -> list[pb.ProposedHunk]:
    return [
        pb.ProposedHunk(
            hunk_id=hunk.hunk_id,
            old_start=hunk.old_start,
            old_lines=hunk.old_lines,
            new_start=hunk.new_start,
            new_lines=hunk.new_lines,
        )
        for hunk in hunks
    ]


def to_restored(restored: events.CheckpointRestored) -> pb.CheckpointRestored:
    return pb.CheckpointRestored(
        checkpoint_id=restored.checkpoint_id,
        kept_checkpoint_id=restored.kept_checkpoint_id,
        files=restored.files,
        proposal_id=restored.proposal_id or "",
    )
