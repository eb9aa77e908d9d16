"""Codec for proposals, checkpoints and review modes in the messages of the contract."""

from collections.abc import Iterable

from portico.api.fields import read_enum, to_enum, to_time
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.domain.errors import InvalidInput
from portico.domain.events import CheckpointRestored, ProposalUpdated
from portico.domain.reviews import ProposedFile, ProposedHunk, ReviewMode
from portico.sessions.review_actions import (
    CheckpointSummary,
    FileContents,
    ProposalChoice,
    ProposalFileChoice,
    ReviewEnding,
    ReviewModeStatus,
)


def read_review_mode(mode: pb.ReviewMode) -> ReviewMode | None:
    """The requested mode; None leaves the choice to the settings."""
    found: ReviewMode | None = read_enum(mode)
    return found


def read_proposal_choice(proposal_id: str, revision: int, files: Iterable[pb.FileChoice]) -> ProposalChoice:
    """The chosen files and hunks of a proposal. InvalidInput without a proposal."""
    return ProposalChoice(
        proposal_id=require_proposal_id(proposal_id),
        revision=revision,
        files=tuple(
            ProposalFileChoice(path=one.path, hunk_ids=tuple(one.hunk_ids), resolve=read_enum(one.resolve))
            for one in files
        ),
    )


def read_review_ending(ending: pb.ReviewEnding) -> ReviewEnding:
    found: ReviewEnding | None = read_enum(ending)
    if found is None:
        raise InvalidInput("ending is required.", suggestion="Set it to merge, squash, keep or discard.")
    return found


def require_proposal_id(proposal_id: str) -> str:
    if not proposal_id:
        raise InvalidInput("proposal_id is required.")
    return proposal_id


_NAMED_PATHS = 3


def require_checkpoint_id(checkpoint_id: str) -> str:
    if not checkpoint_id:
        raise InvalidInput("checkpoint_id is required.")
    return checkpoint_id


def to_review_mode(mode: ReviewMode) -> pb.ReviewMode:
    return to_enum(pb.ReviewMode, mode)


def to_proposal(proposal: ProposalUpdated) -> events_pb.ProposalUpdated:
    return events_pb.ProposalUpdated(
        proposal_id=proposal.proposal_id,
        revision=proposal.revision,
        status=to_enum(events_pb.ProposalStatus, proposal.status),
        origin=to_enum(events_pb.ProposalOrigin, proposal.origin),
        files=to_proposed_files(proposal.files),
        unlisted=proposal.unlisted,
        can_undo=proposal.can_undo,
    )


def to_proposed_files(files: Iterable[ProposedFile]) -> list[events_pb.ProposedFile]:
    return [
        events_pb.ProposedFile(
            path=file.path,
            operation=to_enum(events_pb.FileOperation, file.operation),
            old_path=file.old_path or "",
            added=file.added,
            removed=file.removed,
            diff=file.diff,
            hunks=_hunks(file.hunks),
            binary=file.binary,
            generated=file.generated,
            shortened=file.shortened,
            conflict=file.conflict,
            denied=file.denied,
            warning=file.warning or "",
        )
        for file in files
    ]


def to_contents(contents: FileContents) -> pb.FileContents:
    return pb.FileContents(
        path=contents.path,
        old_text=contents.old_text,
        new_text=contents.new_text,
        diff=contents.diff,
        hunks=_hunks(contents.hunks),
        conflicts=[
            pb.FileConflict(line=one.line, base=one.base, person=one.person, agent=one.agent)
            for one in contents.conflicts
        ],
    )


def to_checkpoint(checkpoint: CheckpointSummary, title: str) -> pb.Checkpoint:
    return pb.Checkpoint(
        checkpoint_id=checkpoint.checkpoint_id,
        at=to_time(checkpoint.at),
        label=checkpoint.label,
        moment=to_enum(events_pb.CheckpointMoment, checkpoint.moment),
        left_out=checkpoint.left_out,
        session_id=checkpoint.session_id,
        session_title=title,
        changed_paths=list((checkpoint.changed or ())[:_NAMED_PATHS]),
        changed=None if checkpoint.changed is None else len(checkpoint.changed),
    )


def to_restored(restored: CheckpointRestored) -> events_pb.CheckpointRestored:
    return events_pb.CheckpointRestored(
        checkpoint_id=restored.checkpoint_id,
        kept_checkpoint_id=restored.kept_checkpoint_id,
        files=restored.files,
        proposal_id=restored.proposal_id or "",
    )


def to_status(status: ReviewModeStatus, *, in_settings: bool) -> pb.GetReviewStatusResponse:
    return pb.GetReviewStatusResponse(
        mode=to_review_mode(status.mode),
        branch=status.branch or "",
        home_branch=status.home_branch or "",
        folder=status.folder or "",
        unfinished=status.unfinished,
        possible=[to_review_mode(mode) for mode in status.possible],
        hint=status.hint or "",
        in_settings=in_settings,
        has_repository=status.has_repository,
    )


def _hunks(hunks: Iterable[ProposedHunk]) -> list[events_pb.ProposedHunk]:
    return [
        events_pb.ProposedHunk(
            hunk_id=hunk.hunk_id,
            old_start=hunk.old_start,
            old_lines=hunk.old_lines,
            new_start=hunk.new_start,
            new_lines=hunk.new_lines,
        )
        for hunk in hunks
    ]
