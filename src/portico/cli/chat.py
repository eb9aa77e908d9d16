"""`portico chat`: a session in the terminal, turn after turn."""

import argparse
import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing

import msgspec
from msgspec import Raw

from portico import __version__
from portico.app.host import Host, open_host
from portico.chains.taps import open_trace
from portico.cli import chat_commands as commands
from portico.cli.arguments import CommandParser, add_trace_flag, trace_path
from portico.cli.attachments import add_attach_flag, mention_links, read_attachment_flags
from portico.cli.chat_commands import run_components, run_model, run_options
from portico.cli.chat_sessions import ChatSessions
from portico.cli.login import offer_sign_in
from portico.cli.session_options import (
    SelectedSession,
    add_session_flags,
    agent_options_of,
    chain_options_of,
    environ_with_limits,
)
from portico.client.client_session import ClientTurn
from portico.client.turn import follow_turn
from portico.config.paths import state_folder
from portico.domain.errors import ErrorCode, InvalidInput, PorticoError, ServerLost
from portico.domain.events import CheckpointCreated, Event, Notice, PromptSubmitted, ProposalUpdated
from portico.doors.terminal.input.chat_input import ChatInput, open_chat_input
from portico.doors.terminal.input.chat_status import ChatStatus
from portico.doors.terminal.input.prompt_blanks import ChatPrompt
from portico.doors.terminal.labels import notice_text
from portico.doors.terminal.output import CLEAR_SCREEN, is_plain_output, make_writer
from portico.doors.terminal.problem_labels import late_problem_lines
from portico.doors.terminal.render.banner import Welcome, print_welcome
from portico.doors.terminal.render.renderer import PromptEcho, make_renderer
from portico.doors.terminal.session import explain_lost_host, terminal_session
from portico.doors.turn_outcome import TurnOutcome
from portico.processes.signals import END_SIGNALS, on_signals
from portico.processes.tasks import cancel_and_wait
from portico.sessions.log.hand_off import FIRST_EVENTS
from portico.sessions.requests.approver import Approver, is_interactive
from portico.sessions.turn import TurnPrompt

_LEAVING = ("/exit", "/quit")
_STATUS_EVENTS = 200
_LAST_EVENTS = 400


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("chat", commands.DESCRIPTION)
    add_session_flags(parser)
    add_attach_flag(parser, "file to attach to the first prompt; may be repeated")
    add_trace_flag(parser)
    flags = parser.parse(arguments)
    if flags.api:
        raise InvalidInput("portico chat does not take --api.", suggestion='Use: portico exec --api "…"')
    return asyncio.run(_chat(flags, environ_with_limits(flags, os.environ)))


async def _chat(flags: argparse.Namespace, environ: Mapping[str, str]) -> int:
    files = await read_attachment_flags(flags)
    with open_trace(trace_path(flags), environ) as trace:
        chain_options = msgspec.structs.replace(chain_options_of(flags), trace=trace)
        async with open_host(environ, chain_options, checks_edits=True) as host:
            sessions = ChatSessions(host, flags, environ)
            options = agent_options_of(flags)
            chat = Chat(host, sessions, await sessions.first(), environ, options=options, wait=flags.wait)
            chat.files = files
            try:
                await chat.run()
            finally:
                await chat.close()
    return 0


