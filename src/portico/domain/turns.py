"""The turn state machine: its states, its events and the table of transitions.

The table is data, so that a test can walk every cell. This module decides nothing about
*when* an event happens; the session service does.
"""

from enum import StrEnum

import msgspec


class TurnState(StrEnum):
    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    STREAMING = "streaming"
    AWAITING = "awaiting"
    COMPLETED = "completed"
    CANCELED = "canceled"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    RESUMING = "resuming"

    @property
    def active(self) -> bool:
        return self in _ACTIVE

    @property
    def label(self) -> str:
        """The state in the words that every door shows; docs/glossary.md has the table."""
        return _LABELS.get(self, self.value)


class TurnEvent(StrEnum):
    PROMPT = "prompt"
    AGENT_READY = "agent_ready"
    FIRST_OUTPUT = "first_output"
    ANSWER_NEEDED = "answer_needed"
    ANSWERED = "answered"
    TURN_ENDED = "turn_ended"
    USER_STOP = "user_stop"
    ERROR = "error"
    PROCESS_LOST = "process_lost"
    RESUME = "resume"
    DISCARD = "discard"


class InvalidTransition(Exception):
    """The developer asked for a move that the table does not have."""


_ACTIVE = frozenset(
    {TurnState.STARTING, TurnState.RUNNING, TurnState.STREAMING, TurnState.AWAITING, TurnState.RESUMING}
)
_LABELS = {
    TurnState.IDLE: "new",
    TurnState.RUNNING: "working",
    TurnState.STREAMING: "working",
    TurnState.AWAITING: "waiting for you",
    TurnState.COMPLETED: "done",
    TurnState.CANCELED: "stopped",
}
_SETTLED = (TurnState.IDLE, TurnState.COMPLETED, TurnState.CANCELED, TurnState.FAILED)
_WORKING = (TurnState.RUNNING, TurnState.STREAMING)

TRANSITIONS: dict[tuple[TurnState, TurnEvent], TurnState] = {
    **{(state, TurnEvent.PROMPT): TurnState.STARTING for state in _SETTLED},
    (TurnState.STARTING, TurnEvent.AGENT_READY): TurnState.RUNNING,
    (TurnState.RESUMING, TurnEvent.AGENT_READY): TurnState.RUNNING,
    (TurnState.RUNNING, TurnEvent.FIRST_OUTPUT): TurnState.STREAMING,
    **{(state, TurnEvent.ANSWER_NEEDED): TurnState.AWAITING for state in _WORKING},
    **{(state, TurnEvent.TURN_ENDED): TurnState.COMPLETED for state in (*_WORKING, TurnState.AWAITING)},
    **{(state, TurnEvent.USER_STOP): TurnState.CANCELED for state in _ACTIVE},
    **{(state, TurnEvent.ERROR): TurnState.FAILED for state in _ACTIVE},
    **{(state, TurnEvent.PROCESS_LOST): TurnState.INTERRUPTED for state in _ACTIVE},
    (TurnState.INTERRUPTED, TurnEvent.RESUME): TurnState.RESUMING,
    (TurnState.INTERRUPTED, TurnEvent.PROMPT): TurnState.RESUMING,
    (TurnState.INTERRUPTED, TurnEvent.DISCARD): TurnState.CANCELED,
}
"""Every move but two: `prompt` with a live agent goes to running, and `answered` goes back."""


class TurnStatus(msgspec.Struct, frozen=True):
    """The state of a turn; while it awaits an answer, also the state to return to."""

    state: TurnState = TurnState.IDLE
    before: TurnState | None = None

    def after(self, event: TurnEvent, *, agent_alive: bool = False) -> "TurnStatus":
        """The status that `event` leads to, or InvalidTransition."""
        if self.state is TurnState.AWAITING and event is TurnEvent.ANSWERED:
            return TurnStatus(self.before or TurnState.RUNNING)
        target = TRANSITIONS.get((self.state, event))
        if target is None:
            raise InvalidTransition(f"a turn that is {self.state} cannot take {event}")
        if event is TurnEvent.PROMPT and agent_alive and self.state in _SETTLED:
            return TurnStatus(TurnState.RUNNING)
        return TurnStatus(target, self.state if target is TurnState.AWAITING else None)
