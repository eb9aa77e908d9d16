"""Renderer for a terminal: finished output scrolls, running work is redrawn at the bottom.

Redraws the bottom lines when they change, about twenty times a second at most, and never more than
fit. The content comes from `transcript`, its look from `cards` and `markdown.stream`.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType
from rich.text import Text

from portico.domain.events import Event, PermissionRequested, QuestionAsked
from portico.doors.terminal.render import cards
from portico.doors.terminal.render.canvas import Canvas
from portico.doors.terminal.render.renderer import PromptEcho
from portico.doors.terminal.render.transcript import ItemKind, SessionTranscript, TranscriptItem

_FRAME_SECONDS = 0.05
_SPINNER_SECONDS = 0.1


class LiveRenderer:
    """Shows events on a terminal. `clock` is monotonic, in seconds."""

    def __init__(
        self,
        console: Console,
        *,
        workspace: str = "",
        prompts: PromptEcho = "hidden",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._canvas = Canvas(console)
        self._transcript = SessionTranscript(
            self._canvas.signs, links=self._canvas.links, workspace=workspace, prompts=prompts
        )
        self._clock = clock
        self._waiting_lines: list[str] = []
        self._last_sort: ItemKind | None = None
        self._next_frame = float("-inf")
        self._turn_began: float | None = None
        self._event_at = 0
        self._event_seen = 0.0
        self._questions = 0

    def render(self, event: Event) -> None:
        self._event_at, self._event_seen = event.at, self._clock()
        was_active = self._transcript.active
        self._add(self._transcript.take(event))
        if self._transcript.active and not was_active:
            self._turn_began = self._event_seen
        self._draw(at_once=was_active and not self._transcript.active)

    def tick(self) -> None:
        self._draw()

    @contextmanager
    def question(self, request: PermissionRequested | QuestionAsked) -> Iterator[None]:
        self._add(self._transcript.ask(request))
        if not self._questions:
            self._canvas.region.draw(self._take_waiting(), ())
        self._questions += 1
        try:
            yield
            self._transcript.answered(request)
        finally:
            self._questions -= 1
            self._draw(at_once=True)

    def finish(self) -> None:
        self._add(self._transcript.settle(self._event_at))
        self._canvas.region.draw(self._take_waiting(), ())

    def _add(self, finished: Iterable[TranscriptItem]) -> None:
        for piece in finished:
            self._waiting_lines += self._spaced(piece.sort, self._canvas.lines(piece.shown), self._last_sort)
            self._last_sort = piece.sort

    def _spaced(self, sort: ItemKind, lines: list[str], before: ItemKind | None) -> list[str]:
        apart = before is not None and (before != sort or sort == "card")
        return ["", *lines] if apart and lines else lines

    def _take_waiting(self) -> list[str]:
        lines, self._waiting_lines = self._waiting_lines, []
        return lines

    def _draw(self, *, at_once: bool = False) -> None:
        now = self._clock()
        if self._questions or (not at_once and now < self._next_frame):
            return
        self._canvas.region.draw(self._take_waiting(), self._live_lines(now))
        # If a frame takes long to draw, frames are drawn less often.
        self._next_frame = now + max(_FRAME_SECONDS, 4 * (self._clock() - now))

    def _live_lines(self, now: float) -> list[str]:
        """The bottom lines: the end of the answer, running work and a status line."""
        frame = int(now / _SPINNER_SECONDS)
        before = self._last_sort
        answer: list[str] = []
        if (open_answer := self._transcript.open_answer()) is not None:
            answer = self._spaced("text", self._canvas.lines([open_answer]), before)
            before = "text"
        below: list[str] = []
        clock_ms = self._event_at + int((now - self._event_seen) * 1000)
        under_way = self._transcript.under_way(frame=frame, now=clock_ms)
        sorts = [sort for sort, _ in under_way]
        for sort, shown in under_way:
            below += self._spaced(sort, self._canvas.lines(shown), before)
            before = sort
        if self._transcript.active:
            turning = None if "activity" in sorts else frame
            below += self._status(now, turning, apart=before is not None)
        room = max(1, self._canvas.height - 1)
        below = below[-room:]
        return [*answer[len(answer) - max(0, room - len(below)) :], *below] if answer else below

    def _status(self, now: float, frame: int | None, *, apart: bool) -> list[str]:
        seconds = int(now - (self._turn_began if self._turn_began is not None else now))
        line: RenderableType = cards.working_line(
            self._transcript.status(), seconds, self._canvas.signs, frame=frame
        )
        return self._canvas.lines([Text(), line] if apart else [line])