class Chat:
    """A chat in a session, and in others that the person goes to."""

    def __init__(
        self,
        host: Host,
        sessions: ChatSessions,
        chosen: SelectedSession,
        environ: Mapping[str, str],
        *,
        options: dict[str, str | bool],
        wait: bool,
    ) -> None:
        self.files: tuple[Raw, ...] = ()
        """Attachments of the next prompt."""
        self._empty = True
        self._host = host
        self._sessions = sessions
        self._chosen = chosen
        self._environ = environ
        self._options = options
        self._wait = wait
        self._connecting: asyncio.Task[None] | None = None
        self._seen = chosen.after_seq
        self._end_requested = asyncio.Event()
        self._status = self._first_status()

    def _first_status(self) -> ChatStatus:
        return ChatStatus(
            agent=self._chosen.agent,
            session_id=self._chosen.session_id,
            workspace=str(self._chosen.workspace),
            home=self._environ.get("HOME", ""),
        )

    async def run(self) -> None:
        """Print the welcome, then read and send prompts until the person leaves."""
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
        source = open_chat_input(lambda: self._status, self._prompts, history=history, term=term)
        self._start_agent()
        await self._converse(source)

    def _start_agent(self) -> None:
        self._connecting = asyncio.create_task(self._connect(), name="starting the agent")

    def _prompts(self) -> Iterable[ChatPrompt]:
        from portico.app.prompt_catalog import open_prompts, terminal_prompts

        return terminal_prompts(open_prompts(self._chosen.workspace, self._environ).catalog)

    async def close(self) -> None:
        await self._stop_connecting()
        await self._chosen.conversation.close()
        if self._empty and self._chosen.new:
            await self._host.service.delete(self._chosen.session_id)

    async def _stop_connecting(self) -> None:
        if self._connecting is not None:
            await cancel_and_wait(self._connecting)

    async def _converse(self, source: ChatInput) -> None:
        while (words := await self._read(source)) is not None:
            if words.strip() in _LEAVING:
                return
            try:
                try:
                    await self._obey(words)
                except ServerLost:
                    await self._go_on_without_server()
                    await self._obey(words)
            except PorticoError as error:
                print(f"portico: {error.message}", file=sys.stderr)
                if error.suggestion:
                    print(f"  {error.suggestion}", file=sys.stderr)

    async def _read(self, source: ChatInput) -> str | None:
        """The next prompt; None at the end of input or after a signal.

        A turn that another client starts meanwhile is shown, and so are problems that a check of an edit finds; text
        typed so far is kept.
        """
        while True:
            reading = asyncio.create_task(source.read(), name="reading a prompt")
            news = asyncio.create_task(self._next_news(), name="watching for turns and problems")
            end = asyncio.create_task(self._end_requested.wait(), name="waiting for a signal")
            try:
                async with on_signals(self._end_requested.set, END_SIGNALS):
                    await asyncio.wait((reading, news, end), return_when=asyncio.FIRST_COMPLETED)
                if self._end_requested.is_set():
                    return None
                if reading.done() or (event := await news) is None:
                    return await reading
            finally:
                await cancel_and_wait(reading, news, end)
            if lines := late_problem_lines(event, str(self._chosen.workspace)):
                self._seen = event.seq
                print(*(f"  {line}" for line in lines), sep="\n")
                continue
            await self._follow(self._chosen.conversation.follow(), prompts="shown")

    async def _next_news(self) -> Event | None:
        """Wait until another client starts a turn, or an edit turns out to add problems; None if the session is gone."""
        async with aclosing(self._chosen.conversation.watch(after_seq=self._seen)) as events:
            async for event in events:
                lines = late_problem_lines(event, str(self._chosen.workspace))
                if isinstance(event.payload, PromptSubmitted) or lines:
                    return event
                self._status = self._status.after(event)
        return None

    async def _go_on_without_server(self) -> None:
        await self._chosen.conversation.close()
        self._chosen = await self._sessions.reopen(self._chosen.session_id)
        self._seen = self._chosen.after_seq
        print("portico: the server has stopped; the chat continues without it.", file=sys.stderr)

    async def _connect(self) -> None:
        """Start the agent while the person types. Failures are reported by the first turn."""
        try:
            await self._chosen.conversation.connect()
        except PorticoError:
            return
        store, session_id = self._host.store, self._chosen.session_id
        for event in await store.standing(session_id):
            self._status = self._status.after(event)
        begun = await store.read(session_id, after_seq=self._seen, limit=_STATUS_EVENTS)
        # A turn that has started meanwhile shows them itself.
        for event in begun if self._empty else ():
            self._status = self._status.after(event)

    async def _obey(self, words: str) -> None:
        """Run a command of the chat, or send a prompt to the agent."""
        command, _, rest = words.strip().partition(" ")
        rest = rest.strip()
        conversation, session_id = self._chosen.conversation, self._chosen.session_id
        match command:
            case commands.OPTIONS:
                _print(await run_options(rest, conversation, self._host.store, session_id))
            case commands.MODEL:
                _print(await run_model(rest, conversation, self._host.store, session_id))
            case commands.COMPONENTS:
                _print(await run_components(rest, conversation))
            case commands.TODOS:
                self._empty = self._empty and not rest
                _print(await commands.run_todos(rest, conversation, self._host.store, session_id))
            case commands.TOUR:
                # Late: most chats have no tour.
                from portico.cli.chat_tour import run_tour

                term = self._environ.get("TERM", "")
                await run_tour(rest, self._host.store, session_id, self._chosen.workspace, term)
            case commands.PROPOSAL:
                # Late: it is slow to import, and most chats have no proposal.
                from portico.cli.chat_proposal import run_proposal

                prompt = await run_proposal(rest, self._host, session_id, self._environ)
                await self._pass_over_decisions()
                if prompt is not None:
                    await self._send(prompt)
            case _:
                if not await self._go(command, rest):
                    await self._send(words)

    async def _go(self, command: str, rest: str) -> bool:
        """Go to another session, or list them; False for anything else that was typed."""
        sessions, current = self._sessions, self._chosen
        match command:
            case commands.NEW | commands.CLEAR:
                await self._switch(await sessions.new(current))
                self._introduce(clear=command == commands.CLEAR)
            case commands.AGENT if not rest:
                _print(sessions.agent_lines(current))
            case commands.AGENT:
                await self._switch(await sessions.with_agent(rest, current))
                self._introduce()
            case commands.SESSIONS:
                await sessions.print_list(current)
            case commands.RESUME:
                await self._switch(await sessions.resume(rest, current))
                await self._show_last_turn()
            case commands.HAND_OFF:
                if not rest:
                    suggestion = f"List them with: {commands.AGENT}"
                    raise InvalidInput(f"{commands.HAND_OFF} needs an agent.", suggestion=suggestion)
                await self._hand_off(rest)
            case commands.COMPACT if not self._agent_has(commands.COMPACT):
                if self._empty and current.new:
                    raise InvalidInput("There is nothing to compact yet.")
                await self._hand_off(None)
            case _:
                return False
        return True

    def _agent_has(self, command: str) -> bool:
        return any(f"/{known.name.lstrip('/')}" == command for known in self._status.commands)

    async def _send(self, words: str) -> None:
        """Send a prompt to the agent, after a sign-in if it wants one."""
        if not _wants_sign_in(await self._turn(words)) or not is_interactive():
            return
        signing = await self._chosen.conversation.login()
        if signing is not None and await offer_sign_in(signing, self._environ.get("TERM", "")):
            await self._turn(words)

    async def _switch(self, chosen: SelectedSession) -> None:
        """Go on in another session."""
        left, empty = self._chosen, self._empty
        await self._stop_connecting()
        self._chosen, self._empty, self._seen = chosen, chosen.new, chosen.after_seq
        self._status, self._options = self._first_status(), {}
        await self._sessions.leave(left, empty=empty)
        self._start_agent()

    def _introduce(self, *, clear: bool = False) -> None:
        if clear and not is_plain_output(sys.stdout, self._environ.get("TERM", "")):
            make_writer(sys.stdout)(CLEAR_SCREEN)
        print(f"  New session with {self._chosen.agent}. Earlier ones are kept: {commands.SESSIONS}")

    async def _hand_off(self, agent: str | None) -> None:
        """Continue in a session that gets a summary of this one."""
        await self._switch(await self._sessions.hand_off(agent, self._chosen))
        self._empty = False
        self._seen = await self._show_beginning()

    async def _show_beginning(self) -> int:
        """Print how the session begins; the seq of the last event that was printed."""
        seen = 0
        for event in await self._host.store.read(self._chosen.session_id, after_seq=0, limit=FIRST_EVENTS):
            seen = event.seq
            if isinstance(event.payload, Notice):
                print(f"  {notice_text(event.payload)}")
        print("  Your next prompt includes a summary of it.")
        return seen

    async def _show_last_turn(self) -> None:
        """Print the end of a session that is continued, up to where it was opened again."""
        before = self._seen + 1
        page = await self._host.store.tail(self._chosen.session_id, before_seq=before, limit=_LAST_EVENTS)
        for event in page:
            self._status = self._status.after(event)
        begins = [number for number, one in enumerate(page) if isinstance(one.payload, PromptSubmitted)]
        workspace, term = str(self._chosen.workspace), self._environ.get("TERM", "")
        renderer = make_renderer(sys.stdout, sys.stderr, term=term, workspace=workspace, prompts="shown")
        for event in page[begins[-1] if begins else 0 :]:
            renderer.render(event)
        renderer.finish()

    async def _pass_over_decisions(self) -> None:
        """Skip the events of a decision that was just printed."""
        store, session_id = self._host.store, self._chosen.session_id
        for event in await store.read(session_id, after_seq=self._seen, limit=_STATUS_EVENTS):
            if not isinstance(event.payload, ProposalUpdated | CheckpointCreated):
                return
            self._status, self._seen = self._status.after(event), event.seq

    async def _turn(self, words: str) -> TurnOutcome:
        self._empty = False
        blocks = (*self.files, *await mention_links(words, self._chosen.workspace))
        prompt = TurnPrompt(text=words, options=self._options, blocks=blocks)
        turn = self._chosen.conversation.begin(prompt, wait=self._wait)
        outcome = await self._follow(turn, prompts="typed" if is_interactive() else "shown")
        if not _wants_sign_in(outcome):
            # Sent with this prompt; options may be changed later by the person or the agent.
            self.files, self._options = (), {}
        return outcome

    async def _follow(self, turn: ClientTurn, *, prompts: PromptEcho) -> TurnOutcome:
        outcome = TurnOutcome()
        conversation, workspace = self._chosen.conversation, str(self._chosen.workspace)
        async with terminal_session(self._environ, workspace, prompts=prompts) as (renderer, person):

            async def show(event: Event) -> None:
                self._status = self._status.after(event)
                outcome.take(event.payload)
                renderer.render(event)

            approver = Approver(person)
            self._seen = await follow_turn(
                conversation,
                turn,
                after_seq=self._seen,
                show=show,
                approver=approver,
                on_end_signal=self._end_requested.set,
            )
        explain_lost_host(outcome, self._chosen.session_id)
        return outcome


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(f"  {line}")


def _wants_sign_in(outcome: TurnOutcome) -> bool:
    return outcome.error is not None and outcome.error.code is ErrorCode.AUTH_REQUIRED
