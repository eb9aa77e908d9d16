"""A turn as a person at the terminal sees it: rendered, ticking, and with someone to ask."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext

from portico.cli.answering import Person, person_is_there
from portico.domain.events import PermissionRequested, QuestionAsked
from portico.domain.ids import SessionId
from portico.doors.outcome import Outcome
from portico.doors.terminal.echo import echo
from portico.doors.terminal.renderers import PromptEcho, Renderer, keep_ticking, make_renderer, writer
from portico.sessions.deadlines import put_down
from portico.sessions.permissions import Decision
from portico.sessions.questions import NOBODY_THERE, Reply

LOST_HOST = "The Portico that had the session open ended in the middle of the turn."


def after_lost_host(session_id: SessionId) -> str:
    return f"What was done is in the log. Go on with: portico chat --session {session_id}"


def explain_lost_host(outcome: Outcome, session_id: SessionId) -> None:
    """Say why a turn ended that only its host's end has ended."""
    if outcome.host_lost:
        print(f"portico: {LOST_HOST}\n  {after_lost_host(session_id)}", file=sys.stderr)


@asynccontextmanager
async def shown_to_person(
    environ: Mapping[str, str], workspace: str, *, prompts: PromptEcho
) -> AsyncIterator[tuple[Renderer, Person | None]]:
    """A renderer for standard output, and the person there, if there is one."""
    term = environ.get("TERM", "")
    renderer = make_renderer(sys.stdout, sys.stderr, term=term, workspace=workspace, prompts=prompts)
    person = person_is_there()
    ticking = asyncio.create_task(keep_ticking(renderer), name="ticking")
    with echo(sys.stdin.fileno(), shown=False) if person else nullcontext():
        try:
            yield renderer, PersonAtTerminal(renderer, term) if person else None
        finally:
            await put_down(ticking)
            renderer.finish()


class PersonAtTerminal:
    """Is asked one thing at a time."""

    def __init__(self, renderer: Renderer, term: str) -> None:
        self._renderer = renderer
        self._term = term
        self._turn_to_ask = asyncio.Lock()

    async def decide(self, request: PermissionRequested) -> Decision | None:
        from portico.doors.terminal.asking import ask_person

        async with self._turn_to_ask:
            with self._renderer.question(request):
                return await ask_person(request)

    async def reply(self, question: QuestionAsked) -> Reply:
        async with self._turn_to_ask:
            with self._renderer.question(question):
                return await reply_at_terminal(question, self._term)


async def reply_at_terminal(question: QuestionAsked, term: str) -> Reply:
    """Ask for the fields of a question whose message the person has read."""
    from portico.doors.terminal.entries import open_entry
    from portico.doors.terminal.questioning import ask_question

    entry = open_entry(term)
    if entry is None:
        return NOBODY_THERE
    try:
        return await ask_question(question, entry, writer(sys.stderr))
    finally:
        entry.close()
