"""Interface for review actions on proposals, checkpoints and review modes, shared by all clients.

`cli` chooses what stands behind it: the reviews of this process, or those of the server that has the session.
Whatever is done through it is in the log when it returns.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from portico.domain.events import CheckpointRestored, ProposalUpdated
from portico.domain.ids import SessionId
from portico.domain.reviews import CheckpointMoment, ProposedFile, ProposedHunk, ReviewMode

ConflictSide = Literal["person", "agent"]
ReviewEnding = Literal["merge", "squash", "keep", "discard"]


class ProposalFileChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a proposal, whole or by some of its hunks; and whose lines stay where both changed them."""

    path: str
    hunk_ids: tuple[str, ...] = ()
    resolve: ConflictSide | None = None


class ProposalChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What a person chose of the proposal that they looked at. No files are all of them."""

    proposal_id: str
    revision: int
    files: tuple[ProposalFileChoice, ...] = ()


class FileConflict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Where both changed the same lines; `line` is in the file as the person has it. None has no such file."""

    line: int
    base: str | None
    person: str | None
    agent: str | None


class FileContents(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole of one file on both sides of a change. A text that is None is no text, or no file."""

    path: str
    old_text: str | None = None
    new_text: str | None = None
    diff: str = ""
    hunks: tuple[ProposedHunk, ...] = ()
    conflicts: tuple[FileConflict, ...] = ()


class ApplyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an apply. If there are `conflicted` files, nothing was written.

    `merged` files also keep what the person changed in them; `refused` ones can never be applied.
    """

    proposal: ProposalUpdated
    merged: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class UndoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of taking an apply back. If it is not undone, the same lines changed since in `conflicted` files.

    If it was so `already`, by an undo in an editor for example, no file had to be written.
    """

    proposal: ProposalUpdated
    undone: bool
    conflicted: tuple[str, ...] = ()
    already: bool = False


class CheckpointSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`at` is UTC, in milliseconds; `left_out` counts files that it lacks."""

    checkpoint_id: str
    at: int
    label: str
    moment: CheckpointMoment
    left_out: int = 0


class ChangedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files that differ; `unlisted` counts those beyond the ones that are named."""

    files: tuple[ProposedFile, ...] = ()
    unlisted: int = 0


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that was restored, and what the person had changed since, if there was anything."""

    restored: CheckpointRestored
    proposal: ProposalUpdated | None = None


class ReviewModeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a session's changes reach the files, and what else is possible there. `hint` says why some is not."""

    mode: ReviewMode
    branch: str | None = None
    home_branch: str | None = None
    folder: str | None = None
    unfinished: bool = False
    possible: tuple[ReviewMode, ...] = ()
    hint: str | None = None


class FinishReport(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work of a branch or a worktree is now, and sentences about files with a filter."""

    commit: str
    reference: str
    notes: tuple[str, ...] = ()


class ReviewActions(Protocol):
    """InvalidInput for what does not fit any more, SessionBusy while somebody works on the same files."""

    async def proposals(self, session_id: SessionId, *, decided: bool = False) -> Sequence[ProposalUpdated]:
        """Those that are open, oldest first; or those on which everything is decided."""
        ...

    async def proposal(self, session_id: SessionId, proposal_id: str) -> ProposalUpdated: ...

    async def contents(
        self, session_id: SessionId, proposal_id: str, paths: Sequence[str]
    ) -> Sequence[FileContents]: ...

    async def apply(self, session_id: SessionId, choice: ProposalChoice) -> ApplyReport: ...

    async def discard(self, session_id: SessionId, choice: ProposalChoice) -> ProposalUpdated: ...

    async def undo(self, session_id: SessionId, proposal_id: str) -> UndoReport: ...

    async def revision_prompt(self, session_id: SessionId, choice: ProposalChoice, comment: str) -> str: ...

    async def checkpoints(self, session_id: SessionId) -> Sequence[CheckpointSummary]:
        """Newest first."""
        ...

    async def checkpoint_diff(
        self, session_id: SessionId, checkpoint_id: str, other: str | None = None
    ) -> ChangedFiles:
        """What changed from a checkpoint to another one, or to the files as they are now."""
        ...

    async def restore(self, session_id: SessionId, checkpoint_id: str) -> RestoreReport: ...

    async def status(self, session_id: SessionId) -> ReviewModeStatus: ...

    async def finish(
        self, session_id: SessionId, ending: ReviewEnding, message: str | None
    ) -> FinishReport: ...
