"""Codec between review requests and results and the messages of the contract."""

from collections.abc import Iterable

from portico.api.event_messages import to_time
from portico.api.fields import to_enum
from portico.api.proposal_messages import to_hunks, to_review_mode
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.domain.errors import InvalidInput
from portico.sessions.review_actions import (
    CheckpointSummary,
    ConflictSide,
    FileContents,
    ProposalChoice,
    ProposalFileChoice,
    ReviewEnding,
    ReviewModeStatus,
)

_SIDES: dict[pb.ConflictSide, ConflictSide] = {
    pb.ConflictSide.PERSON: "person",
    pb.ConflictSide.AGENT: "agent",
}
_ENDINGS: dict[pb.ReviewEnding, ReviewEnding] = {
    pb.ReviewEnding.MERGE: "merge",
    pb.ReviewEnding.SQUASH: "squash",
    pb.ReviewEnding.KEEP: "keep",
    pb.ReviewEnding.DISCARD: "discard",
}


def read_proposal_choice(proposal_id: str, revision: int, files: Iterable[pb.FileChoice]) -> ProposalChoice:
    """What a caller chose. InvalidInput if it does not say of what."""
    return ProposalChoice(
        proposal_id=require_proposal_id(proposal_id),
        revision=revision,
        files=tuple(
            ProposalFileChoice(path=one.path, hunk_ids=tuple(one.hunk_ids), resolve=_SIDES.get(one.resolve))
            for one in files
        ),
    )


def require_proposal_id(proposal_id: str) -> str:
    if not proposal_id:
        raise InvalidInput("The call names no proposal.", suggestion="Give proposal_id.")
    return proposal_id


def require_checkpoint_id(checkpoint_id: str) -> str:
    if not checkpoint_id:
        raise InvalidInput("The call names no checkpoint.", suggestion="Give checkpoint_id.")
    return checkpoint_id


def read_review_ending(ending: pb.ReviewEnding) -> ReviewEnding:
    found = _ENDINGS.get(ending)
    if found is None:
        raise InvalidInput("The call has no ending.", suggestion="Merge, squash, keep or discard.")
    return found


def to_contents(contents: FileContents) -> pb.FileContents:
    return pb.FileContents(
        path=contents.path,
        old_text=contents.old_text,
        new_text=contents.new_text,
        diff=contents.diff,
        hunks=to_hunks(contents.hunks),
        conflicts=[
            pb.FileConflict(line=one.line, base=one.base, person=one.person, agent=one.agent)
            for one in contents.conflicts
        ],
    )


def to_checkpoint(checkpoint: CheckpointSummary) -> pb.Checkpoint:
    return pb.Checkpoint(
        checkpoint_id=checkpoint.checkpoint_id,
        at=to_time(checkpoint.at),
        label=checkpoint.label,
        moment=to_enum(events_pb.CheckpointMoment, checkpoint.moment),
        left_out=checkpoint.left_out,
    )


def to_status(status: ReviewModeStatus) -> pb.GetReviewStatusResponse:
    return pb.GetReviewStatusResponse(
        mode=to_review_mode(status.mode),
        branch=status.branch or "",
        home_branch=status.home_branch or "",
        folder=status.folder or "",
        unfinished=status.unfinished,
        possible=[to_review_mode(mode) for mode in status.possible],
        hint=status.hint or "",
    )
