"""`exec` and `chat` with a person at a terminal, who is asked, answers, and interrupts."""

import json
import shlex
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

from portico.domain.events import Event, PermissionResolved, PromptSubmitted, TurnEnded
from tests.support.program import PROGRAM, Portico, agent_command
from tests.support.stream import Json
from tests.support.terminal import Terminal
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")

CTRL_C, CTRL_D, CTRL_O, CTRL_R, CTRL_Z = "\x03", "\x04", "\x0f", "\x12", "\x1a"
PASTE = "\x1b[200~{}\x1b[201~"
KEYS = "y/a/n"
GRACE_MS = 5000
ASKING: list[Json] = [
    {
        "permission": {
            "title": "rm -r build",
            "kind": "execute",
            "allowed": [{"say": "gone it is"}],
            "rejected": [{"say": "here it stays"}],
        }
    }
]

Sit = Callable[..., Terminal]


@pytest.fixture
def sit(portico: Portico) -> Iterator[Sit]:
    """Sit down at a terminal and type a command."""
    terminals: list[Terminal] = []

    def type_command(*words: str, term: str = "xterm-256color", agent: str = portico.agent) -> Terminal:
        command = (str(PROGRAM), *words, "--agent-command", agent)
        environ = portico.environ({"TERM": term})
        terminals.append(Terminal(command, cwd=portico.workspace, environ=environ))
        return terminals[-1]

    yield type_command
    for terminal in terminals:
        terminal.close()


def test_the_program_alone_opens_the_chat(portico: Portico) -> None:
    terminal = Terminal(
        (str(PROGRAM),), cwd=portico.workspace, environ=portico.environ({"TERM": "xterm-256color"})
    )
    try:
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0
    finally:
        terminal.close()


async def log(portico: Portico) -> list[Event]:
    (session,) = portico.run("sessions", "list", "--api").api["sessions"]
    return await portico.log(session["sessionId"])


async def prompts(portico: Portico) -> list[str]:
    return [event.payload.text for event in await log(portico) if isinstance(event.payload, PromptSubmitted)]


async def resolution(portico: Portico) -> PermissionResolved:
    (found,) = [
        event.payload for event in await log(portico) if isinstance(event.payload, PermissionResolved)
    ]
    return found


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
@pytest.mark.parametrize(
    ("answer", "option", "words"),
    [
        ("y", "allow_once", "gone it is"),
        ("2", "allow_always", "gone it is"),
        ("n", "reject_once", "here it stays"),
    ],
)
async def test_a_person_is_asked_and_answers(
    portico: Portico, sit: Sit, answer: str, option: str, words: str, term: str
) -> None:
    terminal = sit("exec", json.dumps(ASKING), term=term)
    terminal.until("rm -r build")
    terminal.until(KEYS)
    terminal.press(answer)
    terminal.until(words)
    assert terminal.end() == 0
    assert terminal.is_as_before()
    resolved = await resolution(portico)
    assert (resolved.by, resolved.option_id) == ("person", option)


def test_nothing_but_an_answer_counts(sit: Sit) -> None:
    terminal = sit("exec", json.dumps(ASKING))
    terminal.until(KEYS)
    terminal.press("\r")
    for nonsense in ("x", "maybe", "yy"):
        terminal.press(nonsense)
        terminal.until("or a number.")
        terminal.until(KEYS)
    terminal.press("n")
    terminal.until("here it stays")
    assert terminal.end() == 0


def test_what_was_typed_before_the_question_is_no_answer(portico: Portico, sit: Sit) -> None:
    go = portico.workspace / "go"
    terminal = sit("exec", json.dumps([{"say": "thinking\n"}, {"wait_file": str(go)}, *ASKING]))
    terminal.until("thinking")
    terminal.press("y\ryy")
    go.touch()
    terminal.until(KEYS)
    terminal.press("n")
    terminal.until("here it stays")
    assert terminal.end() == 0


async def test_the_end_of_input_is_a_no(portico: Portico, sit: Sit) -> None:
    terminal = sit("exec", json.dumps(ASKING))
    terminal.until(KEYS)
    terminal.press(CTRL_D)
    terminal.until("here it stays")
    assert terminal.end() in (0, 1)
    assert (await resolution(portico)).outcome == "denied"
    assert terminal.is_as_before()


async def test_an_interrupt_at_the_question_stops_the_turn(portico: Portico, sit: Sit) -> None:
    terminal = sit("exec", json.dumps(ASKING))
    terminal.until(KEYS)
    terminal.press(CTRL_C)
    assert terminal.end() == 1
    assert (await resolution(portico)).outcome == "canceled"
    assert "here it stays" not in terminal.text
    assert terminal.is_as_before()


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_an_interrupt_stops_a_turn_and_leaves_the_terminal_as_it_was(sit: Sit, term: str) -> None:
    terminal = sit("exec", json.dumps([{"say": "working\n\n"}, {"hang": {}}]), term=term)
    terminal.until("working")
    terminal.press(CTRL_C)
    assert terminal.end() == 1
    assert terminal.is_as_before()


