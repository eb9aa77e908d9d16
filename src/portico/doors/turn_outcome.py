"""Outcome of one turn, computed from its events: answer, error and exit code."""

from portico.domain.errors import ExitCode, exit_code_of
from portico.domain.events import (
    AnyPayload,
    ErrorReported,
    PermissionRequested,
    PermissionResolved,
    PromptSubmitted,
    QuestionAnswered,
    QuestionAsked,
    TextDelta,
    TurnEnded,
)
from portico.domain.turns import TurnState


class TurnOutcome:
    """Takes every event of a turn, in order. A prompt resets it."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._asked: dict[str, str] = {}
        self.unanswered: list[str] = []
        self.declined: list[str] = []
        self.error: ErrorReported | None = None
        self.ended: TurnEnded | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def unanswered_requests(self) -> list[str]:
        """Permission requests and questions that were left unanswered."""
        return self.unanswered + self.declined

    @property
    def host_lost(self) -> bool:
        """Whether the process that ran the turn ended during it."""
        interrupted = self.ended is not None and self.ended.state is TurnState.INTERRUPTED
        return interrupted and self.error is None

    def take(self, payload: AnyPayload) -> None:
        match payload:
            case PromptSubmitted():
                self._pieces, self._asked, self.unanswered, self.declined = [], {}, [], []
                self.error = self.ended = None
            case TextDelta(text=text):
                self._pieces.append(text)
            case ErrorReported():
                self.error = payload
            case PermissionRequested(request_id=request_id, title=title):
                self._asked[request_id] = title
            case PermissionResolved(outcome="denied", by="nobody", request_id=request_id):
                self.unanswered.append(self._asked.get(request_id, request_id))
            case QuestionAsked(request_id=request_id, message=message):
                self._asked[request_id] = message
            case QuestionAnswered(action="decline", by="nobody", request_id=request_id):
                self.declined.append(self._asked.get(request_id, request_id))
            case TurnEnded():
                self.ended = payload
            case _:
                pass

    @property
    def exit_code(self) -> ExitCode:
        """Exit code: 0 for a completed turn, the policy code for a stop or an unanswered request."""
        if self.error is not None:
            return exit_code_of(self.error.code, self.error.details)
        if self.host_lost:
            return ExitCode.TRANSPORT
        if self.ended is None or self.ended.state is not TurnState.COMPLETED or self.unanswered_requests:
            return ExitCode.POLICY
        return ExitCode.OK
