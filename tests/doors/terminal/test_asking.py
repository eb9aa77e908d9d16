"""Asking for a permission: only an exact answer counts, and no answer is a denial."""

import asyncio
import os
import pty
from collections.abc import AsyncIterator, Iterator

import pytest

from portico.domain.events import PermissionOption
from portico.doors.terminal.asking import ask_person
from portico.doors.terminal.echo import echo
from portico.doors.terminal.lines import LineReader
from portico.doors.terminal.permission_keys import chosen, keys_in_words
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


def asking(terminal: Terminal) -> "asyncio.Task[str | None]":
    return asyncio.create_task(ask_person(permission(), lines=terminal.lines, write=terminal.write))


async def outcome(task: "asyncio.Task[str | None]") -> str | None:
    async with asyncio.timeout(DEADLINE):
        return await task


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
    task = asyncio.create_task(ask_person(permission(), lines=LineReader(reading), write=shown.append))
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
    assert await outcome(again) == "for the next reader"


async def test_without_options_nobody_is_asked(terminal: Terminal) -> None:
    request = permission()
    empty = type(request)(request_id="p", tool_id="c", title="x", tool_kind="other", options=())
    assert await ask_person(empty, lines=terminal.lines, write=terminal.write) is None
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
    options = (
        *OPTIONS,
        PermissionOption(option_id="folder", name="Always in this folder", kind="allow_always"),
    )
    assert keys_in_words(options) == "y/a/n/4"
    assert _id(options, "4") == "folder"
    assert _id(options, "a") == "always"


@pytest.mark.parametrize("typed", ["", " ", "0", "-1", "4", "ok", "yy", "１", "9" * 9999])
def test_nothing_but_an_exact_answer_counts(typed: str) -> None:
    assert chosen(OPTIONS, typed) is None


def _id(options: tuple[PermissionOption, ...], typed: str) -> str | None:
    option = chosen(options, typed)
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
