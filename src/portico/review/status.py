"""Review status of a session: mode, branch, open proposals, and the modes that its folder allows."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.reviews import ReviewMode
from portico.git.repository import find_repository
from portico.review.branches.session_branches import PREFIX, Branches
from portico.review.proposals.store import Proposal
from portico.review.session_records import ReviewRecord
from portico.review.working_copies.lifecycle import WorkingCopies


class SessionReviewStatus(msgspec.Struct, frozen=True, kw_only=True):
    """`folder` is where the agent works. A branch or worktree is `unfinished` until its work is brought home.

    Counts are of what waits for a decision. `hint` says why a mode is not possible, and what to do.
    """

    mode: ReviewMode
    workspace: str
    folder: str
    branch: str | None = None
    home_branch: str | None = None
    unfinished: bool = False
    possible: tuple[ReviewMode, ...] = ()
    hint: str | None = None
    proposals: int = 0
    files: int = 0
    added: int = 0
    removed: int = 0
    conflicts: int = 0


async def read_status(
    review_record: ReviewRecord,
    branches: Branches,
    working_copies: WorkingCopies,
    proposals: Sequence[Proposal],
    environ: Mapping[str, str],
) -> SessionReviewStatus:
    workspace = Path(review_record.workspace)
    possible, hint = await possible_modes(workspace, environ)
    branch = home = None
    if review_record.slug is not None and review_record.mode == "branch":
        begun = await branches.find(workspace, review_record.slug)
        branch = PREFIX + review_record.slug if begun is not None else None
        home = None if begun is None else begun.home_branch
    unfinished = branch is not None
    if review_record.mode == "worktree":
        unfinished = await working_copies.find(workspace, review_record.session) is not None
    waiting = [one for one in proposals if one.status == "open"]
    marks = [mark for one in waiting for mark in one.marks.values()]
    return SessionReviewStatus(
        mode=review_record.mode,
        workspace=review_record.workspace,
        folder=review_record.folder,
        branch=branch,
        home_branch=home,
        unfinished=unfinished,
        possible=possible,
        hint=hint,
        proposals=len(waiting),
        files=len(marks),
        added=sum(mark.added for mark in marks),
        removed=sum(mark.removed for mark in marks),
        conflicts=sum(mark.conflict for mark in marks),
    )


def reason_against_deletion(session: str, status: SessionReviewStatus) -> InvalidInput | None:
    """The reason why a session should not be deleted: what that would lose or leave behind."""
    if status.files:
        named = "file" if status.files == 1 else "files"
        return InvalidInput(
            f"Session {session} proposes changes to {status.files} {named} (+{status.added} -{status.removed}) "
            "that you have not decided on; they would be lost with it.",
            suggestion=f"Look with: portico review show {session}. Apply or discard them first, or lose them "
            "with it: portico sessions delete --yes.",
        )
    if status.mode == "branch" and status.unfinished:
        return InvalidInput(
            f"Session {session} works on the branch {status.branch}, which is not finished.",
            suggestion=f"Finish it first: portico review finish merge --session {session} (or squash, keep, "
            "discard). With portico sessions delete --yes it is deleted, and your folder stays on the branch.",
        )
    return None


async def possible_modes(
    workspace: Path, environ: Mapping[str, str]
) -> tuple[tuple[ReviewMode, ...], str | None]:
    """The modes that a folder allows, and why not the others."""
    anywhere: tuple[ReviewMode, ...] = ("direct", "proposal")
    try:
        repository = await find_repository(workspace, environ)
        if repository is None:
            return anywhere, (
                f"{workspace} is not in a git repository. Run git init and make a first commit to work on a branch "
                "or in a worktree, or use the proposal mode, which needs neither."
            )
        await repository.settled_head()
    except PorticoError as error:
        return anywhere, " ".join(one for one in (error.message, error.suggestion) if one)
    return (*anywhere, "branch", "worktree"), None
