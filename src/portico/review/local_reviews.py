"""Reviews of this process as doors use them; each decision is in the log when the call returns."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar, get_args

from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import AnyPayload, ProposalUpdated
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.review.branches.session_branches import FinishMethod
from portico.review.proposals.selection import SelectedFile, Selection
from portico.review.service import ReviewService
from portico.review.text.lines import read_text
from portico.sessions.idle_session import idle_session
from portico.sessions.ports import Ports
from portico.sessions.review_actions import (
    ApplyReport,
    ChangedFiles,
    CheckpointSummary,
    ConflictSide,
    FileConflict,
    FileContents,
    FinishReport,
    ProposalChoice,
    RestoreReport,
    ReviewEnding,
    ReviewModeStatus,
    UndoReport,
)
from portico.sessions.service import SessionService


class _Decided(Protocol):
    """The result of a decision, and the events to log for it."""

    @property
    def payloads(self) -> tuple[AnyPayload, ...]: ...


_Result = TypeVar("_Result")
_Outcome = TypeVar("_Outcome", bound=_Decided)


class LocalReviews:
    """Implements `doors.reviews.ReviewDesk`."""

    def __init__(self, service: SessionService, ports: Ports, reviews: ReviewService) -> None:
        self._service = service
        self._ports = ports
        self._reviews = reviews

    async def proposals(self, session_id: SessionId, *, decided: bool = False) -> Sequence[ProposalUpdated]:
        try:
            found = await self._reviews.proposals(session_id)
        except InvalidInput:  # no turn of it has begun, so nothing was arranged for it yet
            return []
        return [
            await self._reviews.payload(session_id, one.id)
            for one in found
            if (one.status != "open") is decided
        ]

    async def proposal(self, session_id: SessionId, proposal_id: str) -> ProposalUpdated:
        return await self._reviews.payload(session_id, proposal_id)

    async def contents(
        self, session_id: SessionId, proposal_id: str, paths: Sequence[str]
    ) -> Sequence[FileContents]:
        return [await self._contents(session_id, proposal_id, path) for path in paths]

    async def apply(self, session_id: SessionId, choice: ProposalChoice) -> ApplyReport:
        outcome = await self._decide(
            session_id,
            lambda: self._reviews.apply(
                session_id, choice.proposal_id, choice.revision, _selection(choice), _resolve(choice)
            ),
            writes_tree=True,
        )
        decided = outcome.decided
        return ApplyReport(
            proposal=outcome.proposal,
            merged=decided.merged,
            conflicted=decided.conflicted,
            refused=decided.refused,
        )

    async def discard(self, session_id: SessionId, choice: ProposalChoice) -> ProposalUpdated:
        outcome = await self._decide(
            session_id,
            lambda: self._reviews.discard(
                session_id, choice.proposal_id, choice.revision, _selection(choice)
            ),
            writes_tree=False,
        )
        return outcome.proposal

    async def undo(self, session_id: SessionId, proposal_id: str) -> UndoReport:
        outcome = await self._decide(
            session_id, lambda: self._reviews.undo(session_id, proposal_id), writes_tree=True
        )
        decided = outcome.decided
        return UndoReport(
            proposal=outcome.proposal,
            undone=not decided.conflicted,
            conflicted=decided.conflicted,
            already=decided.already,
        )

    async def revision_prompt(self, session_id: SessionId, choice: ProposalChoice, comment: str) -> str:
        return await self._reviews.revision_prompt(
            session_id, choice.proposal_id, choice.revision, _selection(choice), comment
        )

    async def checkpoints(self, session_id: SessionId) -> Sequence[CheckpointSummary]:
        try:
            found = await self._reviews.list_checkpoints(session_id)
        except InvalidInput:
            return []
        return [
            CheckpointSummary(
                checkpoint_id=one.id,
                at=one.at_ms,
                label=one.label,
                moment=one.moment.value,
                left_out=one.left_out_count,
                session_id=one.session,
                changed=changed,
            )
            for one, changed in ((listed.checkpoint, listed.changed) for listed in found)
        ]

    async def checkpoint_diff(
        self, session_id: SessionId, checkpoint_id: str, other: str | None = None
    ) -> ChangedFiles:
        compared = await self._reviews.compare(session_id, checkpoint_id, other)
        return ChangedFiles(files=tuple(compared.files), unlisted=compared.unlisted)

    async def restore(self, session_id: SessionId, checkpoint_id: str) -> RestoreReport:
        outcome = await self._decide(
            session_id, lambda: self._reviews.restore(session_id, checkpoint_id), writes_tree=True
        )
        return RestoreReport(restored=outcome.restored, proposal=outcome.proposal)

    async def status(self, session_id: SessionId) -> ReviewModeStatus:
        try:
            found = await self._reviews.status(session_id)
        except InvalidInput:
            return await self._status_to_be(session_id)
        apart = found.mode in ("proposal", "worktree")
        return ReviewModeStatus(
            mode=found.mode,
            branch=found.branch,
            home_branch=found.home_branch,
            folder=found.folder if apart else None,
            unfinished=found.unfinished,
            possible=found.possible,
            hint=found.hint,
            has_repository=await self._reviews.has_repository(Path(found.workspace)),
        )

    async def initialize_repository(self, session_id: SessionId) -> None:
        await self._reviews.initialize_repository(Path((await self._service.show(session_id)).workspace))

    async def finish(self, session_id: SessionId, ending: ReviewEnding, message: str | None) -> FinishReport:
        title = (await self._service.show(session_id)).title
        outcome = await self._decide(
            session_id,
            lambda: self._reviews.finish(session_id, FinishMethod(ending), message or title or None),
            writes_tree=True,
        )
        ended = outcome.ended
        notes = tuple(one.text for one in ended.notices)
        return FinishReport(commit=ended.commit, reference=ended.reference, notes=notes)

    async def _status_to_be(self, session_id: SessionId) -> ReviewModeStatus:
        """The review status of a session that has no changes yet."""
        summary = await self._service.show(session_id)
        possible: list[ReviewMode] = []
        hint: str | None = None
        for mode in get_args(ReviewMode):
            try:
                await self._reviews.check(Path(summary.workspace), mode)
                possible.append(mode)
            except PorticoError as error:
                hint = " ".join(filter(None, (error.message, error.suggestion)))
        has_repository = await self._reviews.has_repository(Path(summary.workspace))
        return ReviewModeStatus(
            mode=summary.mode, possible=tuple(possible), hint=hint, has_repository=has_repository
        )

    async def _decide(
        self, session_id: SessionId, decide: Callable[[], Awaitable[_Outcome]], *, writes_tree: bool
    ) -> _Outcome:
        """Do it with the session to ourselves, and write down what it came to."""

        async def carry_out() -> _Outcome:
            resting = idle_session(self._service, self._ports, session_id, writes_tree=writes_tree)
            async with resting as record:
                outcome = await decide()
                await record(*outcome.payloads)
                return outcome

        return await run_to_end(carry_out(), name=f"deciding on changes of {session_id}")

    async def _contents(self, session_id: SessionId, proposal_id: str, path: str) -> FileContents:
        file, sides = await self._reviews.file(session_id, proposal_id, path)
        return FileContents(
            path=path,
            old_text=_text(sides.base),
            new_text=_text(sides.agent),
            diff=file.diff,
            hunks=file.hunks,
            conflicts=tuple(
                FileConflict(
                    line=one.line, base=_text(one.base), person=_text(one.person), agent=_text(one.agent)
                )
                for one in sides.conflicts
            ),
        )


async def run_to_end(work: Coroutine[Any, Any, _Result], *, name: str) -> _Result:
    """Run work to its end even if the caller is cancelled, which takes effect afterwards."""
    task = asyncio.create_task(work, name=name)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait((task,))
        raise


def _selection(choice: ProposalChoice) -> Selection:
    return tuple(SelectedFile(one.path, one.hunk_ids or None) for one in choice.files)


def _resolve(choice: ProposalChoice) -> dict[str, ConflictSide]:
    return {one.path: one.resolve for one in choice.files if one.resolve is not None}


def _text(data: bytes | None) -> str | None:
    text = None if data is None else read_text(data)
    return None if text is None else text.content
