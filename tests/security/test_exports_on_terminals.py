"""An export does nothing to the terminal that it is shown on, and a file gets every byte of it."""

import sys

import pytest

from tests.support.program import PROGRAM, Portico
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX terminal")

HOSTILE = "\x1b]0;owned\x07\x1b[2Jred\x9b31m \u202egnp"


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_an_export_on_a_terminal_has_no_escapes(portico: Portico, form: str) -> None:
    portico.exec([{"say": HOSTILE}])
    session_id = portico.run("sessions", "list", "--api").api["sessions"][0]["sessionId"]
    command = ("sessions", "export", "--format", form, session_id)
    exact = portico.run(*command).text
    assert ("\x1b" in exact) == (form == "markdown")
    assert "\x9b31m" in exact
    terminal = Terminal([PROGRAM, *command], cwd=portico.workspace, environ=portico.environ())
    assert terminal.end() == 0
    shown = terminal._seen.decode()
    assert "red" in shown
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown)
