"""Finish of a branch or worktree: merge, squash, keep or discard."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload
from portico.git.repository import need_repository
from portico.review.apply import ApplyJob, CheckpointedApply
from portico.review.branches.session_branches import PREFIX, FinishedWork, FinishMethod
from portico.review.branches.worktree_merge import WorktreeMerge
from portico.review.driver import ReviewParts
from portico.review.proposals.lifecycle import Proposals
from portico.review.proposals.protection import Protection
from portico.review.proposals.selection import SelectedFile
from portico.review.proposals.store import Proposal
from portico.review.session_records import PendingFinish, ReviewRecord
from portico.review.text.change_set import ChangeSet, paths_of
from portico.review.working_copies.lifecycle import WorkingCopy

_HOME = (FinishMethod.MERGE, FinishMethod.SQUASH)


class FinishOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Location of the work of a finished branch or worktree."""

    ended: FinishedWork
    payloads: tuple[AnyPayload, ...] = ()


class BranchFinish:
    """Finishes branches and worktrees of all sessions. `scratch` is in the state folder."""

    def __init__(
        self,
        scratch: Path,
        environ: Mapping[str, str],
        parts: ReviewParts,
        proposals: Proposals,
        writing: CheckpointedApply,
        protect: Callable[[Path], Protection],
    ) -> None:
        self._scratch = scratch
        self._environ = environ
        self._parts = parts
        self._proposals = proposals
        self._writing = writing
        self._protect = protect

    async def finish_branch(
        self, review_record: ReviewRecord, ending: FinishMethod, message: str | None
    ) -> FinishOutcome:
        if review_record.slug is None:
            raise InvalidInput(
                "The session has not begun its branch yet, so there is nothing to finish.",
                suggestion="Send it a prompt first, or delete the session.",
            )
        workspace = Path(review_record.workspace)
        protection = await asyncio.to_thread(self._protect, workspace)
        ended = await self._parts.branches.finish(
            workspace, review_record.slug, ending, message, run_filters=protection.run_filters
        )
        self._parts.review_records.keep(msgspec.structs.replace(review_record, slug=None))
        return FinishOutcome(ended=ended, payloads=ended.notices)

    async def finish_worktree(
        self, review_record: ReviewRecord, ending: FinishMethod, message: str | None
    ) -> FinishOutcome:
        """Commit what the person has not decided on yet, or set it aside; then take the worktree away."""
        working_copy = await self._parts.working_copies.find(
            Path(review_record.workspace), review_record.session
        )
        if working_copy is None:
            raise InvalidInput(
                "The session has no worktree, so there is nothing to finish.",
                suggestion="Send it a prompt, which makes one, or delete the session.",
            )
        payloads = await self._parts.sync.collect(working_copy)
        repository = await need_repository(working_copy.workspace, self._environ)
        finishing = WorktreeMerge(repository, working_copy.workspace, self._scratch)
        said = message or f"Work of the session {working_copy.session}\n\nBy a session of Portico.\n"
        homecoming = await self._cut_short(review_record)
        if homecoming is not None:
            if ending not in _HOME:
                raise _uncommitted(review_record.session)
            await finishing.carry_on(homecoming, ending, said)
        proposal = await self._waiting(review_record.session)
        changes = ChangeSet()
        if proposal is not None and (chosen := _allowed(proposal)):
            changes = await asyncio.to_thread(self._proposals.chosen, proposal.id, proposal.revision, chosen)
        protection = await asyncio.to_thread(self._protect, working_copy.workspace)
        prepared = await finishing.prepare(changes, ending, said, run_filters=protection.run_filters)
        if ending in _HOME:
            if proposal is not None and changes.changes:
                await finishing.hold(working_copy.session, prepared)
                going = PendingFinish(proposal.id, proposal.revision, prepared.home, prepared.commit)
                self._parts.review_records.keep(msgspec.structs.replace(review_record, homecoming=going))
                payloads += await self._apply(working_copy, proposal)
            ended = await finishing.stage(prepared, ending)
            await finishing.let_go(working_copy.session)
            self._parts.review_records.keep(msgspec.structs.replace(review_record, homecoming=None))
        else:
            name = f"session-{working_copy.session[-8:]}"
            discarded = f"refs/portico/discarded/{name}/{prepared.commit[:12]}"
            reference = f"refs/heads/{PREFIX}{name}" if ending is FinishMethod.KEEP else discarded
            ended = await finishing.keep(prepared, reference, ending)
            if proposal is not None:
                await asyncio.to_thread(self._proposals.discard, proposal.id, proposal.revision)
                payloads.append(await asyncio.to_thread(self._proposals.payload, proposal.id))
        await self._parts.working_copies.close(working_copy)
        return FinishOutcome(ended=ended, payloads=(*payloads, *ended.notices))

    async def _cut_short(self, review_record: ReviewRecord) -> PendingFinish | None:
        """An earlier end that got as far as the person's files, if they have not taken it back since."""
        going = review_record.homecoming
        listed = await asyncio.to_thread(self._proposals.list, review_record.session) if going else ()
        for one in listed:
            if going is not None and (one.id, one.revision) == (going.proposal, going.revision + 1):
                return going if one.status == "applied" else None
        return None

    async def _waiting(self, session: str) -> Proposal | None:
        listed = await asyncio.to_thread(self._proposals.list, session)
        return next((one for one in reversed(listed) if one.origin == "turn" and one.status == "open"), None)

    async def _apply(self, working_copy: WorkingCopy, proposal: Proposal) -> list[AnyPayload]:
        job = ApplyJob(
            session=working_copy.session,
            workspace=working_copy.workspace,
            paths=paths_of(proposal.changes),
            doing="merging a worktree",
            saved=True,
        )
        written = await self._writing.write(
            job,
            lambda writer: self._proposals.apply(
                proposal.id, proposal.revision, _allowed(proposal), writer=writer
            ),
        )
        if conflicted := written.decided.conflicted:
            raise InvalidInput(
                f"You have changed the same lines of {', '.join(conflicted)}; nothing was changed.",
                suggestion="Apply the session's proposal and choose a side for these files, then finish again.",
            )
        return [*written.payloads, await asyncio.to_thread(self._proposals.payload, proposal.id)]


def _allowed(proposal: Proposal) -> tuple[SelectedFile, ...]:
    return tuple(
        SelectedFile(one.path) for one in proposal.changes.changes if one.path not in proposal.denied
    )


def _uncommitted(session: str) -> InvalidInput:
    return InvalidInput(
        "An earlier finish was interrupted: the session's changes are in your files, uncommitted.",
        suggestion="Finish with merge or squash, which commits them; or take them out of your files first: "
        f"portico review undo --session {session}",
    )
