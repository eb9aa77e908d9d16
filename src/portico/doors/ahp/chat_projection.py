"""The chat of a session: its events as turns, and as the actions that tell clients of each change."""

from collections.abc import Iterator

import msgspec

from portico.domain.events import (
    ErrorReported,
    Event,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PromptSubmitted,
    QuestionAnswered,
    QuestionAsked,
    StateChanged,
    TextDelta,
    Thinking,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    UsageUpdated,
)
from portico.domain.timestamps import format_time
from portico.domain.turns import TurnState
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.questions import to_input_request
from portico.doors.ahp.tool_call import ToolCallProjection

Actions = list[ahp.StateAction]


class _GrowingText:
    """Text or thought that grows by chunks; they are joined when it is shown."""

    def __init__(self, part_id: str, text: str, *, is_thought: bool) -> None:
        self.id = part_id
        self.is_thought = is_thought
        self.chunks = [text]

    def response(self) -> ahp.ResponsePart:
        kind = ahp.ReasoningResponsePart if self.is_thought else ahp.MarkdownResponsePart
        return kind(id=self.id, content="".join(self.chunks))


Part = ahp.ResponsePart | ToolCallProjection | _GrowingText


class _TurnInProgress:
    def __init__(self, turn_id: str, began_ms: int, message: ahp.Message) -> None:
        self.id = turn_id
        self.began_ms = began_ms
        self.message = message
        self.parts: list[Part] = []
        self.usage: ahp.UsageInfo | None = None
        self.error: ahp.ErrorInfo | None = None

    def response(self) -> list[ahp.ResponsePart]:
        return [_show(part) for part in self.parts]

    def calls(self) -> Iterator[ToolCallProjection]:
        return (part for part in self.parts if isinstance(part, ToolCallProjection))


