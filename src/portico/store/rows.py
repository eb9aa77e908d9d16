"""Translation between domain values and table rows."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.domain.components import SessionComponents
from portico.domain.drafts import SessionDraft
from portico.domain.errors import StoreFailed
from portico.domain.events import AnyPayload, Event, Notice
from portico.domain.ids import SessionId, TurnId
from portico.domain.payload_codec import decode_payload, encode_payload
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import ForkPoint, SessionSummary, TitleSource
from portico.domain.turns import TurnState

_TITLE_SOURCES: tuple[TitleSource, ...] = ("prompt", "agent", "person")
"""By their number in the column `titled`."""
_FORK_POINT = ForkPoint | None
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class EventRow(NamedTuple):
    seq: int
    turn_id: TurnId | None
    at: int
    kind: str
    payload: bytes


class SummaryRow(NamedTuple):
    """The columns of a session, by name."""

    session_id: SessionId
    workspace: str
    agent: str
    agent_command: str
    reads_only: int
    mode: str
    components: str
    title: str
    titled: int
    proposed: str
    state: str
    created_at: int
    updated_at: int
    last_seq: int
    last_turn: TurnId | None
    agent_session_id: str | None
    branched_at: str


def event_row(event: Event) -> EventRow:
    try:
        payload = encode_payload(event.payload)
    except (UnicodeEncodeError, TypeError, OverflowError, msgspec.MsgspecError) as error:
        raise StoreFailed(
            f"Event {event.seq} ({event.kind}) cannot be written as JSON ({error}), so nothing was written."
        ) from error
    return EventRow(event.seq, event.turn_id, event.at, event.kind, payload)


def event_of(session_id: SessionId, row: EventRow) -> Event:
    """The event of a row. One that this version cannot read becomes a notice with the raw payload."""
    try:
        payload = decode_payload(row.kind, row.payload)
    except (KeyError, *_UNREADABLE):
        payload = _placeholder(row)
    return Event(session_id=session_id, seq=row.seq, turn_id=row.turn_id, at=row.at, payload=payload)


def limit_bytes(rows: Iterable[EventRow], max_bytes: int | None) -> Iterator[EventRow]:
    """Rows up to the one that reaches `max_bytes`; all of them without a limit."""
    size = 0
    for row in rows:
        yield row
        size += len(row.payload)
        if max_bytes is not None and size >= max_bytes:
            return


def decode_problem(row: EventRow) -> str | None:
    """The reason why `event_of` returns a notice for this row; None if it does not."""
    try:
        decode_payload(row.kind, row.payload)
    except KeyError:
        return f"is of kind {row.kind!r}, which this version does not know"
    except _UNREADABLE as error:
        return f"({row.kind}) cannot be decoded: {error}"
    return None


def _placeholder(row: EventRow) -> AnyPayload:
    try:
        codecs.decode_json(row.payload)
        raw = Raw(row.payload)
    except _UNREADABLE:
        raw = Raw(msgspec.json.encode(row.payload.decode(errors="replace")))
    return Notice(
        level="warning",
        text=f"This version cannot read an event of kind {row.kind!r}; a newer Portico may have written it.",
        raw=raw,
    )


def summary_row(summary: SessionSummary) -> SummaryRow:
    return SummaryRow(
        session_id=summary.session_id,
        workspace=summary.workspace,
        agent=summary.agent,
        agent_command=msgspec.json.encode(summary.agent_command).decode(),
        reads_only=int(summary.reads_only),
        mode=summary.mode,
        components=msgspec.json.encode(summary.components).decode(),
        title=summary.title,
        titled=_TITLE_SOURCES.index(summary.title_from),
        proposed=msgspec.json.encode(summary.proposed).decode(),
        state=summary.state.value,
        created_at=summary.created_at,
        updated_at=summary.updated_at,
        last_seq=summary.last_seq,
        last_turn=summary.last_turn,
        agent_session_id=summary.agent_session_id,
        branched_at=msgspec.json.encode(summary.branched_at).decode(),
    )


def summary_of(row: SummaryRow) -> SessionSummary:
    try:
        codecs.convert(tuple(row), SummaryRow)
        state = TurnState(row.state)
        mode = codecs.convert(row.mode, ReviewMode)
        components = codecs.decode_json(row.components, SessionComponents)
        title_from = codecs.convert(dict(enumerate(_TITLE_SOURCES)).get(row.titled), TitleSource)
        proposed = codecs.decode_json(row.proposed, dict[str, int])
        agent_command = codecs.decode_json(row.agent_command, tuple[str, ...])
        branched_at = codecs.decode_json(row.branched_at, _FORK_POINT)
    except ValueError as error:
        raise StoreFailed(
            f"The summary of session {row.session_id} cannot be read ({error}).",
            suggestion="A newer Portico may have written it. See what is wrong with: portico sessions verify",
        ) from error
    return SessionSummary(
        session_id=row.session_id,
        workspace=row.workspace,
        agent=row.agent,
        agent_command=agent_command,
        reads_only=bool(row.reads_only),
        mode=mode,
        components=components,
        title=row.title,
        title_from=title_from,
        proposed=proposed,
        state=state,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seq=row.last_seq,
        last_turn=row.last_turn,
        agent_session_id=row.agent_session_id,
        branched_at=branched_at,
    )


def draft_row(draft: SessionDraft) -> bytes:
    return msgspec.json.encode(draft)


def draft_of(session_id: SessionId, row: bytes) -> SessionDraft:
    try:
        return codecs.decode_json(row, SessionDraft)
    except _UNREADABLE as error:
        raise StoreFailed(
            f"The draft of session {session_id} cannot be read ({error}).",
            suggestion="A newer Portico may have written it. See what is wrong with: portico sessions verify",
        ) from error
