"""The welcome of a chat, the list of sessions, and the pictures made from them."""

import importlib.util
import io
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.domain.turns import TurnState
from portico.doors.terminal.render.banner import Welcome, print_welcome
from portico.doors.terminal.render.session_table import plain_sessions, print_sessions, session_row

NOW = 1_800_000_000_000
MINUTE = 60_000
SESSIONS = [
    SessionSummary(
        session_id=SessionId("01hzq3x8k4mz7w2abcde"),
        workspace="/home/me/code/app",
        agent="porter",
        title="Make the retry delay configurable and run the tests",
        state=TurnState.COMPLETED,
        updated_at=NOW - 5 * MINUTE,
    ),
    SessionSummary(
        session_id=SessionId("01hzq3x8k4mz7w2abcdf"),
        workspace="/srv/other",
        agent="claude",
        title="漢字 \x1b[31mred",
        state=TurnState.INTERRUPTED,
        updated_at=NOW - 200 * MINUTE,
    ),
]


class FakeTerminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "90")
    return FakeTerminal()


def words(output: io.StringIO) -> str:
    import re

    lines = re.sub(r"\x1b\[[0-9;]*m", "", output.getvalue()).splitlines()
    return "\n".join(line.rstrip() for line in lines)


def test_the_welcome_shows_the_porch_who_is_here_and_three_hints(terminal: FakeTerminal) -> None:
    welcome = Welcome(version="0.1.0", agent="porter", workspace="/home/me/code/app", home="/home/me")
    print_welcome(welcome, terminal, term="xterm")
    assert words(terminal).splitlines() == [
        "",
        "    ▄█▄",
        " ▄███████▄   Portico 0.1.0",
        "  █ █ █ █    porter in ~/code/app",
        "  █ █ █ █    / commands   @ files   Ctrl-D exit",
        " ▀▀▀▀▀▀▀▀▀",
    ]


def test_a_narrow_terminal_gets_the_words_without_the_porch(
    terminal: FakeTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    print_welcome(Welcome(version="1", agent="porter", workspace="/a"), terminal, term="xterm")
    assert "█" not in terminal.getvalue()
    assert "porter in /a" in words(terminal)


def test_a_session_that_goes_on_is_named() -> None:
    output = io.StringIO()
    welcome = Welcome(version="1", agent="porter", workspace="/a", session="Fix \x1b[2Jthe tests")
    print_welcome(welcome, output, term="xterm")
    assert output.getvalue() == (
        "Portico 1: porter in /a\ncontinuing Fix the tests\n/ commands, @ files, Ctrl-D exit\n"
    )


def test_the_list_of_sessions_never_cuts_an_id(terminal: FakeTerminal) -> None:
    print_sessions(SESSIONS, now_ms=NOW, show_workspace=True, home="/home/me", output=terminal)
    assert words(terminal).splitlines() == [
        "session               state        agent   age  title                           workspace",
        "01hzq3x8k4mz7w2abcde  done         porter   5m  Make the retry delay configur…  ~/code/app",
        "01hzq3x8k4mz7w2abcdf  interrupted  claude   3h  漢字 red                        /srv/other",
    ]


def test_a_narrow_list_puts_each_session_on_three_short_lines(
    terminal: FakeTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "44")
    print_sessions(SESSIONS[:1], now_ms=NOW, output=terminal)
    assert words(terminal).splitlines() == [
        "Make the retry delay configurable and run t…",
        "  01hzq3x8k4mz7w2abcde  done",
        "  porter  5m",
    ]


def test_a_pipe_gets_columns_without_colour() -> None:
    rows = [session_row(summary, now_ms=NOW) for summary in SESSIONS]
    first, second = plain_sessions(rows, show_workspace=True).splitlines()
    assert first.startswith("01hzq3x8k4mz7w2abcde  done         porter  5m  Make the retry delay")
    assert first.endswith("run the tests  /home/me/code/app")
    assert second == f"01hzq3x8k4mz7w2abcdf  interrupted  claude  3h  漢字 red{' ' * 45}/srv/other"


@pytest.fixture
def terminal_picture() -> ModuleType:
    path = Path(__file__).parents[3] / "scripts" / "terminal_picture.py"
    spec = importlib.util.spec_from_file_location("terminal_picture", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_picture_is_an_svg_with_every_word_and_nothing_from_elsewhere(terminal_picture: ModuleType) -> None:
    svg = terminal_picture.picture(
        "\x1b[1;32mgreen\x1b[0m <b> & 漢字\n█▌ plain\n", columns=20, title="portico"
    )
    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == ["portico", "green", "<b>", "&", "漢字", "plain"]
    assert svg.count("http") == 1
    shapes = list(root.iter("{http://www.w3.org/2000/svg}rect"))
    assert len(shapes) == 3
