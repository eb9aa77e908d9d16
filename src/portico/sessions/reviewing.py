"""How one session's changes reach the files: the review it works under, and what the log gets to know of it."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import UNSET

from portico.acp import extensions
from portico.domain.errors import PorticoError
from portico.domain.events import AnyPayload, Notice
from portico.domain.ids import SessionId
from portico.domain.reviews import ReviewMode
from portico.domain.summaries import SessionSummary
from portico.sessions.journal import Journal
from portico.sessions.ports import Review, Reviews
from portico.sessions.unforeseen import unforeseen

_NOT_GATHERED = "What this turn changed could not be gathered."


class Reviewing:
    """A session that only reads changes nothing, and has no review."""

    def __init__(self, summary: SessionSummary, reviews: Reviews, journal: Journal) -> None:
        self.mode: ReviewMode = summary.mode
        self._session_id = SessionId(summary.session_id)
        self._workspace = Path(summary.workspace)
        self._reads_only = summary.reads_only
        self._reviews = reviews
        self._journal = journal
        self._review: Review | None = None

    @property
    def folder(self) -> Path:
        """Where the agent works."""
        return self._workspace if self._review is None else self._review.folder

    @property
    def writes_workspace(self) -> bool:
        """Whether the agent changes the person's own tree, in which only one may write at a time."""
        return not self._reads_only and self.mode in ("direct", "branch")

    @property
    def placed(self) -> extensions.Placed:
        """What the agent's side is told of the session when it is opened."""
        return extensions.Placed(
            session=self._session_id,
            workspace=str(self._workspace),
            mode=self.mode,
            reads_only=self._reads_only or UNSET,
        )

    async def open(self) -> None:
        """Find where the agent works, or make that place. An agent that only reads finds no half changed folder either."""
        if self._reads_only:
            self._record(await self._reviews.settle(self._workspace))
        elif self._review is None:
            self._review = await self._reviews.open(self._session_id, self._workspace, self.mode)

    def change(self, mode: ReviewMode) -> None:
        """From the next opening on, changes reach the files in another way."""
        self.mode, self._review = mode, None

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
        if self._review is None:
            return
        try:
            self._record(await self._review.end_turn())
        except PorticoError as error:
            self._record([_warning(_NOT_GATHERED, error)])
        except Exception as error:  # noqa: BLE001 - whatever a review stumbles over, the turn ends
            self._record([_warning(_NOT_GATHERED, unforeseen(error, f"the review of {self._session_id}"))])

    def _record(self, payloads: Sequence[AnyPayload]) -> None:
        for payload in payloads:
            self._journal.record(payload)


def _warning(what: str, error: PorticoError) -> Notice:
    return Notice(level="warning", text=f"{what} {error.message}", details=error.details.suggestion)
