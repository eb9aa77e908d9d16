"""Review service: the one object that sessions, doors and the ACP proxy ask about proposals, checkpoints,
branches and worktrees.

It only combines the modules beside it. Every result includes the payloads for the log; nothing here writes a
log. A step that a killed process left undone is finished by the next call.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.domain.reviews import ProposedFile, ReviewMode
from portico.git.repository import (
    find_repository,
    ignored_files,
    initialize_repository,
    need_repository,
)
from portico.review.apply import CheckpointedApply, ProposalDecisions, ProposalOutcome
from portico.review.branches.session_branches import Branches, FinishMethod
from portico.review.checkpoints.checkpoint import Checkpoint, CheckpointEntry
from portico.review.checkpoints.held_files import SnapshotBounds
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.driver import ReviewParts, SessionReview
from portico.review.editor.unsaved_buffers import NoWindows
from portico.review.files.atomic_apply import Applier
from portico.review.files.leftovers import APPLIES, CHECKPOINTS
from portico.review.files.rollbacks import Rollbacks
from portico.review.finish import BranchFinish, FinishOutcome
from portico.review.outside_changes import OutsideChanges
from portico.review.proposals.conflict_resolution import ConflictSides, Side
from portico.review.proposals.lifecycle import Proposals
from portico.review.proposals.protection import Protection
from portico.review.proposals.revision import revision_prompt
from portico.review.proposals.selection import Selection
from portico.review.proposals.store import Proposal
from portico.review.recovery import ReviewRecovery
from portico.review.restore import CheckpointRestore, ComparedFiles, RestoreOutcome
from portico.review.session_records import ReviewRecord, ReviewRecords
from portico.review.status import SessionReviewStatus, read_status, reason_against_deletion
from portico.review.sync import ProposalSync
from portico.review.text.change_set import ChangeSet
from portico.review.working_copies.lifecycle import WorkingCopies
from portico.sessions.ports import Clock
from portico.sessions.windows import Windows

Protect = Callable[[Path], Protection]
_Outcome = TypeVar("_Outcome", ProposalOutcome, RestoreOutcome, FinishOutcome)


class ReviewService:
    """Implements `sessions.ports.ReviewProvider`, and carries out decisions for doors."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        parts: ReviewParts,
        proposals: Proposals,
        writing: CheckpointedApply,
        protect: Protect,
        outside: OutsideChanges,
    ) -> None:
        self._environ = environ
        self._parts = parts
        self._proposals = proposals
        self._restore = CheckpointRestore(parts.checkpoints, parts.sync, parts.review_records)
        self._decisions = ProposalDecisions(parts, proposals, writing)
        self._outside = outside
        self._finish = BranchFinish(folder / "finishing", environ, parts, proposals, writing, protect)
        self._pending: dict[str, list[AnyPayload]] = {}

    @classmethod
    def at(
        cls,
        folder: Path,
        environ: Mapping[str, str],
        clock: Clock,
        *,
        ours: Path | None = None,
        protect: Protect = lambda _: Protection(),
        linked: tuple[str, ...] = (),
        bounds: SnapshotBounds | None = None,
        windows: Windows | None = None,
    ) -> "ReviewService":
        """Reviews with all they keep in one folder of `ours`, the state folder. `bounds` are of checkpoints.

        Files reach the person through the `windows` that are attached to their workspace, where they can.
        """
        # What is kept there is opened by its real path.
        folder = Path(os.path.realpath(folder))
        ours, windows = ours or folder, windows or NoWindows()
        rollbacks = Rollbacks(folder / "rollbacks", ours=folder)
        checkpoints = Checkpoints(
            folder / CHECKPOINTS, environ, clock, ours=ours, bounds=bounds, rollbacks=rollbacks
        )
        applier = Applier(folder / APPLIES, rollbacks=rollbacks)
        proposals = Proposals(folder / "proposals", applier, clock, protect)
        working_copies = WorkingCopies(folder / "workplaces", environ, ours=ours, linked=linked)
        parts = ReviewParts(
            review_records=ReviewRecords(folder / "sessions"),
            working_copies=working_copies,
            sync=ProposalSync(working_copies, proposals, windows),
            checkpoints=checkpoints,
            branches=Branches(folder / "branches", environ, checkpoints),
            recovery=ReviewRecovery(folder, applier, checkpoints, rollbacks),
        )
        writing = CheckpointedApply(checkpoints, applier, windows)
        outside = OutsideChanges(folder / "outside", environ, checkpoints, ours)
        return cls(folder, environ, parts, proposals, writing, protect, outside)

    # For the host of a session.

    async def recover_all(self) -> list[Notice]:
        """Roll back interrupted work of killed processes in all folders, except where that is impossible now."""
        return await self._parts.recovery.recover_all()

    async def recover(self, workspace: Path) -> tuple[AnyPayload, ...]:
        """Make sure that a folder is not half changed by a killed process; payloads for the log."""
        await self._parts.recovery.recover(workspace)
        return tuple(await self._parts.recovery.notices(workspace))

    async def has_repository(self, workspace: Path) -> bool:
        """Whether a folder is in a git repository that can be used."""
        try:
            return await find_repository(workspace, self._environ) is not None
        except PorticoError:
            return False

    async def initialize_repository(self, workspace: Path) -> None:
        """Make a folder a git repository. InvalidInput if it is in one already."""
        await initialize_repository(workspace, self._environ)

    async def check(self, workspace: Path, mode: ReviewMode, session: str | None = None) -> None:
        """InvalidInput if a session cannot work in a folder in this mode, or this session cannot switch to
        it.
        """
        if mode in ("branch", "worktree"):
            await (await need_repository(workspace, self._environ)).settled_head()
        if mode in ("proposal", "worktree"):
            self._parts.working_copies.check(workspace)
            if session is not None:
                async with self._parts.review_records.held(session):
                    await self._parts.sync.check(workspace, session, mode)

    async def open(
        self, session: str, workspace: Path, mode: ReviewMode, branch: str | None = None
    ) -> SessionReview:
        """Open the review of a session, new or existing. `branch` is a name chosen by the person."""
        await self._parts.recovery.recover(workspace)
        async with self._parts.review_records.held(session):
            known = await self._recovered(session)
            working_copy = None
            if mode in ("proposal", "worktree"):
                working_copy = await self._parts.sync.open(workspace, session, mode)
            review_record = ReviewRecord(
                session=session,
                workspace=str(workspace),
                mode=mode,
                folder=str(workspace if working_copy is None else working_copy.folder),
                slug=branch or (None if known is None else known.slug),
                homecoming=None if known is None else known.homecoming,
            )
            if review_record != known:
                self._parts.review_records.keep(review_record)
            return SessionReview(review_record, self._parts, working_copy, self._pending.pop(session, ()))

    async def note_files(
        self, session: str, workspace: Path, label: str, *, git_only: bool = False
    ) -> list[AnyPayload]:
        """Note the state of the person's files, or of their repository alone, before a turn that must not
        change them.
        """
        await self._parts.recovery.recover(workspace)
        async with self._parts.review_records.held(session):
            return await self._outside.note(session, workspace, label, git_only=git_only)

    async def changed_outside(
        self, session: str, workspace: Path, *, beside: bool = False
    ) -> list[AnyPayload]:
        """Changes in the person's files since they were noted."""
        await self._parts.recovery.recover(workspace)
        async with self._parts.review_records.held(session):
            found = await self._outside.find(session, workspace, beside=beside)
            if found and self._parts.review_records.find(session) is None:
                self._parts.review_records.keep(_plain(session, workspace))
            return found

    async def salvage(self, session: str, workspace: Path) -> tuple[AnyPayload, ...]:
        """Changes of an interrupted turn: in the person's files, and in the working copy, to be proposed."""
        outside = await self.changed_outside(session, workspace)
        async with self._parts.review_records.held(session):
            working_copy = await self._parts.working_copies.find(workspace, session)
            if working_copy is None or not await asyncio.to_thread(working_copy.top.is_dir):
                return tuple(outside)
            return (*outside, *await self._parts.sync.collect(working_copy))

    async def check_deletable(self, session: str) -> None:
        """InvalidInput if a deletion would lose work that is not decided on."""
        if self._parts.review_records.find(session) is None:
            return
        if (reason := reason_against_deletion(session, await self.status(session))) is not None:
            raise reason

    async def forget(self, session: str, workspace: Path) -> None:
        """Delete the review state of a session. Branches and checkpoints stay."""
        async with self._parts.review_records.held(session):
            working_copy = await self._parts.working_copies.find(workspace, session)
            if working_copy is not None:
                await self._parts.working_copies.close(working_copy)
            await asyncio.to_thread(self._proposals.forget, session)
            await asyncio.to_thread(self._outside.forget, session)
            self._parts.review_records.forget(session)
        self._pending.pop(session, None)

    # For doors: proposals.

    async def proposals(self, session: str) -> tuple[Proposal, ...]:
        """All proposals of a session, oldest first, decided ones included."""
        async with self._ready(session):
            return await asyncio.to_thread(self._proposals.list, session)

    async def payload(self, session: str, proposal_id: str) -> ProposalUpdated:
        """Event payload of a proposal."""
        async with self._ready(session):
            await self._decisions.owned(session, proposal_id)
            return await asyncio.to_thread(self._proposals.payload, proposal_id)

    async def file(self, session: str, proposal_id: str, path: str) -> tuple[ProposedFile, ConflictSides]:
        """One file of a proposal in full, with its three sides."""
        proposal = await self._decisions.owned(session, proposal_id)
        await self._parts.recovery.recover(Path(proposal.workspace))
        view = await self._parts.sync.see(session, Path(proposal.workspace), (path,))
        return await asyncio.to_thread(self._proposals.file, proposal_id, path, view.disk)

    async def changes(
        self, session: str, proposal_id: str, revision: int, selection: Selection = ()
    ) -> ChangeSet:
        """The selected part of a proposal, with contents."""
        await self._decisions.owned(session, proposal_id)
        return await asyncio.to_thread(self._proposals.chosen, proposal_id, revision, selection)

    async def propose(
        self, session: str, workspace: Path, changes: ChangeSet
    ) -> tuple[ProposalUpdated | None, tuple[AnyPayload, ...]]:
        """Store changes that a tool proposes. No file is touched."""
        async with self._parts.review_records.held(session):
            if self._parts.review_records.find(session) is None:
                self._parts.review_records.keep(_plain(session, workspace))
            paths = [one.path for one in changes.changes]
            ignored = await ignored_files(workspace, paths, self._environ)
            proposal, payloads = await self._parts.sync.put(
                session, workspace, changes, "tool", ignored=ignored
            )
            return proposal, tuple(payloads)

    async def apply(
        self,
        session: str,
        proposal_id: str,
        revision: int,
        selection: Selection = (),
        resolve: Mapping[str, Side] | None = None,
    ) -> ProposalOutcome:
        """Write the selected part to the person's files, all or nothing, with a checkpoint before."""
        async with self._ready(session) as review_record:
            outcome = await self._decisions.apply(review_record, proposal_id, revision, selection, resolve)
            return self._with_pending(session, outcome)

    async def undo(
        self,
        session: str,
        proposal_id: str,
        revision: int | None = None,
        resolve: Mapping[str, Side] | None = None,
    ) -> ProposalOutcome:
        """Undo the last apply, all or nothing, with a checkpoint before."""
        async with self._ready(session) as review_record:
            outcome = await self._decisions.undo(review_record, proposal_id, revision, resolve)
            return self._with_pending(session, outcome)

    async def discard(
        self, session: str, proposal_id: str, revision: int, selection: Selection = ()
    ) -> ProposalOutcome:
        """Discard the selected part, also in the working copy."""
        async with self._ready(session) as review_record:
            outcome = await self._decisions.discard(review_record, proposal_id, revision, selection)
            return self._with_pending(session, outcome)

    async def revision_prompt(
        self, session: str, proposal_id: str, revision: int, selection: Selection = (), comment: str = ""
    ) -> str:
        """Prompt that asks the agent to change the part that the person did not accept."""
        return revision_prompt(await self.changes(session, proposal_id, revision, selection), comment)

    # For doors: checkpoints, and how a session stands and ends.

    async def checkpoints(self, session: str) -> tuple[Checkpoint, ...]:
        """Checkpoints of the session's workspace, newest first."""
        async with self._ready(session) as review_record:
            return await self._parts.checkpoints.list(Path(review_record.workspace))

    async def list_checkpoints(self, session: str) -> tuple[CheckpointEntry, ...]:
        """Checkpoints of the session's workspace, newest first, with what changed after each."""
        async with self._ready(session) as review_record:
            return await self._parts.checkpoints.list_changes(Path(review_record.workspace))

    async def compare(self, session: str, checkpoint_id: str, until: str | None = None) -> ComparedFiles:
        """Changes from a checkpoint to another one, or to the current files."""
        async with self._ready(session) as review_record:
            return await self._restore.compare(Path(review_record.workspace), checkpoint_id, until)

    async def restore(self, session: str, checkpoint_id: str) -> RestoreOutcome:
        """Restore the workspace. The person's changes since are proposed again."""
        async with self._ready(session) as review_record:
            outcome = await self._restore.restore(review_record, checkpoint_id)
            return self._with_pending(session, outcome)

    async def status(self, session: str) -> SessionReviewStatus:
        async with self._ready(session) as review_record:
            proposals = await asyncio.to_thread(self._proposals.list, session)
            parts = self._parts
            return await read_status(
                review_record, parts.branches, parts.working_copies, proposals, self._environ
            )

    async def finish(self, session: str, ending: FinishMethod, message: str | None = None) -> FinishOutcome:
        """Finish a branch or worktree: merge its work, keep it on a ref, or drop it."""
        async with self._ready(session) as review_record:
            if review_record.mode == "branch":
                outcome = await self._finish.finish_branch(review_record, ending, message)
            elif review_record.mode == "worktree":
                outcome = await self._finish.finish_worktree(review_record, ending, message)
            else:
                raise InvalidInput(
                    f"A session in {review_record.mode} mode has no branch to finish.",
                    suggestion="Apply or discard what it proposes, or restore a checkpoint.",
                )
            return self._with_pending(session, outcome)

    def _with_pending(self, session: str, outcome: _Outcome) -> _Outcome:
        """The outcome, with the payloads first that had no outcome to come with."""
        payloads = (*self._pending.pop(session, ()), *outcome.payloads)
        return msgspec.structs.replace(outcome, payloads=payloads)

    @asynccontextmanager
    async def _ready(self, session: str) -> AsyncIterator[ReviewRecord]:
        """Lock a session, and finish interrupted work first."""
        async with self._parts.review_records.held(session):
            review_record = await self._recovered(session)
            if review_record is None:
                raise InvalidInput(
                    f"Nothing is under review in the session {session}.",
                    suggestion="Send it a prompt first.",
                )
            yield review_record

    async def _recovered(self, session: str) -> ReviewRecord | None:
        """Review record of a session, after its workspace and an interrupted restore are recovered."""
        review_record = self._parts.review_records.find(session)
        if review_record is not None:
            await self._parts.recovery.recover(Path(review_record.workspace))
        if review_record is None or review_record.restoring is None:
            return review_record
        late = await self._restore.finish(review_record)
        if late is not None:
            self._pending.setdefault(session, []).extend(late.payloads)
        return msgspec.structs.replace(review_record, restoring=None)


def _plain(session: str, workspace: Path) -> ReviewRecord:
    """Record of a session that changes no files by itself."""
    return ReviewRecord(session=session, workspace=str(workspace), mode="direct", folder=str(workspace))
