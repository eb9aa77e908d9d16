"""`portico chat`: a conversation in the terminal, turn after turn, in one session."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence

from portico import __version__
from portico.cli.answering import Answerer, person_is_there
from portico.cli.arguments import Arguments
from portico.cli.choosing import Chosen, add_session_flags, choose_session, wishes_of
from portico.cli.following import follow_turn
from portico.cli.host import Host, open_host
from portico.cli.showing import shown_to_person
from portico.config.paths import state_folder
from portico.domain.errors import InvalidInput, PorticoError
from portico.domain.events import Event
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

/exit leaves; the conversation is kept. Ctrl-C stops a turn, twice ends the agent.
"""
_LEAVING = ("/exit", "/quit")
_STATUS_EVENTS = 200


def run(arguments: Sequence[str]) -> int:
    parser = Arguments("chat", _DESCRIPTION)
    add_session_flags(parser)
    flags = parser.parse_args(arguments)
    if flags.api:
        raise InvalidInput(
            "A chat is for people; --api does not go with it.", suggestion='Use: portico exec --api "…"'
        )
    return asyncio.run(_chat(flags, dict(os.environ)))


async def _chat(flags: argparse.Namespace, environ: Mapping[str, str]) -> int:
    async with open_host(environ, wishes_of(flags)) as host:
        chosen = await choose_session(host.service, flags, environ)
        chat = Chat(host, chosen, environ, model=flags.model, wait=flags.wait)
        try:
            await chat.run()
        finally:
            if chat.empty and chosen.new:
                await host.service.delete(chosen.session_id)
    return 0


class Chat:
    def __init__(
        self, host: Host, chosen: Chosen, environ: Mapping[str, str], *, model: str | None, wait: bool
    ) -> None:
        self.empty = True
        self._host = host
        self._chosen = chosen
        self._environ = environ
        self._model = model
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
                await self._turn(words)
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
        for event in await self._host.store.read(
            self._chosen.session_id, after_seq=self._seen, limit=_STATUS_EVENTS
        ):
            self._status = self._status.after(event)

    async def _turn(self, words: str) -> None:
        self.empty = False
        workspace = str(self._chosen.workspace)
        prompts: PromptEcho = "typed" if person_is_there() else "shown"
        async with shown_to_person(self._environ, workspace, prompts=prompts) as (renderer, ask):

            async def show(event: Event) -> None:
                self._status = self._status.after(event)
                renderer.render(event)

            self._seen = await follow_turn(
                self._host.service,
                self._chosen.session_id,
                Prompt(text=words, model=self._model),
                after_seq=self._seen,
                show=show,
                answer=Answerer(ask),
                wait_for_tree=self._wait,
            )
