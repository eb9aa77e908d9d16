"""Renderer for pipes and files: the answer on one stream, notes about it on the other."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import assert_never

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
from portico.doors.terminal import labels
from portico.doors.terminal.permission_keys import keyed_options
from portico.doors.terminal.problem_labels import problem_lines
from portico.doors.terminal.render.renderer import PromptEcho
from portico.doors.terminal.render.session_state import SessionState
from portico.doors.terminal.render.tool_view import ROW_LENGTH, ToolView
from portico.doors.terminal.review import proposal_labels
from portico.doors.terminal.sanitizer import StreamCleaner, clean, clean_line
from portico.doors.terminal.tour_labels import step_lines, tour_title

_ERROR_TAIL = 8


class PlainRenderer:
    """Writes the answer to `write` as it streams, and everything else to `error`.

    If both are the same `terminal`, the answer is sanitized and notes begin on a new line.
    """

    def __init__(
        self,
        write: Callable[[str], None],
        error: Callable[[str], None],
        *,
        workspace: str = "",
        prompts: PromptEcho = "hidden",
        terminal: bool = False,
    ) -> None:
        self._write = write
        self._error = error
        self._state = SessionState(workspace)
        self._prompts = prompts
        self._cleaner = StreamCleaner() if terminal else None
        self._line_open = False
        self._message: str | None = None
        self._between = False
        self._announced = ""
        self._asking = False
        self._held: list[Event] = []
        self._progress = ""

    def render(self, event: Event) -> None:
        if self._asking:
            self._held.append(event)
        else:
            self._show(event)

    def _show(self, event: Event) -> None:  # noqa: PLR0912 - one case for each kind of event
        match event.payload:
            case TextDelta() as delta:
                self._answer(delta)
            case PromptSubmitted() as prompt:
                self._prompt(prompt)
            case ToolStarted() | ToolUpdated() | ToolCompleted() as tool:
                self._tool(tool, event.at)
            case PlanUpdated() | TodosUpdated() as steps:
                self._plan(labels.plan_progress(labels.plan_entries(steps)))
            case (
                PermissionRequested() | PermissionResolved() | QuestionAsked() | QuestionAnswered() as request
            ):
                self._request(request)
            case UsageUpdated() as usage:
                self._state.usage = merge_usage(self._state.usage, usage)
            case Notice() as notice:
                self._notice(notice, event.session_id)
            case ErrorReported() as error:
                self._failure(error)
            case TurnEnded() as ended:
                self._end_answer()
                self._note(", ".join(labels.turn_facts(ended, self._state.usage)))
            case SessionStarted(workspace=workspace):
                self._state.workspace = workspace
            case ProposalUpdated() | CheckpointCreated() | CheckpointRestored() as review:
                self._review(review, event.session_id)
            case (
                StateChanged()
                | Thinking()
                | CommandsUpdated()
                | ConfigUpdated()
                | ComponentsUpdated()
                | TitleUpdated()
            ):
                pass
            case EditorRequested() | EditorReplied():
                pass
            case other:
                assert_never(other)

    def tick(self) -> None:
        """Nothing to redraw."""

    @contextmanager
    def question(self, request: PermissionRequested | QuestionAsked) -> Iterator[None]:
        if self._announced not in ("", request.request_id):
            # Another request was announced last, and the answer would seem to be for that one.
            self._announce(request)
        if isinstance(request, PermissionRequested):
            self._show_choices(request)
        else:
            for words in filter(None, (request.title, request.description)):
                self._note(f"  {clean_line(words)}")
            self._note("  Ctrl-C to decline")
        self._asking = True
        try:
            yield
        finally:
            self._asking = False
            held, self._held = self._held, []
            for event in held:
                self._show(event)

    def _show_choices(self, request: PermissionRequested) -> None:
        for line in labels.input_facts(request.input):
            self._note(f"  {line}")
        for keyed in keyed_options(request):
            letter = f" ({keyed.letter})" if keyed.letter else ""
            self._note(f"  {keyed.number}  {keyed.name}{letter}")

    def finish(self) -> None:
        self._end_answer()

    def _prompt(self, prompt: PromptSubmitted) -> None:
        if self._prompts == "shown":
            self._end_answer()
            words = [clean(prompt.text) if self._cleaner else prompt.text]
            words += [labels.describe_block(block) for block in prompt.blocks]
            self._write("> " + "\n> ".join(filter(None, words)) + "\n\n")

    def _answer(self, delta: TextDelta) -> None:
        text = delta.text or labels.describe_block(delta.block)
        if not text:
            return
        new_message = delta.message_id is not None and delta.message_id != self._message
        if (self._between or new_message) and self._line_open:
            self._write("\n\n")
        self._between, self._message = False, delta.message_id
        text = self._cleaner.feed(text) if self._cleaner else text
        self._write(text)
        self._line_open = not text.endswith("\n") if text else self._line_open

    def _end_answer(self) -> None:
        held = self._cleaner.close() if self._cleaner else ""
        if held:
            self._write(held)
        if self._line_open or held:
            self._write("\n")
        self._line_open, self._message, self._between = False, None, False

    def _tool(self, payload: ToolStarted | ToolUpdated | ToolCompleted, at: int) -> None:
        view = self._state.update_tool(payload, at)
        if not isinstance(payload, ToolUpdated):
            self._between = True
        if isinstance(payload, ToolCompleted):
            self._tool_done(view)
        elif isinstance(payload, ToolUpdated):
            for line in problem_lines(payload.problems or (), self._state.workspace):
                self._note(f"  {line}")

    def _tool_done(self, view: ToolView) -> None:
        if (tour := view.tour) is not None:
            self._note(f"tour: {tour_title(tour)}")
            for number in range(1, len(tour.steps) + 1):
                for line in step_lines(tour, number):
                    self._note(f"  {line[:ROW_LENGTH]}")
            return
        state = "done" if view.success else "failed"
        self._note(f"{state}: {view.title}" + (f" ({', '.join(view.facts)})" if view.facts else ""))
        for part in view.diffs if view.success else ():
            self._note(f"  changed {labels.short_path(part.path, self._state.workspace)}")
        earlier, lines = view.output_tail(
            view.output if view.output.strip() or view.kind != "execute" else view.text
        )
        if earlier:
            self._note(f"  | … {labels.pluralize(earlier, 'earlier line')}")
        for line in lines:
            self._note(f"  | {clean(line)[:ROW_LENGTH]}")

    def _request(
        self, payload: PermissionRequested | PermissionResolved | QuestionAsked | QuestionAnswered
    ) -> None:
        match payload:
            case PermissionRequested() | QuestionAsked():
                self._state.open_request(payload)
                self._announce(payload)
            case PermissionResolved():
                request = self._state.close_permission(payload)
                self._note(_lowered(labels.permission_words(payload, request)))
            case QuestionAnswered():
                asked = self._state.close_question(payload)
                self._note(_lowered(labels.answer_words(payload, asked)))
                for line in labels.answer_lines(payload, asked):
                    self._note(f"  {line}")

    def _announce(self, asked: PermissionRequested | QuestionAsked) -> None:
        self._announced = asked.request_id
        if isinstance(asked, PermissionRequested):
            self._note(
                f"permission needed: {labels.title_text(asked.title, workspace=self._state.workspace)}"
            )
            return
        self._note(f"question: {clean_line(asked.message)}")
        if asked.url:
            self._note(f"  {clean_line(asked.url)}")

    def _plan(self, progress: str) -> None:
        if progress != self._progress:
            self._progress = progress
            self._note(progress)

    def _review(
        self, payload: ProposalUpdated | CheckpointCreated | CheckpointRestored, session_id: str
    ) -> None:
        ways: list[tuple[str, str]] = []
        match payload:
            case ProposalUpdated():
                self._note(_lowered(proposal_labels.proposal_title(payload)))
                if payload.status == "open":
                    for line in proposal_labels.file_lines(payload.files, payload.unlisted):
                        self._note(f"  {line}")
                ways = proposal_labels.proposal_commands(payload, session_id)
            case CheckpointRestored():
                self._note(_lowered(proposal_labels.restored_words(payload)))
                ways = proposal_labels.restore_commands(payload, session_id)
            case CheckpointCreated():
                if (words := proposal_labels.left_out_words(payload)) is not None:
                    self._note(f"info: {words}")
        for what, command in ways:
            self._note(f"  {what}: {command}")

    def _notice(self, notice: Notice, session_id: str) -> None:
        self._note(f"{notice.level}: {labels.notice_text(notice)}")
        for line in labels.notice_details(notice):
            self._note(f"  {line}")
        for what, command in proposal_labels.notice_commands(notice, session_id):
            self._note(f"  {what}: {command}")

    def _failure(self, error: ErrorReported) -> None:
        self._note(f"error: {clean_line(error.message)} [{error.code}]")
        if error.details.suggestion:
            self._note(f"  {clean_line(error.details.suggestion)}")
        for line in clean(error.details.stderr or "").strip().splitlines()[-_ERROR_TAIL:]:
            self._note(f"  | {line}")

    def _note(self, line: str) -> None:
        if self._cleaner and self._line_open:
            self._write("\n")
            self._line_open = False
        self._error(f"{line}\n")


def _lowered(words: str) -> str:
    return words[:1].lower() + words[1:]