async def test_a_second_interrupt_ends_an_agent_that_does_not_listen(portico: Portico, sit: Sit) -> None:
    transcript = portico.home / "transcript"
    deaf = {"ignore": ["cancel", "requests", "sigterm", "stdin_close"]}
    steps = [deaf, {"say": "working\n\n"}, {"hang": {}}]
    terminal = sit("exec", json.dumps(steps), agent=agent_command(transcript=transcript))
    terminal.until("working")
    terminal.press(CTRL_C)
    wait_until(lambda: b"session/cancel" in transcript.read_bytes(), "the request to stop")
    terminal.press(CTRL_C)
    assert terminal.end() == 1
    assert terminal.is_as_before()
    (ended,) = [event.payload for event in await log(portico) if isinstance(event.payload, TurnEnded)]
    assert ended.duration_ms < GRACE_MS


def test_a_turn_in_the_background_of_a_shell_goes_on_to_its_end(portico: Portico) -> None:
    environ = portico.environ({"TERM": "xterm-256color", "PS1": "shell> "})
    terminal = Terminal(("/bin/sh", "-i"), cwd=portico.workspace, environ=environ)
    try:
        command = shlex.join([str(PROGRAM), "exec", "--agent-command", portico.agent, "say hi"])
        terminal.press(f"{command} > answer & wait; echo It is o''ver\r")
        terminal.until("It is over")
        assert (portico.workspace / "answer").read_text() == "hi\n"
        terminal.press("exit\r")
        terminal.end()
    finally:
        terminal.close()


def test_what_rules_decide_is_not_asked(sit: Sit) -> None:
    terminal = sit("exec", json.dumps(ASKING), "--deny", "execute")
    terminal.until("here it stays")
    assert terminal.end() == 0
    assert KEYS not in terminal.text


