"""Interface of session renderers, and the choice of the one that suits an output."""

import asyncio
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TextIO

from portico.domain.events import Event, PermissionRequested, QuestionAsked
from portico.doors.terminal.output import is_plain_output, make_writer

PromptEcho = Literal["hidden", "typed", "shown"]
"""Whether prompts are shown: never, only their attachments because the person typed the text, or in full."""

_TICK = 0.1


class Renderer(Protocol):
    """Shows the events of a session in order."""

    def render(self, event: Event) -> None: ...

    def tick(self) -> None:
        """Advance clocks and spinners. Called about ten times a second, or never."""
        ...

    def question(self, request: PermissionRequested | QuestionAsked) -> AbstractContextManager[None]:
        """Show a request; inside the context nothing else is written, so that the person can answer."""
        ...

    def finish(self) -> None:
        """Show what is still open, and end with a newline."""
        ...


def make_renderer(
    output: TextIO,
    error: TextIO,
    *,
    term: str,
    workspace: str = "",
    prompts: PromptEcho = "hidden",
) -> Renderer:
    """The renderer for an output; `term` is the TERM of the environment."""
    if is_plain_output(output, term):
        from portico.doors.terminal.render.plain_renderer import PlainRenderer

        return PlainRenderer(
            make_writer(output),
            make_writer(error),
            workspace=workspace,
            prompts=prompts,
            terminal=output.isatty(),
        )
    from rich.console import Console

    from portico.doors.terminal.render.live_renderer import LiveRenderer

    console = Console(file=output, highlight=False, markup=False, emoji=False)
    return LiveRenderer(console, workspace=workspace, prompts=prompts)


async def keep_ticking(renderer: Renderer) -> None:
    """Tick until cancelled."""
    while True:
        await asyncio.sleep(_TICK)
        renderer.tick()
