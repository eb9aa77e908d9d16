"""A client that disconnects while an agent waits for a permission: nothing is granted, at any moment.

The agent makes a file if it is allowed to; so a grant that was not given would be seen on the disk.
"""

import json
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from portico.domain.events import PermissionResolved
from portico.domain.turns import TurnState
from tests.support.editor import Editor
from tests.support.processes import survivors
from tests.support.program import PROGRAM, Portico
from tests.support.stream import Json
from tests.support.terminal import Terminal
from tests.support.waiting import wait_for_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pseudo-terminals are POSIX")

ASKING: list[Json] = [
    {"touch": "asking"},
    {
        "permission": {
            "title": "Go on",
            "kind": "execute",
            "allowed": [{"touch": "granted"}],
            "rejected": [{"touch": "refused"}],
        }
    },
]
YES = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}

Ask = Callable[[Editor], None]


def leave_unread(editor: Editor) -> None:
    """The question is written, and not read."""
    wait_for_file(editor.portico.workspace / "asking")


def read(editor: Editor) -> Json:
    while (message := editor.receive()).get("method") != "session/request_permission":
        pass
    return message


def read_only(editor: Editor) -> None:
    read(editor)


def answer_in_part(editor: Editor) -> None:
    """A yes but for its last few letters."""
    write(editor, answer_to(read(editor))[:-4])


def answer_without_end(editor: Editor) -> None:
    """A yes but for the end of its line."""
    write(editor, answer_to(read(editor)))


def answer_another(editor: Editor) -> None:
    """A yes to a question that was never asked."""
    write(editor, answer_to({**read(editor), "id": 1}) + b"\n")


def answer_to(question: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": YES}).encode()


def write(editor: Editor, data: bytes) -> None:
    assert editor.running.process.stdin is not None
    editor.running.process.stdin.write(data)


MOMENTS: list[Ask] = [leave_unread, read_only, answer_in_part, answer_without_end, answer_another]
WAYS = [None, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name if way else "hangs up")
@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__)
def test_an_editor_that_is_lost_grants_nothing(
    portico: Portico, moment: Ask, way: signal.Signals | None
) -> None:
    editor = Editor(portico, "--agent-command", portico.agent)
    editor.prompt(editor.open_session(), json.dumps(ASKING))
    moment(editor)
    if way is None:
        assert editor.hang_up().code == 0
    else:
        editor.running.signal(way)
        editor.running.process.wait(30)
    assert survivors(portico.mark) == []
    assert not (portico.workspace / "granted").exists()


def test_an_editor_that_stays_and_says_yes_grants(portico: Portico) -> None:
    editor = Editor(portico, "--agent-command", portico.agent)
    prompt = editor.prompt(editor.open_session(), json.dumps(ASKING))
    write(editor, answer_to(read(editor)) + b"\n")
    editor.answer_to(prompt)
    assert (portico.workspace / "granted").exists()
    editor.hang_up()


class TestATerminal:
    """`portico exec` with a person in front of it who was asked."""

    @pytest.fixture
    def terminal(self, portico: Portico) -> Iterator[Terminal]:
        words = ("exec", "--agent-command", portico.agent, json.dumps(ASKING))
        environ = portico.environ({"TERM": "xterm-256color"})
        terminal = Terminal((str(PROGRAM), *words), cwd=portico.workspace, environ=environ)
        yield terminal
        terminal.close()

    @pytest.mark.parametrize("typed", ["", "x"], ids=["nothing typed", "a key that is no answer"])
    @pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
    async def test_that_is_lost_grants_nothing(
        self, portico: Portico, terminal: Terminal, way: signal.Signals, typed: str
    ) -> None:
        terminal.until("y/a/n")
        terminal.press(typed)
        terminal.process.send_signal(way)
        terminal.end()
        assert survivors(portico.mark) == []
        assert not (portico.workspace / "granted").exists()
        assert all(one.outcome != "allowed" for one in await resolutions(portico))

    async def test_whose_host_was_killed_leaves_a_turn_that_was_interrupted(
        self, portico: Portico, terminal: Terminal
    ) -> None:
        terminal.until("y/a/n")
        terminal.process.kill()
        terminal.end()
        assert await resolutions(portico) == []
        async with portico.store() as store:
            (summary,) = await store.summaries()
        assert summary.state is TurnState.AWAITING
        (listed,) = portico.run("sessions", "list", "--api").api["sessions"]
        assert listed["state"] == "interrupted"


async def resolutions(portico: Portico) -> list[PermissionResolved]:
    async with portico.store() as store:
        (summary,) = await store.summaries()
    events = await portico.log(summary.session_id)
    return [event.payload for event in events if isinstance(event.payload, PermissionResolved)]