class ChatProjection:
    """`take` follows the log; `turns` and `active_turn` are the state that its actions lead to."""

    def __init__(self, session: str) -> None:
        self.turns: list[ahp.Turn] = []
        self.has_failed = False
        self._session = session
        self._turn: _TurnInProgress | None = None
        self._finished_calls: dict[str, ToolCallProjection] = {}

    @property
    def status(self) -> int:
        if self._turn is None:
            return ahp.STATUS_ERROR if self.has_failed else ahp.STATUS_IDLE
        return ahp.STATUS_INPUT_NEEDED if self.is_waiting else ahp.STATUS_IN_PROGRESS

    @property
    def is_waiting(self) -> bool:
        """Whether an answer of a person is needed."""
        return any(True for _ in self.pending_calls()) or any(True for _ in self.open_questions())

    @property
    def turn_id(self) -> str | None:
        """The turn in progress."""
        return None if self._turn is None else self._turn.id

    def pending_calls(self) -> Iterator[ToolCallProjection]:
        if self._turn is not None:
            yield from (call for call in self._turn.calls() if call.is_pending)

    def open_questions(self) -> Iterator[ahp.ChatInputRequest]:
        for part in () if self._turn is None else self._turn.parts:
            if isinstance(part, ahp.InputRequestResponsePart) and part.response is None:
                yield part.request

    def active_turn(self) -> ahp.ActiveTurn | None:
        turn = self._turn
        if turn is None:
            return None
        return ahp.ActiveTurn(
            id=turn.id,
            started_at=format_time(turn.began_ms),
            message=turn.message,
            response_parts=turn.response(),
            usage=turn.usage,
        )

    def text_of(self, tool_id: str, part: str, side: str) -> str | None:
        """Text of one side of a change in a tool call."""
        call = self._find(tool_id) or self._finished_calls.get(tool_id)
        return None if call is None else call.text_of(part, side)

    def begin(self, event: Event, prompt: PromptSubmitted, turn_id: str, queued_id: str | None) -> Actions:
        """A turn starts with a prompt."""
        actions = self._end(event.at, failed=_INTERRUPTED)
        message = ahp.Message(text=prompt.text, origin=ahp.MessageOrigin(kind="user"))
        self._turn = _TurnInProgress(turn_id, event.at, message)
        self._finished_calls.clear()
        self.has_failed = False
        started = ahp.ChatTurnStartedAction(
            turn_id=turn_id, started_at=event.timestamp, message=message, queued_message_id=queued_id
        )
        return [*actions, started]

    def take(self, event: Event) -> Actions:
        """The actions of an event other than a prompt."""
        turn, payload = self._turn, event.payload
        if turn is None:
            return []
        match payload:
            case TextDelta(text=text) if text:
                return self._add_text(turn, text)
            case Thinking(text=text) if text:
                return self._add_text(turn, text, is_thought=True)
            case (
                ToolStarted() | ToolUpdated() | ToolCompleted() | PermissionRequested() | PermissionResolved()
            ):
                return self._take_call(turn, payload)
            case QuestionAsked() | QuestionAnswered():
                return self._take_question(turn, payload)
            case UsageUpdated(input_tokens=given, output_tokens=made) if given or made:
                turn.usage = ahp.UsageInfo(input_tokens=given, output_tokens=made)
                return [ahp.ChatUsageAction(turn_id=turn.id, usage=turn.usage)]
            case Notice(text=text):
                part = ahp.SystemNotificationResponsePart(content=text)
                turn.parts.append(part)
                return [ahp.ChatResponsePartAction(turn_id=turn.id, part=part)]
            case ErrorReported(code=code, message=message):
                turn.error = ahp.ErrorInfo(error_type=code, message=message)
                return []
            case TurnEnded(state=state, stop_reason=reason):
                failed = None
                if state not in (TurnState.COMPLETED, TurnState.CANCELED):
                    failed = ahp.ErrorInfo(error_type="failed", message=reason)
                return self._end(event.at, failed=failed, stopped=state is TurnState.CANCELED)
            case StateChanged(state=TurnState.INTERRUPTED):
                return self._end(event.at, failed=_INTERRUPTED)
            case _:
                return []

    def _add_text(self, turn: _TurnInProgress, text: str, *, is_thought: bool = False) -> Actions:
        last = turn.parts[-1] if turn.parts else None
        if isinstance(last, _GrowingText) and last.is_thought == is_thought:
            last.chunks.append(text)
            action = ahp.ChatReasoningAction if is_thought else ahp.ChatDeltaAction
            return [action(turn_id=turn.id, part_id=last.id, content=text)]
        part = _GrowingText(f"{turn.id}-{len(turn.parts)}", text, is_thought=is_thought)
        turn.parts.append(part)
        return [ahp.ChatResponsePartAction(turn_id=turn.id, part=part.response())]

    def _take_call(
        self,
        turn: _TurnInProgress,
        payload: ToolStarted | ToolUpdated | ToolCompleted | PermissionRequested | PermissionResolved,
    ) -> Actions:
        if isinstance(payload, PermissionResolved):
            asked = next((one for one in turn.calls() if one.request_id == payload.request_id), None)
            return [] if asked is None else asked.decide(payload)
        call = self._find(payload.tool_id)
        actions: Actions = []
        if call is None and isinstance(payload, ToolStarted | PermissionRequested):
            call = ToolCallProjection.of(self._session, turn.id, payload)
            turn.parts.append(call)
            actions = call.start(payload)
        if call is None:
            return []
        match payload:
            case PermissionRequested():
                return actions + call.ask(payload)
            case ToolUpdated():
                return call.update(payload)
            case ToolCompleted():
                return call.complete(payload)
            case ToolStarted():
                return actions

    def _take_question(self, turn: _TurnInProgress, payload: QuestionAsked | QuestionAnswered) -> Actions:
        if isinstance(payload, QuestionAsked):
            request = to_input_request(payload)
            turn.parts.append(ahp.InputRequestResponsePart(request=request))
            return [ahp.ChatInputRequestedAction(request=request)]
        answered = payload
        for place, part in enumerate(turn.parts):
            if not isinstance(part, ahp.InputRequestResponsePart) or part.response is not None:
                continue
            if part.request.id == answered.request_id:
                turn.parts[place] = msgspec.structs.replace(part, response=answered.action)
                return [
                    ahp.ChatInputCompletedAction(request_id=answered.request_id, response=answered.action)
                ]
        return []

    def _find(self, tool_id: str) -> ToolCallProjection | None:
        calls = () if self._turn is None else self._turn.calls()
        return next((call for call in calls if call.tool_id == tool_id), None)

    def _end(self, at_ms: int, *, failed: ahp.ErrorInfo | None = None, stopped: bool = False) -> Actions:
        turn, self._turn = self._turn, None
        if turn is None:
            return []
        for call in turn.calls():
            call.cancel()
            self._finished_calls[call.tool_id] = call
        self.has_failed = failed is not None
        duration = max(0, at_ms - turn.began_ms)
        parts = turn.response()
        ending: ahp.StateAction
        if failed is not None:
            part = ahp.ErrorResponsePart(error=turn.error or failed)
            parts.append(part)
            ending = ahp.ChatErrorAction(turn_id=turn.id, duration=duration, part=part)
        elif stopped:
            ending = ahp.ChatTurnCancelledAction(turn_id=turn.id, duration=duration)
        else:
            ending = ahp.ChatTurnCompleteAction(turn_id=turn.id, duration=duration)
        self.turns.append(
            ahp.Turn(
                id=turn.id,
                started_at=format_time(turn.began_ms),
                duration=duration,
                message=turn.message,
                response_parts=parts,
                usage=turn.usage,
                state="error" if failed is not None else "cancelled" if stopped else "complete",
            )
        )
        return [ending]


_INTERRUPTED = ahp.ErrorInfo(
    error_type="interrupted", message="The turn was interrupted. Send a message to continue."
)


def _show(part: Part) -> ahp.ResponsePart:
    match part:
        case ToolCallProjection():
            return ahp.ToolCallResponsePart(tool_call=part.state())
        case _GrowingText():
            return part.response()
        case _:
            return part
