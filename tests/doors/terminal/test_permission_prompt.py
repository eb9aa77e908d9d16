"""Permission prompt in the terminal: only an exact answer counts, and no answer is a denial."""

import asyncio
import os
import pty
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from portico.domain.events import PermissionRequested
from portico.domain.values import PermissionOption
from portico.doors.terminal.input.line_reader import LineReader
from portico.doors.terminal.input.permission_prompt import ask_permission
from portico.doors.terminal.input.terminal_mode import echo
from portico.doors.terminal.permission_keys import find_keyed_option, key_hint
from portico.sessions.requests.permissions import PermissionReply
from tests.doors.terminal.support import OPTIONS, permission

DEADLINE = 10


class Terminal:
    """The person's end of a pseudo-terminal."""

    def __init__(self) -> None:
        self._person, self.device = pty.openpty()
        self.lines = LineReader(self.device)
        self.written: asyncio.Queue[str] = asyncio.Queue()
        self.shown = ""

    def write(self, words: str) -> None:
        self.shown += words
        self.written.put_nowait(words)

    def type(self, keys: str) -> None:
        os.write(self._person, keys.encode())

    def close(self) -> None:
        os.close(self._person)
        os.close(self.device)

    async def asked(self) -> None:
        async with asyncio.timeout(DEADLINE):
            while not (await self.written.get()).endswith("? "):
                pass


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


Asked = asyncio.Task[PermissionReply | None]


def asking(terminal: Terminal, request: PermissionRequested | None = None) -> Asked:
    question = request or permission()
    return asyncio.create_task(ask_permission(question, lines=terminal.lines, write=terminal.write))


async def decision(task: Asked) -> PermissionReply | None:
    async with asyncio.timeout(DEADLINE):
        return await task


async def outcome(task: Asked) -> str | None:
    decided = await decision(task)
    return decided.option_id if decided else None


@pytest.mark.parametrize(
    ("typed", "scope"), [("s", "session"), ("5", "always"), ("g", "always"), ("y", "once")]
)
async def test_an_allowance_can_be_remembered_for_the_session_or_for_good(
    terminal: Terminal, typed: str, scope: str
) -> None:
    request = msgspec.structs.replace(
        permission(), scopes=("once", "session", "always"), rule="execute:npm test *"
    )
    task = asking(terminal, request)
    await terminal.asked()
    assert "y/a/n/s/g" in terminal.shown
    terminal.type(f"{typed}\n")
    decided = await decision(task)
    assert decided is not None
    assert (decided.option_id, decided.scope) == ("once", scope)
    assert decided.rule == (None if scope == "once" else "execute:npm test *")


@pytest.mark.parametrize(
    ("typed", "option"), [("y", "once"), ("2", "always"), ("A", "always"), (" no ", "no"), ("3", "no")]
)
async def test_a_key_a_number_or_a_word_chooses_the_agents_own_option(
    terminal: Terminal, typed: str, option: str
) -> None:
    task = asking(terminal)
    await terminal.asked()
    terminal.type(f"{typed}\n")
    assert await outcome(task) == option


async def test_an_empty_line_or_anything_else_asks_again(terminal: Terminal) -> None:
    task = asking(terminal)
    for typed in ("\n", "maybe\n", "9\n"):
        await terminal.asked()
        terminal.type(typed)
    await terminal.asked()
    terminal.type("n\n")
    assert await outcome(task) == "no"
    assert terminal.shown.count("Please answer with y, a, n or a number.") == 3


async def test_what_was_typed_before_the_question_is_no_answer(terminal: Terminal) -> None:
    terminal.type("y\n")
    task = asking(terminal)
    await terminal.asked()
    terminal.type("n\n")
    assert await outcome(task) == "no"


async def test_the_end_of_input_is_no_answer(terminal: Terminal) -> None:
    task = asking(terminal)
    await terminal.asked()
    terminal.type("\x04")
    assert await outcome(task) is None
    assert terminal.shown.endswith("? \n")


async def test_a_terminal_that_goes_away_is_no_answer() -> None:
    reading, writing = os.pipe()
    shown: list[str] = []
    task = asyncio.create_task(ask_permission(permission(), lines=LineReader(reading), write=shown.append))
    os.close(writing)
    assert await outcome(task) is None
    os.close(reading)


async def test_a_question_can_be_withdrawn_and_takes_no_later_line(terminal: Terminal) -> None:
    task = asking(terminal)
    await terminal.asked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outcome(task)
    assert terminal.shown.endswith("\n")
    again = asyncio.create_task(terminal.lines.read_line())
    terminal.type("for the next reader\n")
    async with asyncio.timeout(DEADLINE):
        assert await again == "for the next reader"


async def test_without_options_nobody_is_asked(terminal: Terminal) -> None:
    request = permission()
    empty = type(request)(request_id="p", tool_id="c", title="x", tool_kind="other", options=())
    assert await ask_permission(empty, lines=terminal.lines, write=terminal.write) is None
    assert terminal.shown == ""


async def test_what_is_typed_is_seen_during_a_question_only(terminal: Terminal) -> None:
    import termios

    def shows() -> bool:
        return bool(termios.tcgetattr(terminal.device)[3] & termios.ECHO)

    with echo(terminal.device, shown=False):
        assert not shows()
        task = asking(terminal)
        await terminal.asked()
        assert shows()
        terminal.type("y\n")
        assert await outcome(task) == "once"
        assert not shows()
    assert shows()


def test_two_options_of_one_kind_have_numbers_of_their_own() -> None:
    folder = PermissionOption(option_id="folder", name="Always in this folder", kind="allow_always")
    request = msgspec.structs.replace(permission(), options=(*OPTIONS, folder))
    assert key_hint(request) == "y/a/n/4"
    assert _id(request, "4") == "folder"
    assert _id(request, "a") == "always"


@pytest.mark.parametrize("typed", ["", " ", "0", "-1", "4", "ok", "yy", "１", "9" * 9999])
def test_nothing_but_an_exact_answer_counts(typed: str) -> None:
    assert find_keyed_option(permission(), typed) is None


def _id(request: PermissionRequested, typed: str) -> str | None:
    option = find_keyed_option(request, typed)
    return option.option_id if option else None


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)


async def test_lines_are_read_whole_and_a_last_one_without_an_end_counts(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    lines = LineReader(reading)
    os.write(writing, "one\r\ntwo é\nthr".encode() + b"\xff")
    os.close(writing)
    read = [await asyncio.wait_for(lines.read_line(), DEADLINE) for _ in range(4)]
    assert read == ["one", "two é", "thr\ufffd", None]
