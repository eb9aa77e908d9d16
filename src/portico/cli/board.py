"""`portico board`: all sessions of all agents at once, live, to open, answer and review."""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from portico.app.host import Host, open_host
from portico.cli.arguments import CommandParser, print_json, real_folder
from portico.domain.errors import PorticoError
from portico.domain.ids import SessionId
from portico.domain.timestamps import format_time
from portico.doors.terminal.input.line_reader import LineReader
from portico.doors.terminal.input.permission_prompt import QUIET_SECONDS
from portico.doors.terminal.input.terminal_mode import single_keys
from portico.doors.terminal.output import is_plain_output, make_writer
from portico.doors.terminal.permission_keys import find_keyed_option
from portico.doors.terminal.render.board_view import (
    BoardFrame,
    board_lines,
    card_facts,
    ordered_cards,
    takes_keys,
)
from portico.doors.terminal.theme import UNICODE, signs_for
from portico.processes.signals import END_SIGNALS, on_signals
from portico.processes.tasks import cancel_and_wait
from portico.review.local_reviews import LocalReviews
from portico.sessions.board import BoardCard, SessionBoard
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.session_list import MOST_WATCHED, RemovedSession, SessionList

_DESCRIPTION = """Show all sessions of all agents, by state: waiting for you, working, to review, done.

  portico board
  portico board --cwd ~/project

In a pipe and with --api it prints them once.
"""
_UP, _DOWN = ("\x1b[A", "\x1bOA", "k"), ("\x1b[B", "\x1bOB", "j")
_ENTER = ("\r", "\n")
_LEAVE = ("q", "\x04")
_ENTER_SCREEN, _LEAVE_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_REDRAW = "\x1b[H"
_TICK_SECONDS = 1.0
_KEY = re.compile(r"\x1b[\[O][A-Z]|.", re.DOTALL)


def run(arguments: Sequence[str]) -> int:
    parser = CommandParser("board", _DESCRIPTION)
    parser.add_argument("--cwd", metavar="DIR", help="only sessions of this folder (default: all)")
    flags = parser.parse(arguments)
    if flags.api or not sys.stdin.isatty() or is_plain_output(sys.stdout, os.environ.get("TERM", "")):
        asyncio.run(_print_once(flags, os.environ))
        return 0
    while (opened := asyncio.run(_sit(flags, os.environ))) is not None:
        command, session_id = opened
        if command == "chat":
            # Late: most boards are left without opening a session.
            from portico.cli import chat

            chat.run(["--session", session_id])
        else:
            from portico.cli import review

            review.run(["show", session_id, "--diff"])
            print("Press Enter to go back to the board.")
            sys.stdin.readline()
    return 0


def _workspace(flags: argparse.Namespace) -> str | None:
    return None if flags.cwd is None else str(real_folder(flags.cwd))


def _open_board(host: Host) -> tuple[SessionList, SessionBoard]:
    sessions = SessionList(host.service, host.store, host.clock)
    return sessions, SessionBoard(sessions, host.store, LocalReviews(host.service, host.ports, host.reviews))


async def _print_once(flags: argparse.Namespace, environ: Mapping[str, str]) -> None:
    async with open_host(environ) as host:
        sessions, board = _open_board(host)
        found = await sessions.page(workspace=_workspace(flags), search="", before=None, limit=MOST_WATCHED)
        cards = [await board.card(entry) for entry in found if entry.summary.last_turn is not None]
    if flags.api:
        print_json(sessions=[_told(card) for card in cards], count=len(cards))
        return
    for card in ordered_cards(cards):
        summary = card.entry.summary
        facts = ", ".join((summary.agent, *card_facts(card, UNICODE)))
        print(f"{card.group.replace('_', ' '):<9}  {summary.session_id}  {summary.title}  ({facts})")


def _told(card: BoardCard) -> dict[str, object]:
    """A card as `--api` shows it."""
    summary = card.entry.summary
    return {
        "sessionId": summary.session_id,
        "title": summary.title,
        "agent": summary.agent,
        "workspace": summary.workspace,
        "group": card.group,
        "state": summary.state.value,
        "updatedAt": format_time(summary.updated_at),
        "lastLine": card.last_line,
        "cost": card.cost,
        "currency": card.currency,
        "tokens": card.tokens,
        "files": card.changes.files,
        "added": card.changes.added,
        "removed": card.changes.removed,
        "asks": [request.title for request in card.permissions] + [one.message for one in card.questions],
    }


async def _sit(flags: argparse.Namespace, environ: Mapping[str, str]) -> tuple[str, SessionId] | None:
    """Show the board until the person leaves it; what to open then."""
    async with open_host(environ) as host:
        screen = BoardScreen(host, environ)
        _, board = _open_board(host)
        write = make_writer(sys.stdout)
        write(_ENTER_SCREEN)
        try:
            with single_keys(sys.stdin.fileno()):
                return await screen.show(board.watch(workspace=_workspace(flags)))
        finally:
            write(_LEAVE_SCREEN)


