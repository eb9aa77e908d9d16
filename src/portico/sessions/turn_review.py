"""Review of one session around each turn: checkpoint before, changed files after.

The host records the results in the session's log; the ACP review proxy shows them in the editor.
"""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET

from portico.acp import extensions
from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Notice
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.sessions.internal_error import internal_error
from portico.sessions.ports import Review, ReviewProvider

_NO_CHECKPOINT = "No checkpoint was taken before this turn."
_NOT_COMPARED = "Cannot tell whether this turn changed files outside the review."
_NOT_COLLECTED = "The changes of this turn could not be collected."


class ReviewSubject(msgspec.Struct, frozen=True, kw_only=True):
    """Session under review: where it works, and how its changes reach the files."""

    session_id: SessionId
    workspace: Path
    mode: ReviewMode
    reads_only: bool = False


async def _no_other() -> bool:
    return False


class TurnReview:
    """Steps of the review before and after each turn; `record` gets what the log or the editor should show.

    A read-only session has no checkpoints and no proposals. The person's files are compared around each turn that
    must not change them, unless a sandbox confines the agent.
    """

    def __init__(
        self,
        subject: ReviewSubject,
        reviews: ReviewProvider,
        record: Callable[[AnyPayload], None],
        *,
        review: Review | None = None,
        beside: Callable[[], Awaitable[bool]] = _no_other,
    ) -> None:
        self._subject = subject
        self._reviews = reviews
        self._record = record
        self._review = review
        self._noted: Literal["nothing", "git", "all"] = "nothing"
        self._beside = beside

    @property
    def mode(self) -> ReviewMode:
        return self._subject.mode

    @property
    def folder(self) -> Path:
        """Folder in which the agent works."""
        return self._subject.workspace if self._review is None else self._review.folder

    @property
    def writes_workspace(self) -> bool:
        """Whether the agent changes the person's own tree, which has one writer at a time."""
        return not self._subject.reads_only and self._subject.mode in ("direct", "branch")

    @property
    def placed(self) -> extensions.SessionPlacement:
        """`_meta` of the request that opens the agent's session."""
        return extensions.SessionPlacement(
            session=self._subject.session_id,
            workspace=str(self._subject.workspace),
            mode=self._subject.mode,
            reads_only=self._subject.reads_only or UNSET,
        )

    async def open(self) -> None:
        """Recover the workspace from interrupted writes, then find or create the folder in which the agent works."""
        self._record_all(await self._reviews.recover(self._subject.workspace))
        if self._review is None and not self._subject.reads_only:
            subject = self._subject
            self._review = await self._reviews.open(subject.session_id, subject.workspace, subject.mode)

    def change(self, mode: ReviewMode) -> None:
        """Change the review mode; it takes effect when the review is opened next."""
        self._subject, self._review = msgspec.structs.replace(self._subject, mode=mode), None

    async def note_files(self, label: str, *, confined: bool) -> None:
        """Note the state of the files that this turn must not change, once per turn.

        A `confined` agent cannot change them, but in a worktree it can change the repository's branches.
        """
        subject = self._subject
        wanted: Literal["nothing", "git", "all"] = "all"
        if confined:
            wanted = "git" if subject.mode == "worktree" and not subject.reads_only else "nothing"
        if self.writes_workspace or wanted in ("nothing", self._noted) or self._noted == "all":
            return
        self._noted = wanted
        try:
            self._record_all(
                await self._reviews.note_files(
                    subject.session_id, subject.workspace, label, git_only=wanted == "git"
                )
            )
        except PorticoError as error:
            self._record(_warning(_NOT_COMPARED, error))

    async def begin_turn(self, label: str) -> None:
        """Take a checkpoint or prepare the working copy. In direct mode, a failure to do so is only a warning."""
        self._record_all(await self._reviews.recover(self._subject.workspace))
        if self._review is None:
            return
        try:
            self._record_all(await self._review.begin_turn(label))
        except PorticoError as error:
            if self._subject.mode != "direct":
                raise
            self._record(_warning(_NO_CHECKPOINT, error))

    async def end_turn(self) -> None:
        """Record what the turn changed. A step that fails is a warning, and the next step still runs."""
        if self._noted != "nothing":
            outside = self._reviews.changed_outside(
                self._subject.session_id, self._subject.workspace, beside=await self._beside()
            )
            await self._record_result(outside, _NOT_COMPARED)
            self._noted = "nothing"
        if self._review is not None:
            await self._record_result(self._review.end_turn(), _NOT_COLLECTED)

    async def _record_result(self, step: Awaitable[Sequence[AnyPayload]], failure: str) -> None:
        try:
            self._record_all(await step)
        except PorticoError as error:
            self._record(_warning(failure, error))
        except Exception as error:  # noqa: BLE001 - the turn ends
            self._record(
                _warning(failure, internal_error(error, f"the review of {self._subject.session_id}"))
            )

    def _record_all(self, payloads: Sequence[AnyPayload]) -> None:
        for payload in payloads:
            self._record(payload)


def _warning(what: str, error: PorticoError) -> Notice:
    return Notice(level="warning", text=f"{what} {error.message}", details=error.details.suggestion)
