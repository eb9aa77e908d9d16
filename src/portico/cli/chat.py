"""`portico chat`: a conversation in the terminal, turn after turn, in one session."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw

from portico import __version__
from portico.cli.answering import Answerer, person_is_there
from portico.cli.arguments import Arguments, add_trace_flag
from portico.cli.choosing import Chosen, add_session_flags, choose_session, options_of, wishes_of
from portico.cli.following import follow_turn
from portico.cli.host import Host, open_host
from portico.cli.options import COMMAND as OPTIONS
from portico.cli.options import run_options
from portico.cli.sending import add_attach_flag, attached, mentioned
from portico.cli.showing import shown_to_person
from portico.cli.signing import offer_sign_in
from portico.cli.taps import opened_trace
from portico.config.paths import state_folder
from portico.domain.errors import ErrorCode, InvalidInput, PorticoError
from portico.domain.events import Event
from portico.doors.outcome import Outcome
from portico.doors.terminal.banner import Welcome, print_welcome
from portico.doors.terminal.chat_status import ChatStatus
from portico.doors.terminal.prompting import ChatInput, open_chat_input
from portico.doors.terminal.renderers import PromptEcho
from portico.sessions.deadlines import put_down
from portico.sessions.turn import Prompt

_DESCRIPTION = """Talk to an agent in the terminal.

  portico chat
  portico chat --continue
  portico chat --agent claude --cwd ~/project

/options shows what the agent can be set to, /options mode plan sets it.
/exit leaves; the conversation is kept. Ctrl-C stops a turn, twice ends the agent.
"""
_LEAVING = ("/exit", "/quit")
_STATUS_EVENTS = 200


def run(arguments: Sequence[str]) -> int:
    parser = Arguments("chat", _DESCRIPTION)
    add_session_flags(parser)
    add_attach_flag(parser, "send this file along with the first prompt; may be repeated")
    add_trace_flag(parser)
    flags = parser.parse_args(arguments)
    if flags.api:
        raise InvalidInput(
            "A chat is for people; --api does not go with it.", suggestion='Use: portico exec --api "…"'
        )
    return asyncio.run(_chat(flags, dict(os.environ)))


async def _chat(flags: argparse.Namespace, environ: Mapping[str, str]) -> int:
    files = await attached(flags)
    with opened_trace(flags.trace, environ) as trace:
        wishes = msgspec.structs.replace(wishes_of(flags), trace=trace)
        async with open_host(environ, wishes) as host:
            chosen = await choose_session(host.service, flags, environ)
            chat = Chat(host, chosen, environ, options=options_of(flags), wait=flags.wait)
            chat.files = files
            try:
                await chat.run()
            finally:
                if chat.empty and chosen.new:
                    await host.service.delete(chosen.session_id)
    return 0


class Chat:
    def __init__(
        self,
        host: Host,
        chosen: Chosen,
        environ: Mapping[str, str],
        *,
        options: dict[str, str | bool],
        wait: bool,
    ) -> None:
        self.empty = True
        self.files: tuple[Raw, ...] = ()
        """What goes along with the next prompt."""
        self._host = host
        self._chosen = chosen
        self._environ = environ
        self._options = options
        self._wait = wait
        self._seen = chosen.after_seq
        self._status = ChatStatus(
            agent=chosen.agent,
            session_id=chosen.session_id,
            workspace=str(chosen.workspace),
            home=environ.get("HOME", ""),
        )

    async def run(self) -> None:
        """Greet, then take prompts until the person leaves."""
        term = self._environ.get("TERM", "")
        going_on = None if self._chosen.new else self._chosen.session_id
        welcome = Welcome(
            version=__version__,
            agent=self._chosen.agent,
            workspace=str(self._chosen.workspace),
            home=self._environ.get("HOME", ""),
            session=going_on or "",
        )
        print_welcome(welcome, sys.stdout, term=term)
        history = state_folder(self._environ) / "history"
        source = open_chat_input(lambda: self._status, history=history, term=term)
        connecting = asyncio.create_task(self._connect(), name="starting the agent")
        try:
            await self._converse(source, connecting)
        finally:
            await put_down(connecting)

    async def _converse(self, source: ChatInput, connecting: "asyncio.Task[None]") -> None:
        while (words := await source.read()) is not None:
            if words.strip() in _LEAVING:
                return
            await connecting
            try:
                await self._obey(words)
            except PorticoError as error:
                print(f"portico: {error.message}", file=sys.stderr)
                if error.suggestion:
                    print(f"  {error.suggestion}", file=sys.stderr)

    async def _connect(self) -> None:
        """Start the agent while the person types. What goes wrong is told by the first turn."""
        try:
            await self._host.service.connect(self._chosen.session_id)
        except PorticoError:
            return
        store, session_id = self._host.store, self._chosen.session_id
        for event in await store.standing(session_id):
            self._status = self._status.after(event)
        for event in await store.read(session_id, after_seq=self._seen, limit=_STATUS_EVENTS):
            self._status = self._status.after(event)

    async def _obey(self, words: str) -> None:
        """Do what the chat itself is told to; anything else is for the agent."""
        command, _, rest = words.strip().partition(" ")
        service, session_id = self._host.service, self._chosen.session_id
        if command == OPTIONS:
            for line in await run_options(rest, service, self._host.store, session_id):
                print(f"  {line}")
            return
        outcome, term = await self._turn(words), self._environ.get("TERM", "")
        if _wants_sign_in(outcome) and person_is_there() and await offer_sign_in(service, session_id, term):
            await self._turn(words)

    async def _turn(self, words: str) -> Outcome:
        self.empty = False
        outcome = Outcome()
        workspace = str(self._chosen.workspace)
        blocks = (*self.files, *await mentioned(words, self._chosen.workspace))
        prompts: PromptEcho = "typed" if person_is_there() else "shown"
        async with shown_to_person(self._environ, workspace, prompts=prompts) as (renderer, person):

            async def show(event: Event) -> None:
                self._status = self._status.after(event)
                outcome.take(event.payload)
                renderer.render(event)

            self._seen = await follow_turn(
                self._host.service,
                self._chosen.session_id,
                Prompt(text=words, options=self._options, blocks=blocks),
                after_seq=self._seen,
                show=show,
                answer=Answerer(person),
                wait_for_tree=self._wait,
            )
        if not _wants_sign_in(outcome):
            # They have gone along; what was set with them, the person or the agent may change from here on.
            self.files, self._options = (), {}
        return outcome


def _wants_sign_in(outcome: Outcome) -> bool:
    return outcome.error is not None and outcome.error.code is ErrorCode.AUTH_REQUIRED
