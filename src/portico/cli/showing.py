"""A turn as a person at the terminal sees it: rendered, ticking, and with someone to ask."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext

from portico.cli.answering import Ask, person_is_there
from portico.domain.events import PermissionRequested
from portico.doors.terminal.echo import echo
from portico.doors.terminal.renderers import PromptEcho, Renderer, keep_ticking, make_renderer
from portico.sessions.deadlines import put_down
from portico.sessions.permissions import Decision


@asynccontextmanager
async def shown_to_person(
    environ: Mapping[str, str], workspace: str, *, prompts: PromptEcho
) -> AsyncIterator[tuple[Renderer, Ask | None]]:
    """A renderer for standard output, and a way to ask the person there, if one is."""
    renderer = make_renderer(
        sys.stdout, sys.stderr, term=environ.get("TERM", ""), workspace=workspace, prompts=prompts
    )
    person = person_is_there()
    ticking = asyncio.create_task(keep_ticking(renderer), name="ticking")
    with echo(sys.stdin.fileno(), shown=False) if person else nullcontext():
        try:
            yield renderer, _asker(renderer) if person else None
        finally:
            await put_down(ticking)
            renderer.finish()


def _asker(renderer: Renderer) -> Ask:
    """Asks one question at a time."""
    from portico.doors.terminal.asking import ask_person

    turn_to_ask = asyncio.Lock()

    async def ask(request: PermissionRequested) -> Decision | None:
        async with turn_to_ask:
            with renderer.question(request):
                return await ask_person(request)

    return ask
