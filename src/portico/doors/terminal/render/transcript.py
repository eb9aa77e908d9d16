"""State of a session as it is shown: items that are finished, and items in progress.

Tool calls, thoughts and plans are in progress until they end; the answer is finished block by block.
Drawing is up to the renderer.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, assert_never

import msgspec
from rich.console import RenderableType
from rich.text import Text

from portico.domain.costs import merge_usage
from portico.domain.events import (
    CheckpointCreated,
    CheckpointRestored,
    CommandsUpdated,
    ComponentsUpdated,
    ConfigUpdated,
    EditorReplied,
    EditorRequested,
    ErrorReported,
    Event,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PlanUpdated,
    PromptSubmitted,
    ProposalUpdated,
    QuestionAnswered,
    QuestionAsked,
    SessionStarted,
    StateChanged,
    TextDelta,
    Thinking,
    TitleUpdated,
    TodosUpdated,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
    UsageUpdated,
)
from portico.domain.turns import TurnState
from portico.domain.values import DiffPart, PlanEntry
from portico.doors.terminal import labels
from portico.doors.terminal.layout import indented
from portico.doors.terminal.markdown.stream import StreamedMarkdown
from portico.doors.terminal.problem_labels import problem_lines
from portico.doors.terminal.render import cards, tour_cards
from portico.doors.terminal.render.renderer import PromptEcho
from portico.doors.terminal.render.session_state import SessionState
from portico.doors.terminal.review import proposal_cards
from portico.doors.terminal.theme import CAUTION, Signs

_THOUGHT_SIZE = 400
_LIVE_PLAN = 6
_WHOLE_PLAN = 20

ItemKind = Literal["prompt", "text", "activity", "note", "card", "plan", "footer"]
"""A blank line separates items of different kinds."""


class TranscriptItem(msgspec.Struct, frozen=True):
    """An item that does not change any more."""

    sort: ItemKind
    shown: tuple[RenderableType, ...]


class _Thought(msgspec.Struct, frozen=True):
    """The beginning and the end of a thought, which is all that is shown."""

    since: int
    head: str = ""
    tail: str = ""

    def going_on(self, text: str) -> "_Thought":
        head = self.head if len(self.head) >= _THOUGHT_SIZE else (self.head + text)[:_THOUGHT_SIZE]
        return _Thought(self.since, head, (self.tail + text)[-_THOUGHT_SIZE:])


class SessionTranscript:
    """A session as shown in the terminal. Takes every event, in order."""

    def __init__(self, signs: Signs, *, links: bool, workspace: str, prompts: PromptEcho) -> None:
        self._signs = signs
        self._links = links
        self._prompts = prompts
        self._agent = "the agent"
        self._session = SessionState(workspace)
        self._state = TurnState.IDLE
        self._answer: StreamedMarkdown | None = None
        self._message: str | None = None
        self._thought: _Thought | None = None
        self._plan: tuple[PlanEntry, ...] = ()
        self._asked: set[str] = set()
        self._answered: set[str] = set()
        self._diffs_seen: dict[str, tuple[DiffPart, ...]] = {}

    @property
    def active(self) -> bool:
        return self._state.active

    def take(self, event: Event) -> Iterator[TranscriptItem]:  # noqa: PLR0912 - one case for each kind of event
        """Apply an event; yields the items that it finishes."""
        match event.payload:
            case TextDelta() as delta:
                yield from self._text(delta, event.at)
            case Thinking(text=text, block=block):
                yield from self._close_answer()
                thought = self._thought or _Thought(event.at)
                self._thought = thought.going_on(text or labels.describe_block(block))
            case ToolStarted() | ToolUpdated() | ToolCompleted() as tool:
                yield from self._tool(tool, event.at)
            case PermissionRequested() | QuestionAsked() as request:
                self._session.open_request(request)
            case PermissionResolved() | QuestionAnswered() as resolved:
                yield from self._resolved(resolved)
            case PlanUpdated() | TodosUpdated() as steps:
                self._plan = entries = labels.plan_entries(steps)
                if all(entry.status == "completed" for entry in entries):
                    yield from self._close_answer()
                    yield from self._close_plan()
            case UsageUpdated() as usage:
                self._session.usage = merge_usage(self._session.usage, usage)
            case SessionStarted() | PromptSubmitted() | StateChanged() | TurnEnded() as turn:
                yield from self._turn(turn, event.at)
            case Notice() | ErrorReported() as trouble:
                yield from self._trouble(trouble, event.session_id)
            case ProposalUpdated() | CheckpointCreated() | CheckpointRestored() as review:
                yield from self._review(review, event.session_id)
            case (
                CommandsUpdated()
                | ConfigUpdated()
                | ComponentsUpdated()
                | TitleUpdated()
                | EditorRequested()
                | EditorReplied()
            ):
                pass
            case other:
                assert_never(other)

    def ask(self, request: PermissionRequested | QuestionAsked) -> Iterator[TranscriptItem]:
        """Close what is open and show a request to the person."""
        yield from self._close_answer()
        self._asked.add(request.request_id)
        if isinstance(request, QuestionAsked):
            yield TranscriptItem("card", (cards.question(request, self._signs),))
            return
        diffs = tuple(part for part in request.content if isinstance(part, DiffPart))
        self._diffs_seen[request.tool_id] = diffs
        yield TranscriptItem(
            "card", (cards.permission(request, self._signs, workspace=self._session.workspace),)
        )

    def answered(self, request: PermissionRequested | QuestionAsked) -> None:
        """The person has answered here, so the answer need not be shown."""
        self._answered.add(request.request_id)

    def settle(self, at: int | None = None) -> Iterator[TranscriptItem]:
        """Close everything that is open."""
        yield from self._close_answer()
        yield from self._close_thought(at)
        yield from self._close_tools()
        yield from self._close_plan()
        self._session.close_requests()
        self._diffs_seen.clear()

    def open_answer(self) -> RenderableType | None:
        return self._answer.open_part() if self._answer else None

    def under_way(self, *, frame: int, now: int) -> list[tuple[ItemKind, list[RenderableType]]]:
        """Work in progress, shown below the answer."""
        activity: list[RenderableType] = []
        if self._thought:
            activity.append(cards.thought_line(self._thought.tail, self._signs, frame=frame))
        for view in self._session.tools.values():
            elapsed = max(0, now - view.started_at)
            activity.append(cards.tool_line(view, self._signs, frame=frame, running_ms=elapsed))
            output = cards.live_output(view)
            activity += [output] if output else []
        groups: list[tuple[ItemKind, list[RenderableType]]] = [("activity", activity)] if activity else []
        if self._plan:
            groups.append(("plan", [cards.plan(self._plan, self._signs, limit=_LIVE_PLAN)]))
        return groups

    def status(self) -> str:
        """The state of the turn, in one or two words."""
        if self._session.is_waiting:
            return "Waiting for you"
        return {
            TurnState.STARTING: f"Starting {self._agent}",
            TurnState.RESUMING: f"Resuming {self._agent}",
            TurnState.AWAITING: "Waiting for you",
            TurnState.STREAMING: "Writing" if self._answer else "Working",
        }.get(self._state, "Working")

    def _text(self, delta: TextDelta, at: int) -> Iterator[TranscriptItem]:
        yield from self._close_thought(at)
        if self._message is not None and delta.message_id not in (None, self._message):
            yield from self._close_answer()
        self._message = delta.message_id
        text = delta.text
        if not text:
            text = f"\n\n{labels.describe_block(delta.block)}\n\n"
        if self._answer is None:
            self._answer = StreamedMarkdown(self._signs, links=self._links)
        yield from _of_text(self._answer.add(text))

    def _tool(self, payload: ToolStarted | ToolUpdated | ToolCompleted, at: int) -> Iterator[TranscriptItem]:
        view = self._session.update_tool(payload, at)
        if isinstance(payload, ToolUpdated):
            lines = problem_lines(payload.problems or (), self._session.workspace)
            if lines:
                yield from self._close_answer()
                yield TranscriptItem("activity", tuple(indented(Text(line, CAUTION), 2) for line in lines))
            return
        yield from self._close_answer()
        if isinstance(payload, ToolStarted):
            yield from self._close_thought(at)
        elif (tour := view.tour) is not None:
            yield TranscriptItem("card", (tour_cards.tour_overview(tour, self._signs),))
        else:
            seen = self._diffs_seen.pop(view.tool_id, ())
            detail = cards.tool_detail(view, self._signs, known_diffs=seen)
            line = cards.tool_line(view, self._signs)
            yield TranscriptItem("activity", (line, detail) if detail else (line,))

    def _resolved(self, resolved: PermissionResolved | QuestionAnswered) -> Iterator[TranscriptItem]:
        answered_here = resolved.request_id in self._answered
        if isinstance(resolved, QuestionAnswered):
            asked = self._session.close_question(resolved)
            if not answered_here or resolved.action != "accept":
                yield TranscriptItem("activity", tuple(cards.answer(resolved, asked, self._signs)))
            return
        request = self._session.close_permission(resolved)
        stopped_here = resolved.outcome == "canceled" and resolved.request_id in self._asked
        if not stopped_here and not (answered_here and resolved.by == "person"):
            yield TranscriptItem("activity", (cards.permission_result(resolved, request, self._signs),))

    def _turn(
        self, payload: SessionStarted | PromptSubmitted | StateChanged | TurnEnded, at: int
    ) -> Iterator[TranscriptItem]:
        match payload:
            case SessionStarted(agent=agent, workspace=workspace):
                self._session.workspace = workspace
                self._agent = labels.title_text(agent, "the agent")
            case PromptSubmitted(text=text, blocks=blocks):
                if self._prompts != "hidden":
                    shown = [cards.prompt(text, self._signs)] if self._prompts == "shown" else []
                    shown += [cards.sent_along(blocks)] if blocks else []
                    yield TranscriptItem("prompt", tuple(shown))
            case StateChanged(state=state):
                self._state = state
                if not state.active:
                    yield from self.settle(at)
            case TurnEnded():
                self._state = payload.state
                yield from self.settle(at)
                yield TranscriptItem("footer", (cards.footer(payload, self._session.usage, self._signs),))

    def _trouble(self, payload: Notice | ErrorReported, session_id: str) -> Iterator[TranscriptItem]:
        yield from self._close_answer()
        match payload:
            case Notice():
                ways = proposal_cards.notice_actions(payload, session_id)
                yield TranscriptItem("note", (cards.notice(payload, self._signs), *ways))
            case ErrorReported():
                yield from self._close_tools()
                yield TranscriptItem("card", (cards.error(payload, self._signs),))

    def _review(
        self, payload: ProposalUpdated | CheckpointCreated | CheckpointRestored, session_id: str
    ) -> Iterator[TranscriptItem]:
        match payload:
            case ProposalUpdated():
                yield from self._close_answer()
                yield TranscriptItem("card", (proposal_cards.proposal(payload, session_id, self._signs),))
            case CheckpointRestored():
                yield TranscriptItem("card", (proposal_cards.restored(payload, session_id, self._signs),))
            case CheckpointCreated():
                note = proposal_cards.left_out(payload, self._signs)
                yield from () if note is None else (TranscriptItem("note", (note,)),)

    def _close_answer(self) -> Iterator[TranscriptItem]:
        answer, self._answer, self._message = self._answer, None, None
        if answer is not None:
            yield from _of_text(answer.close())

    def _close_tools(self) -> Iterator[TranscriptItem]:
        for view in self._session.tools.values():
            yield TranscriptItem("activity", (cards.unfinished_tool_line(view, self._signs),))
        self._session.tools.clear()

    def _close_plan(self) -> Iterator[TranscriptItem]:
        if self._plan:
            yield TranscriptItem("plan", (cards.plan(self._plan, self._signs, limit=_WHOLE_PLAN),))
        self._plan = ()

    def _close_thought(self, at: int | None) -> Iterator[TranscriptItem]:
        thought, self._thought = self._thought, None
        if thought is not None:
            took = max(0, at - thought.since) if at is not None else 0
            yield TranscriptItem(
                "activity", (cards.thought_line(thought.head, self._signs, milliseconds=took),)
            )


def _of_text(parts: Sequence[RenderableType]) -> Iterator[TranscriptItem]:
    if parts:
        yield TranscriptItem("text", tuple(parts))
