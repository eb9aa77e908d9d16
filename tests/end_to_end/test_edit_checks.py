"""Cards of tool calls at a real server: the problems of an edit, from a language server while no window is attached."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing

import pytest

from portico.api.v1 import events_pb
from tests.editors.language_servers.support import scripted
from tests.end_to_end.test_service import Caller, steps
from tests.support.program import PROGRAM, Portico
from tests.support.serving import Server, detach
from tests.support.terminal import Terminal
from tests.support.window import DEADLINE

BEFORE, AFTER = "BAD_old\n", "BAD_new\n"


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    command = shlex.split(portico.agent)
    agents = {"scripted": {"command": command[0], "args": command[1:]}}
    portico.settings({"agents": agents, **scripted()})
    (portico.workspace / "notes.txt").write_text(f"BAD_kept\n{BEFORE}")
    found = Server(portico)
    detach(portico)
    yield found
    found.end()


def edit(portico: Portico) -> str:
    """A turn that changes a file as an agent does that shows only the changed lines."""
    path = str(portico.workspace / "notes.txt")
    save = {"save": {"path": path, "content": f"BAD_kept\n{AFTER}"}}
    diff = {"path": path, "old": BEFORE, "new": AFTER}
    return steps({"tool": {"id": "c1", "title": "Edit", "kind": "edit", "steps": [save], "diff": diff}})


async def problems_of(caller: Caller) -> AsyncIterator[events_pb.ToolProblems]:
    async with aclosing(caller.watch()) as watching:
        async for news in watching:
            if news.update is not None and news.update.field == "event":
                event = news.update.value
                assert isinstance(event, events_pb.Event)
                assert event.payload is not None
                told = event.payload.value
                if isinstance(told, events_pb.ToolUpdated) and told.problems is not None:
                    yield told.problems


async def test_without_a_window_a_language_server_tells_what_an_edit_broke(
    portico: Portico, server: Server
) -> None:
    async with asyncio.timeout(DEADLINE):
        caller = Caller(server)
        await caller.start()
        await caller.turn(edit(portico))
        async for told in problems_of(caller):
            (file,) = told.files
            assert file.path == str(portico.workspace / "notes.txt")
            assert [(one.line, one.message) for one in file.added] == [(2, "BAD_new is bad")]
            assert [one.message for one in file.removed] == ["BAD_old is bad"]
            break


def test_a_chat_in_a_terminal_shows_it_when_the_turn_is_over(portico: Portico) -> None:
    portico.settings(scripted())
    (portico.workspace / "notes.txt").write_text(f"BAD_kept\n{BEFORE}")
    command = (str(PROGRAM), "chat", "--agent-command", portico.agent)
    terminal = Terminal(command, cwd=portico.workspace, environ=portico.environ({"TERM": "xterm-256color"}))
    try:
        terminal.until("❯")
        terminal.press(f"{edit(portico)}\r")
        terminal.until("new error: notes.txt:2  BAD_new is bad")
        terminal.until("1 problem solved: notes.txt")
    finally:
        terminal.close()
