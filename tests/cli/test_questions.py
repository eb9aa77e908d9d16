"""Questions of an agent: field by field at a terminal, declined without one."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator

import pytest

from portico.domain.events import Event, QuestionAnswered
from tests.support.program import PROGRAM, Portico
from tests.support.stream import Json
from tests.support.terminal import Terminal

at_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

CTRL_C, CTRL_Z, ESCAPE = "\x03", "\x1a", "\x1b"
FIELDS: Json = {
    "host": {"type": "string", "title": "Host", "default": "localhost"},
    "port": {"type": "integer", "title": "Port", "description": "Above 1023", "minimum": 1, "maximum": 65535},
    "scheme": {"type": "string", "title": "Scheme", "enum": ["http", "https"]},
    "parts": {"type": "array", "title": "Parts", "items": {"type": "string", "enum": ["web", "api", "db"]}},
    "loud": {"type": "boolean", "title": "Loud"},
}

Sit = Callable[..., Terminal]


def elicit(**question: object) -> str:
    return json.dumps([{"elicit": {"message": "Where shall it listen?", **question}}])


SERVER = elicit(fields=FIELDS, required=["port"])
LOGIN = elicit(fields={"user": {"type": "string"}, "word": {"type": "string", "format": "password"}})
PAGE = elicit(url="https://example.org/consent")


@pytest.fixture
def sit(portico: Portico) -> Iterator[Sit]:
    """Sit down at a terminal and type a command."""
    terminals: list[Terminal] = []

    def type_command(*words: str, term: str = "xterm-256color") -> Terminal:
        command = (str(PROGRAM), *words, "--agent-command", portico.agent)
        terminals.append(Terminal(command, cwd=portico.workspace, environ=portico.environ({"TERM": term})))
        return terminals[-1]

    yield type_command
    for terminal in terminals:
        terminal.close()


async def log(portico: Portico) -> list[Event]:
    (session,) = portico.run("sessions", "list", "--api").api["sessions"]
    return await portico.log(session["sessionId"])


async def answer(portico: Portico) -> QuestionAnswered:
    (found,) = [event.payload for event in await log(portico) if isinstance(event.payload, QuestionAnswered)]
    return found


def fill_in(terminal: Terminal, *answers: tuple[str, str]) -> None:
    for prompt, typed in answers:
        terminal.until(prompt)
        terminal.press(f"{typed}\r")


@at_a_terminal
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
async def test_a_person_fills_in_one_field_after_another(portico: Portico, sit: Sit, term: str) -> None:
    terminal = sit("exec", SERVER, term=term)
    terminal.until("Where shall it listen?")
    fill_in(
        terminal,
        ("Host (Enter: localhost, -: skip): ", ""),
        ("Port (1 to 65535): ", "eighty"),
        ("Port must be a number.", ""),
        ("Port is required.", "70000"),
        ("Port must be 1 to 65535.", "8080"),
        ("2  https", "2"),
        ("3  db", "1, 3"),
        ("Loud (y/n, Enter: skip): ", "y"),
    )
    terminal.until("elicitation accept")
    assert terminal.end() == 0
    assert terminal.is_as_before()
    found = await answer(portico)
    assert (found.action, found.by) == ("accept", "person")
    assert found.content == {
        "host": "localhost",
        "port": 8080,
        "scheme": "https",
        "parts": ("web", "db"),
        "loud": True,
    }


@at_a_terminal
async def test_what_need_not_be_answered_is_left_out(portico: Portico, sit: Sit) -> None:
    terminal = sit("exec", SERVER)
    fill_in(terminal, ("Host", "-"), ("Port", "80"), ("Scheme", ""), ("Parts", ""), ("Loud", ""))
    terminal.until('{"port":80}')
    assert terminal.end() == 0
    assert (await answer(portico)).content == {"port": 80}


@at_a_terminal
@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
async def test_a_secret_is_neither_shown_nor_kept(portico: Portico, sit: Sit, term: str) -> None:
    terminal = sit("exec", elicit(fields=json.loads(LOGIN)[0]["elicit"]["fields"], accepted=[]), term=term)
    fill_in(terminal, ("user", "ada"), ("word", "xyzzy-1234"))
    assert terminal.end() == 0
    assert "xyzzy" not in terminal.text
    found = await answer(portico)
    assert (found.content, found.withheld) == ({"user": "ada"}, ("word",))
    (session,) = portico.run("sessions", "list", "--api").api["sessions"]
    for words in (("show",), ("export",), ("export", "--format", "json")):
        ran = portico.run("sessions", words[0], session["sessionId"], *words[1:])
        assert "ada" in ran.text + ran.err
        assert "xyzzy" not in ran.text + ran.err


@at_a_terminal
@pytest.mark.parametrize(
    ("term", "key"), [("xterm-256color", ESCAPE), ("xterm-256color", CTRL_C), ("dumb", CTRL_C)]
)
async def test_escape_and_an_interrupt_decline_and_the_turn_goes_on(
    portico: Portico, sit: Sit, term: str, key: str
) -> None:
    terminal = sit("exec", SERVER, term=term)
    fill_in(terminal, ("Host", "here"))
    terminal.until("Port (")
    terminal.press(key)
    terminal.until("elicitation decline")
    assert terminal.end() == 0
    assert terminal.is_as_before()
    found = await answer(portico)
    assert (found.action, found.by, found.content) == ("decline", "person", {})


@at_a_terminal
async def test_a_page_is_shown_whole_and_opened_by_the_person(portico: Portico, sit: Sit) -> None:
    terminal = sit("exec", PAGE)
    terminal.until("https://example.org/consent")
    fill_in(terminal, ("press Enter", ""))
    terminal.until("elicitation accept")
    assert terminal.end() == 0
    assert (await answer(portico)).action == "accept"


@at_a_terminal
async def test_what_was_typed_before_the_question_is_no_answer(portico: Portico, sit: Sit) -> None:
    go = portico.workspace / "go"
    steps = [{"say": "thinking\n"}, {"wait_file": str(go)}, *json.loads(PAGE)]
    terminal = sit("exec", json.dumps(steps))
    terminal.until("thinking")
    terminal.press("\r\r")
    go.touch()
    terminal.until("press Enter")
    terminal.press("n\r")
    terminal.until("elicitation decline")
    assert terminal.end() == 0


@at_a_terminal
@pytest.mark.parametrize(
    ("term", "again", "kept"), [("xterm-256color", "Host: bo", "bob"), ("dumb", "fg", "b")]
)
async def test_a_question_is_left_for_the_shell_and_answered_later(
    portico: Portico, term: str, again: str, kept: str
) -> None:
    environ = portico.environ({"TERM": term, "PS1": "shell> "})
    terminal = Terminal(("/bin/sh", "-i"), cwd=portico.workspace, environ=environ)
    try:
        question = elicit(fields={"host": {"type": "string", "title": "Host"}}, required=["host"])
        command = [str(PROGRAM), "exec", "--agent-command", portico.agent, question]
        terminal.press(f"{shlex.join(command)}\r")
        terminal.until("Host: ")
        terminal.press(f"bo{CTRL_Z}")
        terminal.until("Stopped")
        terminal.until("shell> ")
        terminal.press("fg\r")
        terminal.until(again)
        terminal.press("b\r")
        terminal.until("elicitation accept")
        terminal.press("exit\r")
        terminal.end()
        assert (await answer(portico)).content == {"host": kept}
    finally:
        terminal.close()


@at_a_terminal
async def test_a_chat_asks_and_goes_on(portico: Portico, sit: Sit) -> None:
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press("question\r")
    fill_in(terminal, ("Host", ""), ("Port", "80"), ("scheme", "1"))
    terminal.until('{"host":"localhost","port":80,"scheme":"http"}')
    terminal.until("❯")
    terminal.press("say still here\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert (await answer(portico)).by == "person"


def test_where_nobody_is_the_agent_is_declined_and_the_exit_code_says_so(portico: Portico) -> None:
    ran = portico.exec(SERVER)
    assert (ran.code, ran.stream.answer) == (1, "elicitation decline {}")
    asked, answered = ran.stream.only("question_asked"), ran.stream.only("question_answered")
    assert [field["type"] for field in asked["fields"]] == [
        "string",
        "integer",
        "choice",
        "choices",
        "boolean",
    ]
    assert answered == {"requestId": asked["requestId"], "action": "decline", "by": "nobody"}


def test_a_person_reads_that_nobody_could_be_asked(portico: Portico) -> None:
    ran = portico.run("exec", "--agent-command", portico.agent, SERVER)
    assert ran.code == 1
    assert "question: Where shall it listen?" in ran.complaint
    assert "declined: Where shall it listen?, no one could be asked" in ran.complaint
    assert "portico chat" in ran.complaint[-1]


def test_a_program_reads_that_nobody_could_be_asked(portico: Portico) -> None:
    ran = portico.run("exec", "--api", "--agent-command", portico.agent, SERVER)
    assert ran.code == 1
    assert ran.api["error"] == "Not answered, because no terminal is attached: Where shall it listen?"
    assert "--allow" not in ran.api["diagnostics"]["suggestion"]


def test_a_declined_question_stands_in_what_is_shown_and_exported(portico: Portico) -> None:
    session = portico.exec(PAGE).stream.session_id
    shown = portico.run("sessions", "show", session)
    assert "question: Where shall it listen?" in shown.err
    exported = portico.run("sessions", "export", session).text
    assert "**Where shall it listen?** https://example.org/consent" in exported
    assert "_The question was declined because no one could be asked._" in exported
    events = json.loads(portico.run("sessions", "export", session, "--format", "json").text)["events"]
    assert [event["type"] for event in events if "question" in event["type"]] == [
        "question_asked",
        "question_answered",
    ]


def test_a_format_that_the_protocol_does_not_have_is_no_obstacle(portico: Portico) -> None:
    asked = portico.exec(elicit(fields={"ip": {"type": "string", "format": "ipv4"}})).stream.only(
        "question_asked"
    )
    assert asked["fields"] == [{"name": "ip", "type": "string", "format": "ipv4"}]
