"""Values of a review: modes, proposed files and hunks, checkpoint moments."""

from typing import Literal

from portico.domain.values import Value

ReviewMode = Literal["direct", "proposal", "branch", "worktree"]
FileOperation = Literal["create", "update", "delete", "rename"]
ProposalOrigin = Literal["turn", "tool", "restored"]
"""Origin of a proposal: an agent's turn, its tool call, or a restore that set the person's work aside."""
ProposalStatus = Literal["open", "applied", "discarded"]
CheckpointMoment = Literal["before_turn", "after_turn", "before_apply", "before_restore", "before_branch"]


class ProposedHunk(Value, frozen=True):
    """One change within a file that can be chosen by itself. Lines count from one, as in a unified diff."""

    hunk_id: str
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int


class ProposedFile(Value, frozen=True):
    """One file of a proposal. Its `diff` is a patch that git can read; empty for a file that is no text.

    One that is `shortened` is too long to be told here, and is shown in full on demand. A `denied` one
    can be looked at and never be applied.
    """

    path: str
    operation: FileOperation
    old_path: str | None = None
    added: int = 0
    removed: int = 0
    diff: str = ""
    hunks: tuple[ProposedHunk, ...] = ()
    binary: bool = False
    generated: bool = False
    shortened: bool = False
    conflict: bool = False
    denied: bool = False
    warning: str | None = None
