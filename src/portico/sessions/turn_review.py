"""Review of one session around each turn: checkpoint before, changed files after, both recorded in the log."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import UNSET

from portico.acp import extensions
from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Notice
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.sessions.internal_error import internal_error
from portico.sessions.log.journal import Journal
from portico.sessions.ports import Review, ReviewProvider

_NOT_COMPARED = "Whether this turn changed files outside the review is not known."
_NOT_GATHERED = "What this turn changed could not be gathered."


class TurnReview:
    """A session that only reads changes nothing, and has no review.

    The person's files are compared around each turn that must not touch them, unless the kernel sees to that.
    """

    def __init__(
        self,
        summary: SessionSummary,
        reviews: ReviewProvider,
        journal: Journal,
        *,
        beside: Callable[[], bool] = lambda: False,
    ) -> None:
        self.mode: ReviewMode = summary.mode
        self._session_id = SessionId(summary.session_id)
        self._workspace = Path(summary.workspace)
        self._reads_only = summary.reads_only
        self._reviews = reviews
        self._journal = journal
        self._review: Review | None = None
        self._noted: Literal["nothing", "git", "all"] = "nothing"
        self._beside = beside

    @property
    def folder(self) -> Path:
        """Where the agent works."""
        return self._workspace if self._review is None else self._review.folder

    @property
    def writes_workspace(self) -> bool:
        """Whether the agent changes the person's own tree, in which only one may write at a time."""
        return not self._reads_only and self.mode in ("direct", "branch")

    @property
    def placed(self) -> extensions.SessionPlacement:
        """What the agent's side is told of the session when it is opened."""
        return extensions.SessionPlacement(
            session=self._session_id,
            workspace=str(self._workspace),
            mode=self.mode,
            reads_only=self._reads_only or UNSET,
        )

    async def open(self) -> None:
        """Find where the agent works, or make that place. No agent starts in a folder that is half changed."""
        self._record(await self._reviews.settle(self._workspace))
        if self._review is None and not self._reads_only:
            self._review = await self._reviews.open(self._session_id, self._workspace, self.mode)

    def change(self, mode: ReviewMode) -> None:
        """From the next opening on, changes reach the files in another way."""
        self.mode, self._review = mode, None

    async def note_files(self, label: str, *, confined: bool) -> None:
        """Once in a turn, note how the files are that it must not touch; a `confined` agent cannot.

        In a worktree it can touch the branches of the person's repository all the same.
        """
        wanted: Literal["nothing", "git", "all"] = "all"
        if confined:
            wanted = "git" if self.mode == "worktree" and not self._reads_only else "nothing"
        if self.writes_workspace or wanted in ("nothing", self._noted) or self._noted == "all":
            return
        self._noted = wanted
        try:
            self._record(
                await self._reviews.note_files(
                    self._session_id, self._workspace, label, git_only=wanted == "git"
                )
            )
        except PorticoError as error:
            self._record([_warning(_NOT_COMPARED, error)])

    async def begin_turn(self, label: str) -> None:
        """Make the way back sure. What cannot be kept in direct mode is said, and work goes on."""
        self._record(await self._reviews.settle(self._workspace))
        if self._review is None:
            return
        try:
            self._record(await self._review.begin_turn(label))
        except PorticoError as error:
            if self.mode != "direct":
                raise
            self._record([_warning("No checkpoint was taken before this turn.", error)])

    async def end_turn(self) -> None:
        """Write down what the person has to look at."""
        if self._noted != "nothing":
            self._noted = "nothing"
            outside = self._reviews.changed_outside(self._session_id, self._workspace, beside=self._beside())
            await self._tell(outside, _NOT_COMPARED)
        if self._review is not None:
            await self._tell(self._review.end_turn(), _NOT_GATHERED)

    async def _tell(self, found: Awaitable[Sequence[AnyPayload]], otherwise: str) -> None:
        """Record what was found. Whatever that stumbles over, the turn ends."""
        try:
            self._record(await found)
        except PorticoError as error:
            self._record([_warning(otherwise, error)])
        except Exception as error:  # noqa: BLE001 - the turn ends
            self._record([_warning(otherwise, internal_error(error, f"the review of {self._session_id}"))])

    def _record(self, payloads: Sequence[AnyPayload]) -> None:
        for payload in payloads:
            self._journal.record(payload)


def _warning(what: str, error: PorticoError) -> Notice:
    return Notice(level="warning", text=f"{what} {error.message}", details=error.details.suggestion)
