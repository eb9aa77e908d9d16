"""Terminal side of a turn: renders events and asks the person."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext

from portico.domain.events import PermissionRequested, QuestionAsked
from portico.domain.ids import SessionId
from portico.doors.terminal.input.terminal_mode import echo
from portico.doors.terminal.output import make_writer
from portico.doors.terminal.render.renderer import PromptEcho, Renderer, keep_ticking, make_renderer
from portico.doors.turn_outcome import TurnOutcome
from portico.processes.tasks import cancel_and_wait
from portico.sessions.requests.approver import Person, is_interactive
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import DECLINED_UNATTENDED, QuestionAnswer

LOST_HOST = "The process that ran this turn ended unexpectedly."


def lost_host_hint(session_id: SessionId) -> str:
    return f"Everything up to then is in the log. Continue with: portico chat --session {session_id}"


def explain_lost_host(outcome: TurnOutcome, session_id: SessionId) -> None:
    """Explain a turn that ended because its process did."""
    if outcome.host_lost:
        print(f"portico: {LOST_HOST}\n  {lost_host_hint(session_id)}", file=sys.stderr)


@asynccontextmanager
async def terminal_session(
    environ: Mapping[str, str], workspace: str, *, prompts: PromptEcho
) -> AsyncIterator[tuple[Renderer, Person | None]]:
    """A renderer for standard output, and the person at the terminal, if any."""
    term = environ.get("TERM", "")
    renderer = make_renderer(sys.stdout, sys.stderr, term=term, workspace=workspace, prompts=prompts)
    person = is_interactive()
    ticking = asyncio.create_task(keep_ticking(renderer), name="ticking")
    with echo(sys.stdin.fileno(), shown=False) if person else nullcontext():
        try:
            yield renderer, PersonAtTerminal(renderer, term) if person else None
        finally:
            await cancel_and_wait(ticking)
            renderer.finish()


class PersonAtTerminal:
    """The person at the terminal, who is asked one thing at a time."""

    def __init__(self, renderer: Renderer, term: str) -> None:
        self._renderer = renderer
        self._term = term
        self._turn_to_ask = asyncio.Lock()

    async def decide(self, request: PermissionRequested) -> PermissionReply | None:
        from portico.doors.terminal.input.permission_prompt import ask_permission

        async with self._turn_to_ask:
            with self._renderer.question(request):
                return await ask_permission(request)

    async def reply(self, question: QuestionAsked) -> QuestionAnswer:
        async with self._turn_to_ask:
            with self._renderer.question(question):
                return await reply_at_terminal(question, self._term)


async def reply_at_terminal(question: QuestionAsked, term: str) -> QuestionAnswer:
    """Ask for the fields of a question whose message is on the screen."""
    from portico.doors.terminal.input.field_input import open_field_input
    from portico.doors.terminal.input.question_form import ask_question

    entry = open_field_input(term)
    if entry is None:
        return DECLINED_UNATTENDED
    try:
        return await ask_question(question, entry, make_writer(sys.stderr))
    finally:
        entry.close()
