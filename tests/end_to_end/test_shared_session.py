"""One session shared by a program over Connect, a script and a person at a terminal, through the server."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portico.app.host import open_host
from portico.client.remote_session import RemoteSession
from portico.client.server_calls import ServerAddress, ServerCalls
from portico.client.session import Session
from portico.domain.errors import ServerLost
from portico.domain.events import (
    ConfigUpdated,
    PermissionResolved,
    PromptSubmitted,
    SessionStarted,
    TurnEnded,
)
from portico.domain.ids import SessionId
from portico.domain.turns import TurnState
from portico.sessions.requests.approver import DENIED_UNANSWERED, DENIED_UNATTENDED
from portico.sessions.requests.permissions import PermissionReply
from tests.support.program import PROGRAM, Portico, Ran, Running, agent_command
from tests.support.serving import Server, Streamed, detach
from tests.support.stream import Json, stream_validator
from tests.support.terminal import Terminal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

CTRL_C, CTRL_D = "\x03", "\x04"
KEYS = "y/a/n"
NOWHERE = "http://127.0.0.1:9"


class Shared:
    """A session that the server has open, as a program over Connect uses it."""

    def __init__(self, portico: Portico, server: Server) -> None:
        self.portico = portico
        self.server = server
        started = server.ask("StartSession", {"agent": "scripted", "workspace": str(portico.workspace)})
        self.id = str(started["session"]["summary"]["sessionId"])

    def invoke(self, text: str) -> Streamed:
        """Begin a turn over Connect; its events."""
        turn = self.server.stream("Invoke", {"sessionId": self.id, "text": text})
        turn.until("promptSubmitted")
        return turn

    def said(self, text: str) -> None:
        self.invoke(text).end()

    def decide(self, option: str) -> None:
        """Answer the one permission that waits, over Connect."""
        detail = self.server.ask("GetSession", {"sessionId": self.id})["session"]
        (request,) = detail["permissions"]
        decision = {"requestId": request["requestId"], "optionId": option}
        self.server.ask(
            "SubmitClientEvent", {"sessionId": self.id, "permissionDecisions": {"decisions": [decision]}}
        )

    def exec(self, text: str, *flags: str, **options: object) -> Running:
        words = ("exec", "--json-stream", "--session", self.id, *flags, text)
        return self.portico.start(*words, **options)  # type: ignore[arg-type]

    def touch(self, name: str) -> None:
        (self.portico.workspace / name).touch()


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    words = shlex.split(portico.agent)
    portico.settings({"agents": {"scripted": {"command": words[0], "args": words[1:]}}})
    found = Server(portico)
    detach(portico)
    yield found
    found.end()


@pytest.fixture
def shared(portico: Portico, server: Server) -> Shared:
    return Shared(portico, server)


Sit = Callable[..., Terminal]


@pytest.fixture
def sit(portico: Portico) -> Iterator[Sit]:
    """Sit down at a terminal and type a command."""
    terminals: list[Terminal] = []

    def type_command(*words: str, term: str = "xterm-256color") -> Terminal:
        environ = portico.environ({"TERM": term})
        terminals.append(Terminal((str(PROGRAM), *words), cwd=portico.workspace, environ=environ))
        return terminals[-1]

    yield type_command
    for terminal in terminals:
        terminal.close()


def lines(ran: Ran) -> list[Json]:
    """A whole stream of a turn that was sent to the server: introduced, then without a gap, and closed."""
    found: list[Json] = [json.loads(line) for line in ran.out.splitlines()]
    for line in found:
        assert [error.message for error in stream_validator().iter_errors(line)] == []
    types = [line["type"] for line in found]
    assert types[:2] == ["session_started", "prompt_submitted"]
    assert types[-2:] == ["result", "done"]
    assert types.count("prompt_submitted") == types.count("result") == types.count("done") == 1
    first = found[1]["seq"]
    assert found[0]["seq"] < first
    assert [line["seq"] for line in found[1:]] == list(range(first, first + len(found) - 1))
    assert found[-1]["payload"]["exitCode"] == ran.code
    return found


def answer(ran: Ran) -> str:
    return str(lines(ran)[-2]["payload"]["text"])


@pytest.mark.parametrize(
    "environ", [{}, {"HTTP_PROXY": NOWHERE, "http_proxy": NOWHERE, "ALL_PROXY": NOWHERE}]
)
async def test_a_script_takes_its_turn_in_a_session_that_the_server_has_open(
    portico: Portico, shared: Shared, environ: dict[str, str]
) -> None:
    shared.said("say one")
    ran = shared.exec("say two", environ=environ).end()
    assert (ran.code, ran.err, answer(ran)) == (0, "", "two")
    shared.said("say three")
    log = await portico.log(shared.id)
    prompts = [event.payload.text for event in log if isinstance(event.payload, PromptSubmitted)]
    assert prompts == ["say one", "say two", "say three"]
    assert sum(isinstance(event.payload, SessionStarted) for event in log) == 1, "it was never closed"


def test_what_is_printed_is_what_the_log_has(portico: Portico, shared: Shared) -> None:
    spoken = portico.run("exec", "--continue", "say to a person")
    assert (spoken.code, spoken.text.strip()) == (0, "to a person")
    told = portico.run("exec", "--api", "--continue", "say to a program").api
    assert (told["status"], told["sessionId"], told["text"]) == ("completed", shared.id, "to a program")


async def test_what_goes_along_with_a_prompt_comes_along(
    portico: Portico, shared: Shared, tmp_path: Path
) -> None:
    (portico.workspace / "near.txt").write_text("near")
    (portico.workspace / "seen.txt").write_text("seen")
    (tmp_path / "far.txt").write_text("far")
    (tmp_path / "far.bin").write_bytes(b"\0far")
    attached = [f"--attach={path}" for path in ("near.txt", tmp_path / "far.txt", tmp_path / "far.bin")]
    assert shared.exec("look at @seen.txt", *attached).end().code == 0
    (prompt,) = [
        event.payload for event in await portico.log(shared.id) if isinstance(event.payload, PromptSubmitted)
    ]
    blocks = [json.loads(bytes(block)) for block in prompt.blocks]
    assert [block["type"] for block in blocks] == ["resource", "resource", "resource", "resource_link"]
    assert [block["resource"].get("text") for block in blocks[:3]] == ["near", "far", None]
    assert blocks[3]["uri"] == (portico.workspace / "seen.txt").as_uri()


def modes(portico: Portico, server: Server) -> Shared:
    """A session whose agent can be set to one of two modes."""
    words = shlex.split(agent_command({"modes": ["ask", "code"]}))
    portico.settings({"agents": {"scripted": {"command": words[0], "args": words[1:]}}})
    return Shared(portico, server)


async def mode(shared: Shared) -> object:
    log = await shared.portico.log(shared.id)
    newest = [event.payload for event in log if isinstance(event.payload, ConfigUpdated)][-1]
    return newest.options[0].value


async def test_a_script_sets_options_where_the_agent_is(portico: Portico, server: Server) -> None:
    shared = modes(portico, server)
    assert shared.exec("say set", "--option", "mode=code").end().code == 0
    assert await mode(shared) == "code"
    ran = shared.exec("say set", "--option", "mode=none").end()
    assert (ran.code, ran.out) == (5, b"")


async def test_a_chat_sets_options_where_the_agent_is(portico: Portico, server: Server, sit: Sit) -> None:
    shared = modes(portico, server)
    terminal = sit("chat", "--session", shared.id)
    terminal.until("❯")
    terminal.press("/options mode code\r")
    terminal.until("(or ask)")
    terminal.until("❯")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert await mode(shared) == "code"


def test_a_permission_that_nobody_here_can_give_is_left_to_another_door(shared: Shared) -> None:
    running = shared.exec("permission")
    running.until("permission_requested")
    shared.decide("allow_once")
    ran = running.end()
    assert (ran.code, answer(ran)) == (0, "allowed")
    (resolved,) = [line["payload"] for line in lines(ran) if line["type"] == "permission_resolved"]
    assert (resolved["by"], resolved["outcome"]) == ("person", "allowed")


@pytest.mark.parametrize(("decision", "told"), [(DENIED_UNATTENDED, 0), (DENIED_UNANSWERED, 1)])
async def test_only_the_word_of_a_person_goes_to_the_server(
    portico: Portico, shared: Shared, decision: PermissionReply, told: int
) -> None:
    asked = []

    async def find() -> ServerAddress:
        asked.append(decision)
        raise ServerLost("there is none")

    async with open_host(portico.environ()) as host:
        session = await host.service.show(SessionId(shared.id))
        served = Session(ServerCalls(find), session)
        remote = RemoteSession(host.service, host.ports, served, only_own_turns=True)
        await remote.decide("p1", decision)
    assert len(asked) == told


def test_a_script_is_told_when_the_server_cannot_write_how_its_turn_ended(
    portico: Portico, shared: Shared
) -> None:
    log = portico.state / "portico.db"
    running = shared.exec("say busy\nwait go\nsay done")
    running.until("text_delta")
    aside = log.rename(log.with_name("aside.db"))
    shared.touch("go")
    ran = running.end()
    aside.rename(log)
    assert ran.code == 2
    assert "removed or replaced" in ran.complaint[0]


def test_a_turn_that_is_under_way_is_told_with_the_ways_on(portico: Portico, shared: Shared) -> None:
    turn = shared.invoke("say busy\nwait go")
    ran = shared.exec("say second").end()
    assert (ran.code, ran.out) == (1, b"")
    assert "in the middle of a turn" in ran.complaint[0]
    for way in ("--wait", "stop it", f"portico sessions fork {shared.id}"):
        assert way in ran.complaint[1]
    shared.touch("go")
    turn.end()


@pytest.mark.parametrize("ending", ["say done", "error -32603 no"])
def test_a_script_that_waits_gets_its_turn_however_the_one_before_ends(shared: Shared, ending: str) -> None:
    turn = shared.invoke(f"say busy\nwait go\n{ending}")
    running = shared.exec("say second", "--wait")
    turn.until("busy")
    shared.touch("go")
    turn.end()
    assert answer(running.end()) == "second"


@pytest.mark.skipif(sys.platform != "linux", reason="how a process takes signals is told by Linux only")
async def test_an_interrupted_wait_leaves_the_turn_of_others_alone(portico: Portico, shared: Shared) -> None:
    turn = shared.invoke("say busy\nwait go\nsay done")
    running = shared.exec("say second", "--wait")
    wait_until(lambda: _attends_signals(running), "the wait")
    running.signal(signal.SIGINT)
    ran = running.end()
    assert (ran.code, ran.out) == (1, b"")
    shared.touch("go")
    turn.until("done")
    turn.end()
    ends = [event.payload for event in await portico.log(shared.id) if isinstance(event.payload, TurnEnded)]
    assert [ended.state for ended in ends] == [TurnState.COMPLETED]


def _attends_signals(running: Running) -> bool:
    """Whether the program has a handler for SIGINT that is not Python's own: it is waiting in a turn."""
    status = Path(f"/proc/{running.pid}/status").read_text()
    (caught,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")]
    return bool(int(caught, 16) & 1 << (signal.SIGTERM - 1))


async def test_an_interrupt_stops_the_turn_in_the_server(portico: Portico, shared: Shared) -> None:
    running = shared.exec("say working\nhang")
    running.until("text_delta")
    running.signal(signal.SIGINT)
    ran = running.end()
    assert ran.code == 1
    assert lines(ran)[-2]["payload"]["state"] == "canceled"
    shared.said("say still there")


def test_a_turn_that_takes_too_long_is_stopped(shared: Shared) -> None:
    ran = shared.exec("say working\nhang", "--timeout", "0.3").end()
    assert ran.code == 1
    assert lines(ran)[-2]["payload"]["state"] == "canceled"


@pytest.mark.parametrize("text", ["say working\nhang", "permission"])
def test_a_server_that_is_killed_ends_the_turn_and_the_script_says_so(
    portico: Portico, shared: Shared, text: str
) -> None:
    running = shared.exec(text)
    running.until("text_delta", "permission_requested")
    shared.server.process.kill()
    ran = running.end()
    assert ran.code == 2
    assert lines(ran)[-2]["payload"]["state"] == "interrupted"
    assert "ended unexpectedly" in ran.complaint[0]
    assert f"portico chat --session {shared.id}" in ran.complaint[1]


def test_a_server_that_is_stopped_ends_the_turn_and_the_program_is_told(
    portico: Portico, shared: Shared
) -> None:
    running = portico.start("exec", "--api", "--session", shared.id, "touch begun\nhang")
    wait_until((portico.workspace / "begun").exists, "the turn")
    portico.run("stop")
    told = running.end()
    assert (told.code, told.api["diagnostics"]["exit_code"]) == (2, 2)
    assert told.api["diagnostics"]["error_code"] == "AGENT_CRASHED"
    assert "ended unexpectedly" in told.api["error"]


def test_a_session_that_a_chat_has_open_stays_with_it(portico: Portico, server: Server) -> None:
    first = portico.start_exec("say busy\nwait go", "--agent", "scripted")
    session_id = first.until("session_started")["sessionId"]
    ran = portico.run("exec", "--session", session_id, "say second")
    assert (ran.code, ran.out) == (1, b"")
    assert "open in another Portico process" in ran.complaint[0]
    assert "portico serve" in ran.complaint[1]
    (portico.workspace / "go").touch()
    assert first.end().code == 0


@pytest.mark.parametrize("flag", [("--allow", "edit"), ("--deny", "edit"), ("--agent", "porter")])
def test_what_only_the_server_can_decide_is_refused(
    portico: Portico, shared: Shared, flag: tuple[str, str]
) -> None:
    ran = shared.exec("say second", *flag).end()
    assert (ran.code, ran.out) == (5, b"")
    assert flag[0] in ran.complaint[0]
    assert "portico stop" in ran.complaint[1]


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
async def test_a_chat_sees_the_turn_that_is_under_way_and_answers_for_it(
    portico: Portico, shared: Shared, sit: Sit, term: str
) -> None:
    turn = shared.invoke("permission")
    turn.until("permissionRequested")
    terminal = sit("chat", "--session", shared.id, term=term)
    terminal.until("Edit notes.txt")
    terminal.until(KEYS)
    terminal.press("y")
    terminal.until("allowed")
    turn.end()
    terminal.until("❯" if term != "dumb" else "1 tool")
    terminal.press("say from the terminal\r")
    terminal.until("from the terminal")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert terminal.is_as_before()
    log = await portico.log(shared.id)
    (resolved,) = [event.payload for event in log if isinstance(event.payload, PermissionResolved)]
    assert (resolved.by, resolved.option_id) == ("person", "allow_once")
    assert [event.payload.text for event in log if isinstance(event.payload, PromptSubmitted)] == [
        "permission",
        "say from the terminal",
    ]


def test_a_question_that_another_door_answers_disappears_from_the_terminal(shared: Shared, sit: Sit) -> None:
    terminal = sit("chat", "--session", shared.id)
    terminal.until("❯")
    terminal.press("permission\r")
    terminal.until(KEYS)
    shared.decide("reject_once")
    terminal.until("rejected")
    terminal.until("❯")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert terminal.is_as_before()


async def test_what_others_say_is_shown_and_what_was_typed_stays(
    portico: Portico, shared: Shared, sit: Sit
) -> None:
    terminal = sit("chat", "--session", shared.id)
    terminal.until("❯")
    terminal.press("say half a ")
    terminal.until("half a")
    turn = shared.invoke("say hello from a page\nwait go\nsay , and good bye")
    terminal.until("hello from a page")
    shared.touch("go")
    turn.end()
    terminal.until("good bye")
    terminal.until("half a")
    terminal.press("prompt\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    log = await portico.log(shared.id)
    prompts = [event.payload.text for event in log if isinstance(event.payload, PromptSubmitted)]
    assert prompts[1:] == ["say half a prompt"]


def until_printed(running: Running, words: str) -> None:
    stdout = running.process.stdout
    assert stdout is not None
    while line := stdout.readline().decode():
        if words in line and "say" not in line:
            return
    raise AssertionError(f"it ended without {words!r}: {running.end().err}")


async def test_a_prompt_that_a_pipe_brings_in_pieces_stays_whole(portico: Portico, shared: Shared) -> None:
    chat = portico.start("chat", "--session", shared.id, stdin=subprocess.PIPE)
    stdin = chat.process.stdin
    assert stdin is not None
    stdin.write(b"say half a \\\n")
    until_printed(chat, "continuing")
    shared.said("say hello from a page")
    until_printed(chat, "hello from a page")
    stdin.write(b"prompt\n")
    assert chat.end().code == 0
    log = await portico.log(shared.id)
    prompts = [event.payload.text for event in log if isinstance(event.payload, PromptSubmitted)]
    assert prompts == ["say hello from a page", "say half a \nprompt"]


async def test_an_interrupt_at_the_terminal_stops_what_another_door_began(
    portico: Portico, shared: Shared, sit: Sit
) -> None:
    turn = shared.invoke("say working\nhang")
    terminal = sit("chat", "--session", shared.id)
    terminal.until("working")
    terminal.press(CTRL_C)
    terminal.until("stopped")
    terminal.until("❯")
    turn.end()
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    (ended,) = [
        event.payload for event in await portico.log(shared.id) if isinstance(event.payload, TurnEnded)
    ]
    assert ended.state is TurnState.CANCELED


def test_a_terminal_that_is_closed_leaves_the_turn_of_others_alone(shared: Shared, sit: Sit) -> None:
    turn = shared.invoke("say working\nwait go\nsay done")
    terminal = sit("chat", "--session", shared.id)
    terminal.until("working")
    terminal.process.send_signal(signal.SIGHUP)
    terminal.end()
    shared.touch("go")
    turn.until("done")
    turn.end()


async def test_a_chat_outlives_the_server(portico: Portico, shared: Shared, sit: Sit) -> None:
    terminal = sit("chat", "--session", shared.id)
    terminal.until("❯")
    terminal.press("say working\\\rhang\r")
    terminal.until("working")
    terminal.until("Ctrl-C to stop")
    shared.server.process.kill()
    terminal.until("ended unexpectedly")
    terminal.until("❯")
    terminal.press("say alone\r")
    terminal.until("the chat continues without it")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    log = await portico.log(shared.id)
    prompts = [event.payload.text for event in log if isinstance(event.payload, PromptSubmitted)]
    assert prompts == ["say working\nhang", "say alone"]
