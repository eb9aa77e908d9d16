"""Events with as little as a test needs to say, and renderers that draw on a `Screen`."""

from textwrap import dedent
from typing import IO, cast

from msgspec import Raw
from rich.console import Console

from portico.domain.events import (
    AnyPayload,
    Event,
    PermissionRequested,
    SessionStarted,
    StateChanged,
    TextDelta,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
)
from portico.domain.ids import SessionId, TurnId
from portico.domain.turns import TurnState
from portico.domain.values import PermissionOption, TerminalOutput, ToolKind, ToolPart
from portico.doors.terminal.render.live_renderer import LiveRenderer
from portico.doors.terminal.render.renderer import PromptEcho, Renderer
from tests.doors.terminal.screen import Screen

OPTIONS = (
    PermissionOption(option_id="once", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="always", name="Always allow npm", kind="allow_always"),
    PermissionOption(option_id="no", name="Reject", kind="reject_once"),
)
RUNNING = StateChanged(state=TurnState.RUNNING, previous=TurnState.IDLE)


class Stage:
    """A renderer, the screen it draws on, and a clock that moves when it is told to."""

    def __init__(
        self, *, width: int = 72, height: int = 24, colour: bool = False, prompts: PromptEcho = "hidden"
    ) -> None:
        self.screen = Screen(width, height)
        self.now = 0.0
        self._seq = 0
        console = Console(
            file=cast(IO[str], self.screen),
            force_terminal=True,
            width=width,
            height=height,
            color_system="standard" if colour else None,
            no_color=not colour,
            highlight=False,
            markup=False,
            emoji=False,
        )
        self.renderer = LiveRenderer(console, prompts=prompts, clock=lambda: self.now)

    def show(self, *payloads: AnyPayload, pause: float = 0.1) -> str:
        """Render events with a pause after each; what the screen shows then."""
        for payload in payloads:
            self._seq += 1
            self.renderer.render(make_event(payload, seq=self._seq, at=int(self.now * 1000)))
            self.wait(pause)
        return self.screen.text

    def wait(self, seconds: float) -> str:
        self.now += seconds
        self.renderer.tick()
        return self.screen.text

    def end(self) -> str:
        self.renderer.finish()
        return self.screen.text


def make_event(payload: AnyPayload, *, seq: int = 1, at: int = 0) -> Event:
    return Event(session_id=SessionId("s1"), seq=seq, turn_id=TurnId("t1"), at=at, payload=payload)


def feed(renderer: Renderer, *payloads: AnyPayload) -> None:
    for seq, payload in enumerate(payloads, start=1):
        renderer.render(make_event(payload, seq=seq, at=seq * 100))


def started(workspace: str = "/work/app") -> SessionStarted:
    return SessionStarted(
        workspace=workspace, agent="porter", continued=False, mode="direct", portico_version="1"
    )


def tool(title: str, kind: ToolKind = "other", tool_id: str = "c1") -> ToolStarted:
    return ToolStarted(tool_id=tool_id, title=title, tool_kind=kind, status="in_progress")


def text(words: str) -> TextDelta:
    return TextDelta(text=words)


def ended(state: TurnState = TurnState.COMPLETED, tools: int = 0) -> TurnEnded:
    return TurnEnded(state=state, stop_reason="end_turn", duration_ms=2300, tools_used=tools)


def permission(title: str = "Run npm test", kind: ToolKind = "execute") -> PermissionRequested:
    return PermissionRequested(
        request_id="p1",
        tool_id="c1",
        title=title,
        tool_kind=kind,
        options=OPTIONS,
        input=Raw(b'{"command":"npm test --silent"}'),
    )


def done(*content: ToolPart, success: bool = True, duration_ms: int = 240) -> ToolCompleted:
    return ToolCompleted(tool_id="c1", success=success, duration_ms=duration_ms, content=content or None)


def printed(output: str, exit_code: int | None = None) -> ToolUpdated:
    terminal = TerminalOutput(terminal_id="t", text=output, exit_code=exit_code, ended=exit_code is not None)
    return ToolUpdated(tool_id="c1", terminal=terminal)


def picture(lines: str) -> str:
    """The lines of a screen, written with the indent of the test around them."""
    return dedent(lines).lstrip("\n")
