"""The input line of a chat: keys, lines, completion, history, and what a pipe gets instead."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from portico.domain.catalog import PromptBlank
from portico.domain.events import CommandsUpdated, StateChanged, UsageUpdated
from portico.domain.turns import TurnState
from portico.domain.values import AgentCommand
from portico.doors.terminal.input.chat_input import PlainChatInput
from portico.doors.terminal.input.chat_line import ChatLine
from portico.doors.terminal.input.chat_status import ChatStatus
from portico.doors.terminal.input.completion import ChatCompleter, is_completable
from portico.doors.terminal.input.editable_field_input import EditableFieldInput
from portico.doors.terminal.input.line_reader import LineReader
from portico.doors.terminal.input.prompt_blanks import ChatPrompt
from portico.doors.terminal.input.workspace_files import WorkspaceFiles
from tests.doors.terminal.support import make_event, started

DEADLINE = 10
ALT_ENTER = "\x1b\r"
CTRL_C = "\x03"
CTRL_D = "\x04"
UP = "\x1b[A"
PASTE = "\x1b[200~{}\x1b[201~"

COMMANDS = (
    AgentCommand(name="help", description="What Porter can do"),
    AgentCommand(name="search", description="Find text", hint="TEXT"),
    AgentCommand(name="research", description="Look \x1b[31mfurther"),
)
PROMPTS = (
    ChatPrompt("team/tidy", "Make it \x1b[31mneat", "Tidy up {{ input }}.", (PromptBlank(name="input"),)),
    ChatPrompt("search", "Hidden by a command", "Look for it"),
    ChatPrompt("bye", "", "Say bye"),
    ChatPrompt("same", "", "/same"),
)


@pytest.fixture
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keyboard:
        yield keyboard


@pytest.fixture
def status(tmp_path: Path) -> ChatStatus:
    return ChatStatus(agent="porter", session_id="s1", workspace=str(tmp_path), commands=COMMANDS)


@pytest.fixture
async def line(keyboard: PipeInput, status: ChatStatus, tmp_path: Path) -> ChatLine:
    return ChatLine(
        lambda: status,
        lambda: PROMPTS,
        history=tmp_path / "state" / "history",
        terminal_input=keyboard,
        terminal_output=DummyOutput(),
    )


async def typed(line: ChatLine, keyboard: PipeInput, keys: str) -> str | None:
    keyboard.send_text(keys)
    async with asyncio.timeout(DEADLINE):
        return await line.read()


@pytest.mark.parametrize(
    ("keys", "prompt"),
    [
        ("hello\r", "hello"),
        (f"one{ALT_ENTER}two\r", "one\ntwo"),
        ("one\\\rtwo\r", "one\ntwo"),
        (PASTE.format("one\ntwo\n\nthree") + "\r", "one\ntwo\n\nthree"),
        (f"wrong{CTRL_C}right\r", "right"),
        ("   \r\rword\r", "   word"),
        (f"{CTRL_C}still here\r", "still here"),
        (CTRL_D, None),
        (f"{CTRL_C}{CTRL_C}", None),
        (f"half{CTRL_C}{CTRL_C}{CTRL_C}", None),
    ],
)
async def test_keys_do_what_the_banner_says(
    line: ChatLine, keyboard: PipeInput, keys: str, prompt: str | None
) -> None:
    read = await typed(line, keyboard, keys)
    assert (read.strip() if read else read) == (prompt.strip() if prompt else prompt)


@pytest.mark.parametrize(
    ("pressed", "text"),
    [
        (b"caf\xe9\r", "caf\ufffd"),
        (b"\x1b[200~caf\xe9\x1b[201~\r", "caf\ufffd"),
        ("café 日本\r".encode(), "café 日本"),
        (b"a \x1b[31mred\x1b[0m word\r", "a red word"),
    ],
)
async def test_bytes_that_are_no_text_and_pasted_colours_do_no_harm(
    line: ChatLine, keyboard: PipeInput, pressed: bytes, text: str
) -> None:
    keyboard.send_bytes(pressed)
    async with asyncio.timeout(DEADLINE):
        assert await line.read() == text
    entry = EditableFieldInput(keyboard, DummyOutput())
    keyboard.send_bytes(pressed)
    async with asyncio.timeout(DEADLINE):
        assert await entry.read("Name: ") == text


@pytest.mark.parametrize(
    ("keys", "prompt"),
    [
        ("/team/tidy\r\r\rthe deck\r", "Tidy up the deck."),
        ("/team/tidy\r\x7f\r", "Tidy up ."),
        ("/bye\r now\r", "Say bye now"),
        ("/bye now\r", "/bye now"),
        ("/search\r", "/search"),
        ("/same\r", "/same"),
        ("/team\r", "/team"),
    ],
)
async def test_a_kept_prompt_that_is_named_in_full_is_taken_before_it_is_sent(
    line: ChatLine, keyboard: PipeInput, keys: str, prompt: str
) -> None:
    assert await typed(line, keyboard, keys) == prompt


async def test_a_slow_second_ctrl_c_does_not_leave(
    keyboard: PipeInput, status: ChatStatus, tmp_path: Path
) -> None:
    times = iter(range(0, 100_000, 10))
    line = ChatLine(
        lambda: status,
        lambda: PROMPTS,
        history=tmp_path / "history",
        terminal_input=keyboard,
        terminal_output=DummyOutput(),
        clock=lambda: float(next(times)),
    )
    assert await typed(line, keyboard, f"{CTRL_C}{CTRL_C}stayed\r") == "stayed"


async def test_prompts_are_remembered_in_a_file_that_only_its_owner_can_read(
    line: ChatLine, keyboard: PipeInput, status: ChatStatus, tmp_path: Path
) -> None:
    path = tmp_path / "state" / "history"
    assert await typed(line, keyboard, "remember me\r") == "remember me"
    assert path.stat().st_mode & 0o777 == 0o600
    assert "remember me" in path.read_text()
    another = ChatLine(
        lambda: status, lambda: PROMPTS, history=path, terminal_input=keyboard, terminal_output=DummyOutput()
    )
    assert await typed(another, keyboard, f"{UP}\r") == "remember me"


async def test_where_no_history_can_be_kept_the_chat_goes_on(
    keyboard: PipeInput, status: ChatStatus, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    line = ChatLine(
        lambda: status,
        lambda: PROMPTS,
        history=tmp_path / "file" / "history",
        terminal_input=keyboard,
        terminal_output=DummyOutput(),
    )
    assert await typed(line, keyboard, "hello\r") == "hello"


def completions(status: ChatStatus, words: str) -> list[tuple[str, str, str]]:
    completer = ChatCompleter(lambda: status, WorkspaceFiles(Path(status.workspace)), lambda: PROMPTS[:1])
    found = completer.get_completions(Document(words), CompleteEvent())
    return [(one.text, one.display_text, one.display_meta_text) for one in found]


def test_a_slash_offers_the_agents_commands_with_what_they_do(status: ChatStatus) -> None:
    assert completions(status, "/sea") == [("/search ", "/search", "Find text  TEXT")]
    assert completions(status, "/s")[0] == completions(status, "/sea")[0]
    assert completions(status, "/esea") == [("/research ", "/research", "Look further")]
    assert len(completions(status, "/")) == 3 + 14 + 1


def test_a_slash_offers_the_chats_own_commands_behind_them(status: ChatStatus) -> None:
    assert [name for _, name, _ in completions(status, "/")][-15:-1] == [
        "/model",
        "/agent",
        "/new",
        "/clear",
        "/sessions",
        "/resume",
        "/compact",
        "/options",
        "/components",
        "/todos",
        "/proposal",
        "/tour",
        "/handoff",
        "/exit",
    ]
    assert completions(status, "/op") == [
        ("/options ", "/options", "show or change the agent's options  NAME VALUE")
    ]


def test_a_slash_offers_kept_prompts_by_any_part_of_their_names(status: ChatStatus) -> None:
    offered = [("Tidy up {{ input }}.", "/team/tidy", "prompt  Make it neat")]
    assert completions(status, "/tid") == completions(status, "/team/t") == offered


def test_commands_that_the_agent_changes_are_offered_at_once(status: ChatStatus) -> None:
    changed = CommandsUpdated(commands=(AgentCommand(name="new", description="New"),))
    offered = completions(status.after(make_event(changed)), "/")
    assert offered[0] == ("/new ", "/new", "New")
    assert [name for _, name, _ in offered].count("/new") == 1


def test_an_at_sign_offers_files_by_a_few_of_their_letters(status: ChatStatus) -> None:
    folder = Path(status.workspace)
    (folder / "src").mkdir()
    for name in ("src/settings.py", "src/retry.py", "README.md", "to do.md"):
        (folder / name).write_text("")
    assert completions(status, "look at @retry") == [("@src/retry.py ", "src/retry.py", "")]
    assert completions(status, "look at @srcset")[0][0] == "@src/settings.py "
    assert completions(status, "look at @todo")[0][0] == '@"to do.md" '


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("/", True),
        ("/he", True),
        ("/help me", False),
        ("a /b", False),
        ("@", True),
        ("see @src/a", True),
        ("me@example.org", False),
        ("plain words", False),
    ],
)
def test_only_a_command_or_a_file_opens_the_menu(words: str, expected: bool) -> None:
    assert is_completable(words) is expected


def test_the_toolbar_tells_what_fits(status: ChatStatus) -> None:
    now = status.after(make_event(started("/home/me/code/app")))
    for payload in (
        UsageUpdated(used=24_000, size=200_000, cost=0.04),
        StateChanged(state=TurnState.INTERRUPTED, previous=TurnState.RUNNING),
    ):
        now = now.after(make_event(payload))
    at_home = type(now)(
        agent=now.agent,
        session_id=now.session_id,
        workspace=now.workspace,
        home="/home/me",
        state=now.state,
        usage=now.usage,
    )
    assert at_home.toolbar(80) == "porter · ~/code/app · interrupted · 12% of context · $0.04 · s1"
    assert at_home.toolbar(24) == "porter · ~/code/app · s1"
    assert at_home.toolbar(8) == "porter"


async def test_a_pipe_brings_one_prompt_a_line_and_a_backslash_joins_two() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"first\n\n  \nsecond\\\nline\nlast")
    os.close(writing)
    source = PlainChatInput(LineReader(reading))
    read = [await asyncio.wait_for(source.read(), DEADLINE) for _ in range(4)]
    os.close(reading)
    assert read == ["first", "second\nline", "last", None]
