"""Login and logout of an agent, from the command line and during a chat."""

import shlex
import sys
from collections.abc import Iterator

import pytest

from portico.domain.events import PromptSubmitted
from tests.support.program import PROGRAM, Portico, agent_command
from tests.support.stream import Json
from tests.support.terminal import Terminal
from tests.support.waiting import wait_for_file

WEB: Json = {"id": "web", "name": "the web page"}
KEY: Json = {"id": "key", "name": "an API key", "description": "from your account"}
TERMINAL: Json = {"id": "tty", "name": "its terminal", "type": "terminal", "args": ["--sign-in", "ada"]}
at_a_terminal = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")


def locked(portico: Portico, *methods: Json, **more: object) -> str:
    """The command of an agent that wants a login, and remembers it in its folder; it is called `mine` too."""
    script = {"auth_required": True, "auth_methods": list(methods), **more}
    command = agent_command(script, state=portico.home / "agent")
    words = shlex.split(command)
    portico.settings({"agents": {"mine": {"command": words[0], "args": words[1:]}}})
    return command


def sit(portico: Portico, *words: str) -> Terminal:
    environ = portico.environ({"TERM": "xterm-256color"})
    return Terminal((str(PROGRAM), *words), cwd=portico.workspace, environ=environ)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def works(portico: Portico) -> bool:
    return portico.run("exec", "--agent", "mine", "say hi").text == "hi\n"


class TestLogin:
    def test_the_only_method_is_taken_and_the_agent_works_from_then_on(self, portico: Portico) -> None:
        locked(portico, WEB)
        assert not works(portico)
        ran = portico.run("agents", "login", "mine")
        assert (ran.code, ran.text, ran.err) == (0, "Signed in to mine by the web page.\n", "")
        assert works(portico)

    def test_of_several_one_has_to_be_named(self, portico: Portico) -> None:
        locked(portico, WEB, KEY)
        ran = portico.run("agents", "login", "mine")
        assert (ran.code, ran.out) == (5, b"")
        assert "web (the web page); key (an API key)" in ran.err
        assert "--method" in ran.err
        chosen = portico.run("agents", "login", "mine", "--method", "key", "--api")
        assert chosen.api == {"status": "ok", "agent": "mine", "method": "key"}
        assert works(portico)

    def test_what_an_agent_calls_its_methods_does_nothing_to_the_terminal(self, portico: Portico) -> None:
        web = {**WEB, "name": "the \x1b]0;owned\x07\x1b[2Jweb \u202epage"}
        locked(portico, web, KEY)
        for words in (("agents", "login", "mine"), ("agents", "check", "mine")):
            ran = portico.run(*words)
            said = ran.err + ran.out.decode()
            assert "the web <U+202E>page" in said
            assert "\x1b" not in said

    def test_a_method_that_there_is_not_is_refused(self, portico: Portico) -> None:
        locked(portico, WEB)
        ran = portico.run("agents", "login", "mine", "--method", "fingerprint")
        assert ran.code == 5
        assert "'fingerprint' of the agent mine. Available: web (the web page)" in ran.err

    def test_an_agent_of_the_command_line_can_be_signed_in_to(self, portico: Portico) -> None:
        command = locked(portico, WEB)
        assert portico.run("agents", "login", "--agent-command", command).code == 0
        assert works(portico)

    def test_a_refusal_is_told(self, portico: Portico) -> None:
        locked(portico, WEB, on_authenticate=[{"error": {"code": -32603, "message": "the page was closed"}}])
        ran = portico.run("agents", "login", "mine", "--api")
        assert ran.code == 2
        assert "the page was closed" in ran.api["error"]
        assert not works(portico)

    def test_a_method_for_the_terminal_is_shown_to_whoever_has_none(self, portico: Portico) -> None:
        command = locked(portico, TERMINAL)
        ran = portico.run("agents", "login", "mine", "--api")
        assert (ran.code, ran.api["diagnostics"]["error_code"]) == (3, "AUTH_REQUIRED")
        assert f"{command} --sign-in ada" in ran.api["diagnostics"]["suggestion"]

    @at_a_terminal
    def test_a_method_for_the_terminal_is_run_in_one(
        self, portico: Portico, terminals: list[Terminal]
    ) -> None:
        locked(portico, TERMINAL)
        terminals.append(sit(portico, "agents", "login", "mine"))
        terminals[0].until("signed in as ada")
        terminals[0].until("Signed in to mine by its terminal.")
        assert terminals[0].end() == 0
        assert works(portico)

    @at_a_terminal
    def test_what_the_agent_wants_to_know_is_asked(self, portico: Portico, terminals: list[Terminal]) -> None:
        question = {
            "message": "Which account?",
            "fields": {"account": {"type": "string"}},
            "declined": [{"error": {"code": -32603, "message": "then not"}}],
        }
        locked(portico, WEB, on_authenticate=[{"elicit": question}])
        assert "then not" in portico.run("agents", "login", "mine").err
        terminals.append(sit(portico, "agents", "login", "mine"))
        terminals[0].until("Which account?")
        terminals[0].until("account")
        terminals[0].press("ada\r")
        terminals[0].until("Signed in to mine")
        assert terminals[0].end() == 0


