"""Review service: the one object that sessions, doors and the ACP proxy ask about proposals, checkpoints,
branches and worktrees.

Glue alone: each part is a module beside this one. Every answer comes with the payloads that the log should get;
nothing here writes a log. A step that a killed process left undone is finished by whoever comes next.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload, Notice, ProposalUpdated
from portico.domain.reviews import ProposedFile, ReviewMode
from portico.review.apply import CheckpointedApply, ProposalDecisions, ProposalOutcome
from portico.review.branches.session_branches import Branches, FinishMethod
from portico.review.checkpoints.checkpoint import Checkpoint
from portico.review.checkpoints.held_files import SnapshotBounds
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.driver import ReviewParts, SessionReview
from portico.review.files.atomic_apply import Applier
from portico.review.files.leftovers import APPLIES, CHECKPOINTS
from portico.review.files.rollbacks import Rollbacks
from portico.review.finish import BranchFinish, FinishOutcome
from portico.review.git.repository import ignored_files, need_repository
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
from portico.sessions.windows import NoWindows, Windows

Protect = Callable[[Path], Protection]


class ReviewService:
    """Implements `sessions.ports.Reviews`, and does for doors whatever a person decides."""

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
        self._restore = CheckpointRestore(parts.checkpoints, parts.gathering, parts.review_records)
        self._decisions = ProposalDecisions(parts, proposals, writing)
        self._outside = outside
        self._finish = BranchFinish(folder / "finishing", environ, parts, proposals, writing, protect)
        self._untold: dict[str, list[AnyPayload]] = {}

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
            gathering=ProposalSync(working_copies, proposals, windows),
            checkpoints=checkpoints,
            branches=Branches(folder / "branches", environ, checkpoints),
            recovery=ReviewRecovery(folder, applier, checkpoints, rollbacks),
        )
        writing = CheckpointedApply(checkpoints, applier, windows)
        outside = OutsideChanges(folder / "outside", environ, checkpoints, ours)
        return cls(folder, environ, parts, proposals, writing, protect, outside)

    # For the host of a session.

    async def settle_all(self) -> list[Notice]:
        """Roll back what killed processes left half done in any folder, but for what cannot be settled just now."""
        return await self._parts.recovery.settle_all()

    async def settle(self, workspace: Path) -> tuple[AnyPayload, ...]:
        """Let nobody find a folder half changed by a killed process; what the log should say of it."""
        await self._parts.recovery.settle(workspace)
        return tuple(await self._parts.recovery.notices(workspace))

    async def check(self, workspace: Path, mode: ReviewMode, session: str | None = None) -> None:
        """InvalidInput, with another way, if a session cannot work in a folder so, or this one not from now on."""
        if mode in ("branch", "worktree"):
            await (await need_repository(workspace, self._environ)).settled_head()
        if mode in ("proposal", "worktree"):
            self._parts.working_copies.check(workspace)
            if session is not None:
                async with self._parts.review_records.held(session):
                    await self._parts.gathering.check(workspace, session, mode)

    async def open(
        self, session: str, workspace: Path, mode: ReviewMode, branch: str | None = None
    ) -> SessionReview:
        """A session's review, the one it has had before included. `branch` is for a person who names it."""
        await self._parts.recovery.settle(workspace)
        async with self._parts.review_records.held(session):
            known = await self._settled(session)
            working_copy = None
            if mode in ("proposal", "worktree"):
                working_copy = await self._parts.gathering.open(workspace, session, mode)
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
            return SessionReview(review_record, self._parts, working_copy, self._told(session))

    async def note_files(
        self, session: str, workspace: Path, label: str, *, git_only: bool = False
    ) -> list[AnyPayload]:
        """Note how the person's files are before a turn that must not touch them, or the repository's alone."""
        await self._parts.recovery.settle(workspace)
        async with self._parts.review_records.held(session):
            return await self._outside.note(session, workspace, label, git_only=git_only)

    async def changed_outside(
        self, session: str, workspace: Path, *, beside: bool = False
    ) -> list[AnyPayload]:
        """What changed in the person's files since they were noted; nothing if they were not."""
        await self._parts.recovery.settle(workspace)
        async with self._parts.review_records.held(session):
            found = await self._outside.find(session, workspace, beside=beside)
            if found and self._parts.review_records.find(session) is None:
                self._parts.review_records.keep(_plain(session, workspace))
            return found

    async def salvage(self, session: str, workspace: Path) -> tuple[AnyPayload, ...]:
        """What a turn that died had changed: in the person's files, and in the session's own tree, to be proposed."""
        outside = await self.changed_outside(session, workspace)
        async with self._parts.review_records.held(session):
            working_copy = await self._parts.working_copies.find(workspace, session)
            if working_copy is None or not await asyncio.to_thread(working_copy.top.is_dir):
                return tuple(outside)
            return (*outside, *await self._parts.gathering.gather(working_copy))

    async def check_deletable(self, session: str) -> None:
        """InvalidInput, with what to do, while a deletion would lose or leave behind what nobody has decided on."""
        if self._parts.review_records.find(session) is None:
            return
        if (reason := reason_against_deletion(session, await self.status(session))) is not None:
            raise reason

    async def forget(self, session: str, workspace: Path) -> None:
        """The session is deleted: what was kept for it goes too. Branches and checkpoints stay."""
        async with self._parts.review_records.held(session):
            working_copy = await self._parts.working_copies.find(workspace, session)
            if working_copy is not None:
                await self._parts.working_copies.close(working_copy)
            await asyncio.to_thread(self._proposals.forget, session)
            await asyncio.to_thread(self._outside.forget, session)
            self._parts.review_records.forget(session)
        self._untold.pop(session, None)

    # For doors: proposals.

    async def proposals(self, session: str) -> tuple[Proposal, ...]:
        """All of a session, oldest first, those included that are decided."""
        async with self._ready(session):
            return await asyncio.to_thread(self._proposals.list, session)

    async def payload(self, session: str, proposal_id: str) -> ProposalUpdated:
        """How a proposal stands, for those who look."""
        async with self._ready(session):
            await self._decisions.owned(session, proposal_id)
            return await asyncio.to_thread(self._proposals.payload, proposal_id)

    async def file(self, session: str, proposal_id: str, path: str) -> tuple[ProposedFile, ConflictSides]:
        """One file of a proposal in full, with its three sides."""
        proposal = await self._decisions.owned(session, proposal_id)
        await self._parts.recovery.settle(Path(proposal.workspace))
        view = await self._parts.gathering.see(session, Path(proposal.workspace), (path,))
        return await asyncio.to_thread(self._proposals.file, proposal_id, path, view.disk)

    async def changes(
        self, session: str, proposal_id: str, revision: int, selection: Selection = ()
    ) -> ChangeSet:
        """The chosen part of a proposal, with its contents."""
        await self._decisions.owned(session, proposal_id)
        return await asyncio.to_thread(self._proposals.chosen, proposal_id, revision, selection)

    async def propose(
        self, session: str, workspace: Path, changes: ChangeSet
    ) -> tuple[ProposalUpdated | None, tuple[AnyPayload, ...]]:
        """Keep what a tool proposes for the person. No file is touched."""
        async with self._parts.review_records.held(session):
            if self._parts.review_records.find(session) is None:
                self._parts.review_records.keep(_plain(session, workspace))
            paths = [one.path for one in changes.changes]
            ignored = await ignored_files(workspace, paths, self._environ)
            told, payloads = await self._parts.gathering.put(
                session, workspace, changes, "tool", ignored=ignored
            )
            return told, tuple(payloads)

    async def apply(
        self,
        session: str,
        proposal_id: str,
        revision: int,
        selection: Selection = (),
        resolve: Mapping[str, Side] | None = None,
    ) -> ProposalOutcome:
        """Write the chosen part to the person's files, with a checkpoint from before, all of it or nothing."""
        async with self._ready(session) as review_record:
            outcome = await self._decisions.apply(review_record, proposal_id, revision, selection, resolve)
            return msgspec.structs.replace(outcome, payloads=self._told(session, *outcome.payloads))

    async def undo(
        self,
        session: str,
        proposal_id: str,
        revision: int | None = None,
        resolve: Mapping[str, Side] | None = None,
    ) -> ProposalOutcome:
        """Take the last apply back, with a checkpoint from before, all of it or nothing."""
        async with self._ready(session) as review_record:
            outcome = await self._decisions.undo(review_record, proposal_id, revision, resolve)
            return msgspec.structs.replace(outcome, payloads=self._told(session, *outcome.payloads))

    async def discard(
        self, session: str, proposal_id: str, revision: int, selection: Selection = ()
    ) -> ProposalOutcome:
        """Give the chosen part up. It goes from the agent's own tree as well."""
        async with self._ready(session) as review_record:
            outcome = await self._decisions.discard(review_record, proposal_id, revision, selection)
            return msgspec.structs.replace(outcome, payloads=self._told(session, *outcome.payloads))

    async def revision_prompt(
        self, session: str, proposal_id: str, revision: int, selection: Selection = (), comment: str = ""
    ) -> str:
        """What to send to the agent, so that it changes what the person did not take."""
        return revision_prompt(await self.changes(session, proposal_id, revision, selection), comment)

    # For doors: checkpoints, and how a session stands and ends.

    async def checkpoints(self, session: str) -> tuple[Checkpoint, ...]:
        """Those of the session's workspace, newest first."""
        async with self._ready(session) as review_record:
            return await self._parts.checkpoints.list(Path(review_record.workspace))

    async def compare(self, session: str, checkpoint_id: str, until: str | None = None) -> ComparedFiles:
        """What changed from a checkpoint to another one, or to the files as they are now."""
        async with self._ready(session) as review_record:
            return await self._restore.compare(Path(review_record.workspace), checkpoint_id, until)

    async def restore(self, session: str, checkpoint_id: str) -> RestoreOutcome:
        """Make the workspace what it was. What the person changed since comes back as a proposal."""
        async with self._ready(session) as review_record:
            outcome = await self._restore.restore(review_record, checkpoint_id)
            return msgspec.structs.replace(outcome, payloads=self._told(session, *outcome.payloads))

    async def status(self, session: str) -> SessionReviewStatus:
        async with self._ready(session) as review_record:
            proposals = await asyncio.to_thread(self._proposals.list, session)
            parts = self._parts
            return await read_status(
                review_record, parts.branches, parts.working_copies, proposals, self._environ
            )

    async def finish(self, session: str, ending: FinishMethod, message: str | None = None) -> FinishOutcome:
        """Bring the work of a branch or a worktree home, keep it beside, or put it away."""
        async with self._ready(session) as review_record:
            if review_record.mode == "branch":
                outcome = await self._finish.finish_branch(review_record, ending, message)
            elif review_record.mode == "worktree":
                outcome = await self._finish.finish_worktree(review_record, ending, message)
            else:
                raise InvalidInput(
                    f"A session in {review_record.mode} mode has no branch of its own to finish.",
                    suggestion="Apply or discard what it proposes, or go back to a checkpoint.",
                )
            return msgspec.structs.replace(outcome, payloads=self._told(session, *outcome.payloads))

    def _told(self, session: str, *payloads: AnyPayload) -> tuple[AnyPayload, ...]:
        """What to tell, after what could not be told before."""
        return (*self._untold.pop(session, ()), *payloads)

    @asynccontextmanager
    async def _ready(self, session: str) -> AsyncIterator[ReviewRecord]:
        """One thing at a time in a session, and what was cut short before is finished first."""
        async with self._parts.review_records.held(session):
            review_record = await self._settled(session)
            if review_record is None:
                raise InvalidInput(
                    f"Nothing is under review in the session {session}.",
                    suggestion="Send it a prompt first.",
                )
            yield review_record

    async def _settled(self, session: str) -> ReviewRecord | None:
        """What a session has arranged, with its folder settled and a restore that was cut short told of."""
        review_record = self._parts.review_records.find(session)
        if review_record is not None:
            await self._parts.recovery.settle(Path(review_record.workspace))
        if review_record is None or review_record.restoring is None:
            return review_record
        late = await self._restore.finish(review_record)
        if late is not None:
            self._untold.setdefault(session, []).extend(late.payloads)
        return msgspec.structs.replace(review_record, restoring=None)


def _plain(session: str, workspace: Path) -> ReviewRecord:
    """What holds for a session that changes nothing by itself."""
    return ReviewRecord(session=session, workspace=str(workspace), mode="direct", folder=str(workspace))
