"""Board of sessions: every session as a card with what it is doing, what it asks, cost and size of its changes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Literal

import msgspec

from portico.domain.costs import total_spending
from portico.domain.errors import PorticoError
from portico.domain.events import (
    ErrorReported,
    Event,
    PermissionRequested,
    PermissionResolved,
    PromptSubmitted,
    QuestionAnswered,
    QuestionAsked,
    TextDelta,
    ToolStarted,
    TurnEnded,
)
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary, one_line
from portico.domain.turns import TurnState
from portico.sessions.ports import Store
from portico.sessions.review_actions import ReviewActions
from portico.sessions.session_list import RemovedSession, SessionList, SessionListEntry

BoardGroup = Literal["asking", "working", "to_review", "done"]
_TAIL = 120
"""Events at the end of a log in which the last line and the open requests are looked for."""


class ChangeSize(msgspec.Struct, frozen=True, kw_only=True):
    """Files and lines of the open proposals of a session."""

    files: int = 0
    added: int = 0
    removed: int = 0


class BoardCard(msgspec.Struct, frozen=True, kw_only=True):
    entry: SessionListEntry
    group: BoardGroup
    last_line: str = ""
    cost: float | None = None
    currency: str = "USD"
    tokens: int = 0
    changes: ChangeSize = ChangeSize()
    permissions: tuple[PermissionRequested, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()

    @property
    def session_id(self) -> SessionId:
        return self.entry.summary.session_id


class SessionBoard:
    """Makes the cards from the log, so that sessions of every process are on the board."""

    def __init__(self, sessions: SessionList, store: Store, reviews: ReviewActions) -> None:
        self._sessions = sessions
        self._store = store
        self._reviews = reviews

    async def watch(self, *, workspace: str | None) -> AsyncGenerator[BoardCard | RemovedSession]:
        """The cards of the latest sessions that have begun, then each change, until the caller leaves."""
        async with aclosing(self._sessions.watch(workspace=workspace)) as changes:
            async for change in changes:
                if isinstance(change, RemovedSession):
                    yield change
                elif change.summary.last_turn is not None:
                    yield await self.card(change)

    async def card(self, entry: SessionListEntry) -> BoardCard:
        summary = entry.summary
        tail = await self._store.tail(summary.session_id, before_seq=None, limit=_TAIL)
        active = summary.state.active
        permissions, questions = open_requests(tail) if active else ((), ())
        spent = total_spending(await self._store.spending(session_id=summary.session_id), "all")
        costly = max(spent, key=lambda one: one.cost or 0.0, default=None)
        return BoardCard(
            entry=entry,
            group=group_of(summary, is_asking=bool(permissions or questions)),
            last_line=last_line(tail),
            cost=None if costly is None else costly.cost,
            currency="USD" if costly is None else costly.currency,
            tokens=sum(one.input_tokens + one.output_tokens for one in spent),
            changes=await self._changes(summary),
            permissions=permissions,
            questions=questions,
        )

    async def _changes(self, summary: SessionSummary) -> ChangeSize:
        if not summary.to_review:
            return ChangeSize()
        try:
            proposals = await self._reviews.proposals(summary.session_id)
        except PorticoError:  # Opening the review says why.
            return ChangeSize(files=summary.to_review)
        files = [file for proposal in proposals for file in proposal.files]
        return ChangeSize(
            files=summary.to_review,
            added=sum(file.added for file in files),
            removed=sum(file.removed for file in files),
        )


def group_of(summary: SessionSummary, *, is_asking: bool) -> BoardGroup:
    if is_asking or summary.state is TurnState.AWAITING:
        return "asking"
    if summary.state.active:
        return "working"
    return "to_review" if summary.to_review else "done"


def open_requests(
    events: Sequence[Event],
) -> tuple[tuple[PermissionRequested, ...], tuple[QuestionAsked, ...]]:
    """The permission requests and questions that were not answered by the last event."""
    permissions: dict[str, PermissionRequested] = {}
    questions: dict[str, QuestionAsked] = {}
    for event in events:
        match event.payload:
            case PermissionRequested(request_id=name) as request:
                permissions[name] = request
            case QuestionAsked(request_id=name) as question:
                questions[name] = question
            case PermissionResolved(request_id=name):
                permissions.pop(name, None)
            case QuestionAnswered(request_id=name):
                questions.pop(name, None)
            case TurnEnded():
                permissions.clear()
                questions.clear()
            case _:
                pass
    return tuple(permissions.values()), tuple(questions.values())


def last_line(events: Sequence[Event]) -> str:
    """Last message, action, request or failure, on one line."""
    said = ""
    for event in reversed(events):
        match event.payload:
            case TextDelta(text=text):
                said = text + said
                if "\n" in said.strip():
                    break
            case ToolStarted(title=text) | PermissionRequested(title=text) | PromptSubmitted(text=text):
                said = said.strip() or text
            case QuestionAsked(message=text) | ErrorReported(message=text):
                said = said.strip() or text
            case _:
                continue
        if said and not isinstance(event.payload, TextDelta):
            break
    lines = said.strip().splitlines()
    return one_line(lines[-1]) if lines else ""
