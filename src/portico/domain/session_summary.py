"""The summary of a session that lists show, folded from its events."""

from typing import Literal

import msgspec

from portico.domain.components import SessionComponents
from portico.domain.events import (
    ComponentsUpdated,
    Event,
    PromptSubmitted,
    ProposalUpdated,
    SessionStarted,
    StateChanged,
    TitleUpdated,
)
from portico.domain.ids import SessionId, TurnId
from portico.domain.reviews import ReviewMode
from portico.domain.turns import TurnState
from portico.domain.values import ForkedFrom

_TITLE_LENGTH = 80

TitleSource = Literal["prompt", "agent", "person"]


class ForkPoint(msgspec.Struct, frozen=True, rename="camel"):
    """The prompt that was edited when a session branched off: its session and its number there."""

    session_id: SessionId
    before_seq: int


class SessionSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One row of a list of sessions, made without reading any event body."""

    session_id: SessionId
    workspace: str
    agent: str
    agent_command: tuple[str, ...] = ()
    reads_only: bool = False
    mode: ReviewMode = "direct"
    components: SessionComponents = SessionComponents()
    title: str = ""
    title_from: TitleSource = "prompt"
    state: TurnState = TurnState.IDLE
    created_at: int = 0
    updated_at: int = 0
    last_seq: int = 0
    last_turn: TurnId | None = None
    agent_session_id: str | None = None
    proposed: dict[str, int] = {}
    """The number of files of each open proposal."""
    branched_at: ForkPoint | None = None

    @property
    def to_review(self) -> int:
        return sum(self.proposed.values())


def fold(summary: SessionSummary | None, event: Event) -> SessionSummary:
    """The summary after one more event. The first event of a session must be `session_started`."""
    payload = event.payload
    if summary is None:
        if not isinstance(payload, SessionStarted):
            raise ValueError(f"session {event.session_id} begins with {event.kind}, not session_started")
        summary = SessionSummary(
            session_id=event.session_id,
            workspace=payload.workspace,
            agent=payload.agent,
            agent_command=payload.agent_command,
            reads_only=payload.reads_only,
            created_at=event.at,
        )
    changes: dict[str, object] = {"updated_at": event.at, "last_seq": event.seq}
    if event.turn_id is not None:
        changes["last_turn"] = event.turn_id
    match payload:
        case StateChanged(state=state, agent_session=agent_session):
            changes["state"] = state
            if agent_session is not None:
                changes["agent_session_id"] = agent_session.agent_session_id
        case PromptSubmitted(text=text) if not summary.title:
            changes["title"] = one_line(text)
        case TitleUpdated(title=title, by_person=by_person) if by_person or summary.title_from != "person":
            changes |= {"title": one_line(title), "title_from": "person" if by_person else "agent"}
        case ProposalUpdated(proposal_id=proposal_id, status=status, files=files, unlisted=unlisted):
            others = {name: count for name, count in summary.proposed.items() if name != proposal_id}
            waiting = {proposal_id: len(files) + unlisted} if status == "open" else {}
            changes["proposed"] = others | waiting
        case ComponentsUpdated(on=on, off=off):
            changes["components"] = SessionComponents(on=on, off=off)
        case SessionStarted(agent=agent, agent_command=command, mode=mode, forked_from=forked_from):
            changes |= {"agent": agent, "agent_command": command, "mode": mode}
            if forked_from is not None:
                changes |= {"agent_session_id": None, "proposed": {}, "branched_at": _point_of(forked_from)}
        case _:
            pass
    return msgspec.structs.replace(summary, **changes)


def _point_of(origin: ForkedFrom) -> ForkPoint | None:
    return None if origin.before_seq is None else ForkPoint(origin.session_id, origin.before_seq)


def one_line(text: str) -> str:
    """The first words of a text, fit for a list."""
    line = " ".join(text.replace("\x00", "").split())
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1] + "…"