class BoardScreen:
    """The board on a terminal: cards come from the log, keys from the person."""

    def __init__(self, host: Host, environ: Mapping[str, str]) -> None:
        self._host = host
        self._environ = environ
        self._cards: dict[SessionId, BoardCard] = {}
        self._chosen: SessionId | None = None
        self._message = ""
        self._lines = LineReader(sys.stdin.fileno())
        self._asked = ""
        """The request of the chosen session that is on the screen."""
        self._answerable_at = 0.0

    async def show(self, changes: AsyncGenerator[BoardCard | RemovedSession]) -> tuple[str, SessionId] | None:
        ended = asyncio.Event()
        following = asyncio.create_task(self._follow(changes), name="following the board")
        ticking = asyncio.create_task(self._tick(), name="drawing the board")
        typing = asyncio.create_task(self._type(), name="reading keys")
        ending = asyncio.create_task(ended.wait(), name="waiting for a signal")
        tasks = (following, ticking, typing, ending)
        try:
            async with on_signals(ended.set, END_SIGNALS):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                following.result()
            return typing.result() if typing.done() else None
        finally:
            await cancel_and_wait(*tasks)

    async def _follow(self, changes: AsyncGenerator[BoardCard | RemovedSession]) -> None:
        async with aclosing(changes):
            async for change in changes:
                if isinstance(change, RemovedSession):
                    self._cards.pop(change.session_id, None)
                else:
                    self._cards[change.session_id] = change
                self._draw()

    async def _tick(self) -> None:
        """Ages grow while nothing else happens."""
        while True:
            self._draw()
            await asyncio.sleep(_TICK_SECONDS)

    async def _type(self) -> tuple[str, SessionId] | None:
        """Do what keys say; returns what to open, or None to leave."""
        while (keys := await self._lines.read_keys()) is not None:
            for key in _KEY.findall(keys):
                if key in _LEAVE:
                    return None
                if (opened := await self._press(key)) is not None:
                    return opened
            self._draw()
        return None

    async def _press(self, key: str) -> tuple[str, SessionId] | None:
        cards, place = self._ordered()
        self._message = ""
        if not cards:
            return None
        if key in _ENTER:
            return "chat", cards[place].session_id
        if key == "v" and cards[place].changes.files:
            return "review", cards[place].session_id
        if key in (*_UP, *_DOWN):
            step = -1 if key in _UP else 1
            self._chosen = cards[max(0, min(place + step, len(cards) - 1))].session_id
        else:
            await self._answer(cards[place], key)
        return None

    def _takes_answers(self, card: BoardCard | None) -> bool:
        """Whether keys answer the request of a session: not before it was on the screen for a moment."""
        asked = card.permissions[0].request_id if card is not None and card.permissions else ""
        now = self._host.clock.monotonic()
        if asked != self._asked:
            self._asked, self._answerable_at = asked, now + QUIET_SECONDS
            if asked:
                asyncio.get_running_loop().call_later(QUIET_SECONDS, self._draw)
        return bool(asked) and now >= self._answerable_at

    async def _answer(self, card: BoardCard, keys: str) -> None:
        if not self._takes_answers(card) or not takes_keys(card):
            return
        request = card.permissions[0]
        if (keyed := find_keyed_option(request, keys)) is None:
            return
        # Late: it is slow to import, and most boards answer nothing.
        from portico.client.remote_session import join_session

        rule = request.rule if keyed.scope != "once" else None
        reply = PermissionReply(option_id=keyed.option_id, by="person", scope=keyed.scope, rule=rule)
        try:
            session = await join_session(
                self._host.service, self._host.ports, card.entry.summary, self._environ, only_own_turns=True
            )
            try:
                await session.decide(request.request_id, reply)
            finally:
                await session.close()
            self._message = f"{keyed.name}: {request.title}"
        except PorticoError as error:
            self._message = error.message

    def _ordered(self) -> tuple[list[BoardCard], int]:
        """The cards as shown, and the place of the chosen one; the first if that is gone."""
        cards = ordered_cards(list(self._cards.values()))
        places = [place for place, card in enumerate(cards) if card.session_id == self._chosen]
        return cards, places[0] if places else 0

    def _draw(self) -> None:
        from rich.console import Console

        console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
        cards, place = self._ordered()
        frame = BoardFrame(
            now_ms=self._host.clock.now_ms(),
            width=console.width,
            height=console.height,
            signs=signs_for(console.encoding),
            home=self._environ.get("HOME", ""),
        )
        takes_answers = self._takes_answers(cards[place] if cards else None)
        lines = board_lines(cards, place, frame, takes_answers=takes_answers, message=self._message)
        with console.capture() as capture:
            for line in lines:
                console.print(line, no_wrap=True, overflow="crop", end="\x1b[K\n")
        make_writer(sys.stdout)(_REDRAW + capture.get().rstrip("\n") + "\x1b[J")
