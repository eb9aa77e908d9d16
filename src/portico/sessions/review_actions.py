"""Interface for review actions on proposals, checkpoints and review modes, shared by all clients.

Implemented by the reviews of this process and by a client of the server that has the session open. Every action is in
the log when it returns.
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
    """A file of a proposal, whole or some of its hunks, and how its conflicts are resolved."""

    path: str
    hunk_ids: tuple[str, ...] = ()
    resolve: ConflictSide | None = None


class ProposalChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Selected files of one revision of a proposal; all files if none are given."""

    proposal_id: str
    revision: int
    files: tuple[ProposalFileChoice, ...] = ()


class FileConflict(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines that both sides changed; `line` is in the person's file. None if a side has no such file."""

    line: int
    base: str | None
    person: str | None
    agent: str | None


class FileContents(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Contents of one file before and after a change. None for a binary or missing file."""

    path: str
    old_text: str | None = None
    new_text: str | None = None
    diff: str = ""
    hunks: tuple[ProposedHunk, ...] = ()
    conflicts: tuple[FileConflict, ...] = ()


class ApplyReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of an apply. With `conflicted` files, nothing was written.

    `merged` files keep the person's own changes as well; `refused` ones can never be applied.
    """

    proposal: ProposalUpdated
    merged: tuple[str, ...] = ()
    conflicted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class UndoReport(msgspec.Struct, frozen=True, kw_only=True):
    """Result of undoing an apply. If not undone, the same lines have changed since in `conflicted` files.

    `already` says that no file had to be written, for example after an undo in the editor.
    """

    proposal: ProposalUpdated
    undone: bool
    conflicted: tuple[str, ...] = ()
    already: bool = False


class CheckpointSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`at` is UTC, in milliseconds; `left_out` counts files that are not in it.

    `changed` are the files that changed until the next one or, after the newest, until now; None if not known.
    """

    checkpoint_id: str
    at: int
    label: str
    moment: CheckpointMoment
    left_out: int = 0
    session_id: str = ""
    changed: tuple[str, ...] | None = None


class ChangedFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Files that differ; `unlisted` counts those that are not named."""

    files: tuple[ProposedFile, ...] = ()
    unlisted: int = 0


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """A restored checkpoint, and the changes that were made since."""

    restored: CheckpointRestored
    proposal: ProposalUpdated | None = None


class ReviewModeStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Review mode of a session and the available ones. `hint` says why some are not available."""

    mode: ReviewMode
    branch: str | None = None
    home_branch: str | None = None
    folder: str | None = None
    unfinished: bool = False
    possible: tuple[ReviewMode, ...] = ()
    hint: str | None = None
    has_repository: bool = False


class FinishReport(msgspec.Struct, frozen=True, kw_only=True):
    """Commit and reference of a finished branch or worktree, and notes about files with a filter."""

    commit: str
    reference: str
    notes: tuple[str, ...] = ()


class ReviewActions(Protocol):
    """Raises InvalidInput for outdated choices, and SessionBusy while another session works on the same files."""

    async def proposals(self, session_id: SessionId, *, decided: bool = False) -> Sequence[ProposalUpdated]:
        """Open proposals, oldest first; with `decided`, the decided ones."""
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
        """Checkpoints, newest first."""
        ...

    async def checkpoint_diff(
        self, session_id: SessionId, checkpoint_id: str, other: str | None = None
    ) -> ChangedFiles:
        """Changes from a checkpoint to another one, or to the current files."""
        ...

    async def restore(self, session_id: SessionId, checkpoint_id: str) -> RestoreReport: ...

    async def status(self, session_id: SessionId) -> ReviewModeStatus: ...

    async def initialize_repository(self, session_id: SessionId) -> None:
        """Make the folder of a session a git repository. InvalidInput if it is in one already."""
        ...

    async def finish(
        self, session_id: SessionId, ending: ReviewEnding, message: str | None
    ) -> FinishReport: ...