class TestLogout:
    def test_it_needs_a_login_again(self, portico: Portico) -> None:
        locked(portico, WEB)
        portico.run("agents", "login", "mine")
        ran = portico.run("agents", "logout", "mine")
        assert (ran.code, ran.text) == (0, "Signed out of mine.\n")
        assert not works(portico)

    def test_an_agent_that_offers_none_says_so(self, portico: Portico) -> None:
        locked(portico, WEB, capabilities={})
        ran = portico.run("agents", "logout", "mine", "--api")
        assert ran.code == 5
        assert "does not support logout" in ran.api["error"]


class TestSuggestions:
    def test_a_turn_names_the_command_that_signs_in(self, portico: Portico) -> None:
        locked(portico, WEB)
        error = portico.exec("hello", "--agent", "mine").stream.error
        assert error["details"]["suggestion"] == "Sign in (the web page): portico agents login mine"

    def test_the_command_can_be_typed_as_it_stands(self, portico: Portico) -> None:
        command = locked(portico, WEB)
        first = portico.exec("hello", "--agent-command", command).stream
        suggestions = [first.error["details"]["suggestion"]]
        again = portico.run("exec", "--json-stream", "--session", first.session_id, "hello").stream
        suggestions.append(again.error["details"]["suggestion"])
        for suggestion in suggestions:
            program, *words = shlex.split(suggestion.partition(": ")[2])
            assert program == "portico"
            assert portico.run(*words).code == 0
            assert works(portico)
            assert portico.run("agents", "logout", "mine").code == 0

    def test_a_check_ends_with_3_and_names_it_too(self, portico: Portico) -> None:
        locked(portico, WEB, TERMINAL)
        ran = portico.run("agents", "check", "mine")
        assert ran.code == 3
        assert "sign in with  the web page, its terminal" in ran.text
        assert "portico agents login mine" in ran.text
        checked = portico.run("agents", "check", "mine", "--api")
        assert checked.code == checked.api["diagnostics"]["exit_code"] == 3
        assert checked.api["diagnostics"]["error_code"] == "AUTH_REQUIRED"


@at_a_terminal
class TestInAChat:
    def chat(self, portico: Portico, terminals: list[Terminal], *methods: Json, **more: object) -> Terminal:
        # Without a folder: the login is known to the very process that was signed in to, and to no other.
        script = {"auth_required": True, "auth_methods": list(methods), **more}
        terminals.append(sit(portico, "chat", "--agent-command", agent_command(script)))
        terminals[-1].until("❯")
        return terminals[-1]

    async def test_it_offers_to_sign_in_and_sends_the_prompt_again(
        self, portico: Portico, terminals: list[Terminal]
    ) -> None:
        terminal = self.chat(portico, terminals, WEB, KEY)
        terminal.press("say at last\r")
        terminal.until("AUTH_REQUIRED")
        terminal.until("Sign in to")
        terminal.until("2  an API key  from your account")
        terminal.until("Sign in by")
        terminal.press("2\r")
        terminal.until("✓")
        assert "at last" in terminal.text
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0
        (session,) = portico.run("sessions", "list", "--api").api["sessions"]
        events = await portico.log(session["sessionId"])
        prompts = [event.payload.text for event in events if isinstance(event.payload, PromptSubmitted)]
        assert prompts == ["say at last", "say at last"]

    def test_it_goes_on_without(self, portico: Portico, terminals: list[Terminal]) -> None:
        terminal = self.chat(portico, terminals, WEB)
        terminal.press("say at last\r")
        terminal.until("Sign in by")
        terminal.press("\x1b")
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0

    def test_an_interrupt_gives_up_a_login_and_not_the_chat(
        self, portico: Portico, terminals: list[Terminal]
    ) -> None:
        mark = portico.workspace / "signing-in"
        hanging = [{"touch": str(mark)}, {"hang": {}}]
        terminal = self.chat(portico, terminals, WEB, on_authenticate=hanging)
        terminal.press("say at last\r")
        terminal.until("Sign in by")
        terminal.press("\r")
        wait_for_file(mark)
        terminal.press("\x03")
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0

    def test_a_method_for_the_terminal_is_told_with_its_command(
        self, portico: Portico, terminals: list[Terminal]
    ) -> None:
        terminal = self.chat(portico, terminals, TERMINAL)
        terminal.press("say at last\r")
        terminal.until("Sign in by")
        terminal.press("\r")
        terminal.until("Run this in a terminal, then try again:")
        terminal.until("--sign-in ada")
        terminal.until("❯")
        terminal.press("/exit\r")
        assert terminal.end() == 0


def test_nobody_is_offered_anything_in_a_chat_from_a_pipe(portico: Portico) -> None:
    command = agent_command({"auth_required": True, "auth_methods": [WEB]})
    ran = portico.run("chat", "--agent-command", command, stdin=b"say hi\n/exit\n")
    assert ran.code == 0
    assert "AUTH_REQUIRED" in ran.err
    assert "Sign in by" not in ran.err
