"""Permission prompt in the terminal: one key answers, only an exact one counts, and no answer is a denial."""

import asyncio
import fcntl
import os
import pty
import termios
from array import array
from collections.abc import AsyncIterator, Iterator

import msgspec
import pytest

from portico.domain.events import PermissionRequested
from portico.domain.values import PermissionOption
from portico.doors.terminal.input import permission_prompt
from portico.doors.terminal.input.line_reader import LineReader
from portico.doors.terminal.input.permission_prompt import ask_permission
from portico.doors.terminal.input.terminal_mode import echo
from portico.doors.terminal.permission_keys import find_keyed_option, key_hint
from portico.sessions.requests.permissions import PermissionReply
from tests.doors.terminal.support import OPTIONS, permission

DEADLINE = 10
OWN_KEYS = {"once": "y", "always": "a", "no": "n"}


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

    async def read_all(self, keys: str) -> None:
        """Type, and wait until all of it was read."""
        os.write(self._person, keys.encode())
        waiting = array("i", [1])
        async with asyncio.timeout(DEADLINE):
            while waiting[0]:
                await asyncio.sleep(0)
                fcntl.ioctl(self.device, termios.FIONREAD, waiting)

    async def asked(self) -> None:
        async with asyncio.timeout(DEADLINE):
            while not (await self.written.get()).endswith("? "):
                pass


@pytest.fixture
async def terminal() -> AsyncIterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission_prompt, "QUIET_SECONDS", 0.02)


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
    terminal.type(typed)
    decided = await decision(task)
    assert decided is not None
    assert (decided.option_id, decided.scope) == ("once", scope)
    assert decided.rule == (None if scope == "once" else "execute:npm test *")


@pytest.mark.parametrize(
    ("typed", "option"), [("y", "once"), ("2", "always"), ("A", "always"), ("n", "no"), ("3", "no")]
)
async def test_one_key_chooses_the_agents_own_option(terminal: Terminal, typed: str, option: str) -> None:
    task = asking(terminal)
    await terminal.asked()
    terminal.type(typed)
    assert await outcome(task) == option
    assert terminal.shown.endswith(f"? {OWN_KEYS[option]}\n")


@pytest.mark.parametrize(("typed", "option"), [("y\r", "once"), (" no \n", "no")])
async def test_a_key_or_a_word_with_enter_is_the_same_answer(
    terminal: Terminal, typed: str, option: str
) -> None:
    task = asking(terminal)
    await terminal.asked()
    terminal.type(typed)
    assert await outcome(task) == option


async def test_any_other_key_asks_again_and_enter_does_nothing(terminal: Terminal) -> None:
    task = asking(terminal)
    await terminal.asked()
    terminal.type("\r")
    for typed in ("x", "9", "\x1b[A", "yy"):
        terminal.type(typed)
        await terminal.asked()
    terminal.type("n")
    assert await outcome(task) == "no"
    assert terminal.shown.count("Press y, a, n or a number.") == 4


@pytest.mark.parametrize("typed", ["y", "y\n", "yes, and then"])
async def test_what_was_typed_before_the_question_is_no_answer(terminal: Terminal, typed: str) -> None:
    terminal.type(typed)
    task = asking(terminal)
    await terminal.asked()
    terminal.type("n")
    assert await outcome(task) == "no"


async def test_keys_of_a_person_who_is_still_typing_are_no_answer(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permission_prompt, "QUIET_SECONDS", 60.0)
    task = asking(terminal)
    await terminal.read_all("ye")
    assert not terminal.shown
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await outcome(task)
    assert not terminal.shown


async def test_more_options_than_keys_are_answered_with_a_line(terminal: Terminal) -> None:
    many = tuple(PermissionOption(option_id=f"o{n}", name=f"Way {n}", kind="allow_always") for n in range(12))
    task = asking(terminal, msgspec.structs.replace(permission(), options=many))
    await terminal.asked()
    terminal.type("12\n")
    assert await outcome(task) == "o11"


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


async def test_the_terminal_is_as_before_after_a_question(terminal: Terminal) -> None:
    def modes() -> int:
        return int(termios.tcgetattr(terminal.device)[3]) & (termios.ECHO | termios.ICANON)

    with echo(terminal.device, shown=False):
        before = modes()
        task = asking(terminal)
        await terminal.asked()
        assert modes() == 0
        terminal.type("y")
        assert await outcome(task) == "once"
        assert modes() == before


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