async def test_a_chat_is_one_session_of_many_turns(portico: Portico, sit: Sit) -> None:
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press("say one and\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press("say two\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert terminal.is_as_before()
    assert await prompts(portico) == ["say one and", "say two"]


async def test_a_prompt_is_found_in_the_history_taken_with_enter_and_given_up_with_ctrl_c(
    portico: Portico, sit: Sit
) -> None:
    terminal = sit("chat")
    for words in ("say zebra\r", "say other\r"):
        terminal.until("❯")
        terminal.press(words)
        terminal.until("✓")
    terminal.until("❯")
    terminal.press(CTRL_R)
    terminal.until("I-search")
    terminal.press("zeb")
    terminal.until("say zebra")
    terminal.press("\r\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press(CTRL_R)
    terminal.until("I-search")
    terminal.press(f"oth{CTRL_C}{CTRL_D}")
    assert terminal.end() == 0
    assert await prompts(portico) == ["say zebra", "say other", "say zebra"]


async def test_a_chat_asks_and_goes_on(portico: Portico, sit: Sit) -> None:
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press("permission\r")
    terminal.until("y/a/n ?")
    terminal.press("n\r")
    terminal.until("rejected")
    terminal.until("❯")
    terminal.press("hang\r")
    terminal.until("Ctrl-C to stop")
    terminal.press(CTRL_C)
    terminal.until("❯")
    terminal.press("say still here\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert (await resolution(portico)).by == "person"


async def test_a_turn_that_waits_for_its_agent_to_start_says_so_and_is_stopped_like_any_other(
    portico: Portico, sit: Sit
) -> None:
    go = portico.workspace / "go"
    slow = agent_command({"on_initialize": [{"wait_file": str(go)}]}, state=portico.home / "agent")
    terminal = sit("chat", agent=slow)
    terminal.until("❯")
    terminal.press("say one\r")
    terminal.until("Starting")
    terminal.press(CTRL_C)
    terminal.until("stopped")
    terminal.until("❯")
    go.touch()
    terminal.press("say two\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert await prompts(portico) == ["say one", "say two"]


def test_a_chat_in_which_nothing_was_said_leaves_nothing_behind(portico: Portico, sit: Sit) -> None:
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press(CTRL_D)
    assert terminal.end() == 0
    assert portico.run("sessions", "list", "--api").api["count"] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    ("typed", "seen", "sessions"),
    [("half a wo", "half a wo", 0), ("hang\r", "Ctrl-C to stop", 1), ("permission\r", KEYS, 1)],
)
def test_a_chat_that_is_told_to_end_does_so_and_leaves_the_terminal_as_it_was(
    portico: Portico, sit: Sit, typed: str, seen: str, sessions: int, number: signal.Signals
) -> None:
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press(typed)
    terminal.until(seen)
    terminal.process.send_signal(number)
    assert terminal.end() == 0
    assert terminal.is_as_before()
    listed = portico.run("sessions", "list", "--api").api["sessions"]
    assert [one["state"] for one in listed] == ["canceled"] * sessions


async def test_a_chat_is_left_for_the_shell_and_taken_up_with_what_was_typed(portico: Portico) -> None:
    environ = portico.environ({"TERM": "xterm-256color", "PS1": "shell> "})
    terminal = Terminal(("/bin/sh", "-i"), cwd=portico.workspace, environ=environ)
    try:
        terminal.press(f"{shlex.join([str(PROGRAM), 'chat', '--agent-command', portico.agent])}\r")
        terminal.until("❯")
        terminal.press(f"say {CTRL_Z}")
        terminal.until("Stopped")
        terminal.press("fg\r")
        terminal.until("❯ say")
        terminal.press("hi\r")
        terminal.until("✓")
        terminal.press("/exit\r")
        terminal.until("shell> ")
        terminal.press("exit\r")
        terminal.end()
        assert await prompts(portico) == ["say hi"]
    finally:
        terminal.close()


async def test_a_kept_prompt_is_taken_into_the_line_changed_there_and_sent(
    sit: Sit, portico: Portico
) -> None:
    kept = portico.workspace / ".portico" / "prompts" / "team" / "tidy.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("---\ndescription: Make it neat\n---\nsay Tidy up")
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press("/tid")
    terminal.until("Make it neat")
    terminal.press("\t")
    terminal.until("Tidy up")
    terminal.press(" the deck\r")
    terminal.until("✓")
    terminal.until("❯")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert await prompts(portico) == ["say Tidy up the deck"]


@pytest.mark.parametrize(
    ("keys", "sent"),
    [
        ("\r\rsoap\tthe deck\r", "say Tidy up soap and the deck."),
        ("\t\tsoap\r\x7f\r", "say Tidy up soap and ."),
        (CTRL_O + PASTE.format("one\r\ntwo") + "\rthree\r", "say Tidy up one\ntwo and three."),
        (f"{CTRL_C}say {{{{ what }}}} by hand\r", "say {{ what }} by hand"),
    ],
)
async def test_a_kept_prompt_is_not_sent_before_its_blanks_are_filled_in_or_taken_out(
    sit: Sit, portico: Portico, keys: str, sent: str
) -> None:
    kept = portico.workspace / ".portico" / "prompts" / "tidy.md"
    kept.parent.mkdir(parents=True)
    kept.write_text(
        "---\ndescription: Make it neat\nvariables:\n  what: {description: the mess}\n  whom:\n---\n"
        "say Tidy up {{ what }} and {{ whom }}."
    )
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press("/tid")
    terminal.until("Make it neat")
    terminal.press("\t")
    terminal.until("Tidy up {{ what }}")
    terminal.press("\r")
    terminal.until("Fill in")
    terminal.press(keys)
    terminal.until("✓")
    terminal.until("❯")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert await prompts(portico) == [sent]


async def test_a_chat_goes_on_after_the_help_of_one_of_its_commands(portico: Portico, sit: Sit) -> None:
    terminal = sit("chat")
    terminal.until("❯")
    terminal.press("/proposal --help\r")
    terminal.until("undo the last apply")
    terminal.until("❯")
    terminal.press("say on\r")
    terminal.until("✓")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert await prompts(portico) == ["say on"]


def test_a_session_is_deleted_only_by_a_yes(portico: Portico) -> None:
    kept = portico.exec("say one").stream.session_id

    def answer(keys: str) -> int:
        words = (str(PROGRAM), "sessions", "delete", kept)
        terminal = Terminal(words, cwd=portico.workspace, environ=portico.environ({"TERM": "dumb"}))
        try:
            terminal.until("[y/N] ")
            terminal.press(keys)
            code = terminal.end()
            assert "should not" not in terminal.text
            return code
        finally:
            terminal.close()

    assert [answer(keys) for keys in ("\r", "no\r", CTRL_D, CTRL_C)] == [0, 0, 0, 1]
    assert portico.run("sessions", "list", "--api").api["count"] == 1
    assert answer("y\r") == 0
    assert portico.run("sessions", "list", "--api").api["count"] == 0


def test_a_chat_is_taken_up_again(portico: Portico, sit: Sit) -> None:
    first = portico.exec("say one").stream
    terminal = sit("chat", "--continue")
    terminal.until(first.session_id)
    terminal.until("❯")
    terminal.press("say two\r")
    terminal.until("✓")
    terminal.press("/exit\r")
    assert terminal.end() == 0
    assert portico.run("sessions", "list", "--api").api["count"] == 1


async def test_a_chat_takes_its_prompts_from_a_pipe(portico: Portico) -> None:
    words = ("chat", "--agent-command", portico.agent)
    ran = portico.run(*words, stdin=b"say one\n\nsay two \\\nlines\n/exit\nsay three\n")
    assert ran.code == 0
    assert await prompts(portico) == ["say one", "say two \nlines"]
