"""Failures behind `portico acp`, or of the editor itself, as an editor sees them."""

import signal
from collections.abc import Callable

import pytest

from portico.rpc.framing import MAX_LINE
from tests.support.editor import Editor, proxy_settings, said, typescript_agent
from tests.support.processes import members, survivors
from tests.support.program import Portico
from tests.support.stream import Json
from tests.support.waiting import wait_until

Start = Callable[..., Editor]


@pytest.fixture
def start(portico: Portico) -> Start:
    """An editor that has started `portico acp` with the TypeScript agent and these flags."""
    return lambda *flags: Editor(portico, "--agent-command", typescript_agent(portico), *flags)


def permission_question(editor: Editor) -> Json:
    """Receive up to the agent's question, with its files answered."""
    while (message := editor.receive()).get("method") != "session/request_permission":
        if message.get("method") == "fs/read_text_file":
            reply(editor, message, {"content": "before\n"})
    return message


def reply(editor: Editor, question: Json, result: Json) -> None:
    editor.send({"jsonrpc": "2.0", "id": question["id"], "result": result})


def peers(portico: Portico) -> int:
    """Number of agents and proxies that are alive."""
    return sum(process.name() == "node" for process in members(portico.mark))


class TestTheAgent:
    def test_that_is_not_there_is_named_with_what_to_do(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent-command", "no-such-agent --acp")
        error = editor.initialize()["error"]
        assert "no-such-agent" in error["message"]
        assert "Check its spelling, or give its full path." in error["message"]
        assert editor.hang_up().code == 0

    def test_of_an_unknown_name_is_answered_with_the_known_ones(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent", "claud")
        error = editor.initialize()["error"]
        assert "Did you mean claude?" in error["message"]
        assert editor.hang_up().code == 0

    def test_that_ends_at_once_leaves_its_last_words(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent-command", "sh -c 'echo I have no key >&2; exit 4'")
        error = editor.initialize()["error"]
        assert "I have no key" in error["message"]
        assert "exit code 4" in error["message"]
        assert editor.hang_up().code == 0

    def test_that_crashes_in_a_turn_answers_with_its_last_words_and_all_is_over(
        self, portico: Portico, start: Start
    ) -> None:
        portico.settings(proxy_settings(one=()))
        editor = start("--proxy", "one")
        session_id = editor.open_session()
        error = editor.answer_to(editor.prompt(session_id, "crash"))["error"]
        assert "the tour guide fell off the roof" in error["message"]
        assert "exit code 3" in error["message"]
        assert said(editor.heard) == "about to·one"
        with pytest.raises(EOFError):
            editor.receive()
        assert editor.hang_up().code == 0

    def test_that_never_answers_is_named_with_its_last_words_at_the_limit(self, portico: Portico) -> None:
        silent = "sh -c 'echo I wait for a key >&2; while read line; do :; done'"
        editor = Editor(portico, "--agent-command", silent, "--start-limit", "1")
        error = editor.initialize()["error"]
        assert "The agent sh did not answer initialize within 1 s." in error["message"]
        assert "I wait for a key" in error["message"]
        with pytest.raises(EOFError):
            editor.receive()
        assert editor.hang_up().code == 0

    def test_that_closes_its_output_and_lives_on_is_named_all_the_same(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent-command", "sh -c 'exec >&-; while read line; do :; done'")
        error = editor.initialize()["error"]
        assert "closed its output but is still running" in error["message"]
        assert editor.hang_up().code == 0

    def test_that_never_answers_is_ended_with_its_editor(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent-command", "sh -c 'trap \"\" TERM; while :; do sleep 1000; done'")
        editor.request("initialize", {"protocolVersion": 1})
        wait_until(lambda: len(members(portico.mark)) > 1, "the start of the agent")
        assert editor.hang_up().code == 0
        assert survivors(portico.mark) == []

    def test_that_ignores_a_cancellation_is_ended_with_its_editor(self, start: Start) -> None:
        editor = start()
        session_id = editor.open_session()
        prompt = editor.prompt(session_id, "hang")
        editor.until_said("waiting")
        editor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}})
        other = editor.open_session()
        assert "result" in editor.answer_to(editor.prompt(other, "hello"))
        assert prompt not in [message.get("id") for message in editor.heard]
        assert editor.hang_up().code == 0

    def test_that_asks_in_a_session_nobody_opened_is_denied(self, start: Start) -> None:
        editor = start()
        session_id = editor.open_session()
        editor.answer_to(editor.prompt(session_id, "stranger"))
        assert said(editor.heard) == "selected no"
        assert not any(message.get("method") == "session/request_permission" for message in editor.heard)
        editor.hang_up()


class TestAProxy:
    def test_that_is_in_no_settings_is_named(self, portico: Portico, start: Start) -> None:
        portico.settings(proxy_settings(one=()))
        editor = start("--proxy", "none")
        error = editor.initialize()["error"]
        assert "'none'" in error["message"]
        assert "Available in the settings: one" in error["message"]
        editor.hang_up()

    def test_that_cannot_be_started_is_named_and_leaves_no_agent_behind(
        self, portico: Portico, start: Start
    ) -> None:
        portico.settings({"proxies": {"broken": {"command": "no-such-proxy"}}})
        editor = start("--proxy", "broken")
        error = editor.initialize()["error"]
        assert "The proxy broken cannot be started by “no-such-proxy”." in error["message"]
        assert [process.pid for process in members(portico.mark)] == [editor.running.pid]
        editor.hang_up()

    def test_that_dies_is_named_in_every_answer_from_then_on(self, portico: Portico, start: Start) -> None:
        portico.settings(proxy_settings(one=(), fragile=("proxy", "dies")))
        editor = start("--proxy", "one", "--proxy", "fragile")
        session_id = editor.open_session()
        for _ in range(2):
            error = editor.answer_to(editor.prompt(session_id, "hello"))["error"]
            assert "The proxy fragile is gone. It ended with exit code 7." in error["message"]
            assert "fragile has lost its pen" in error["message"]
        assert peers(portico) == 2, "the agent and the other proxy live on"
        assert editor.hang_up().code == 0

    def test_that_dies_in_the_middle_of_a_turn_leaves_its_last_words(
        self, portico: Portico, start: Start
    ) -> None:
        portico.settings(proxy_settings(fragile=("proxy", "breaks"), one=()))
        editor = start("--proxy", "fragile", "--proxy", "one")
        session_id = editor.open_session()
        error = editor.answer_to(editor.prompt(session_id, "hang"))["error"]
        assert "The proxy fragile is gone. It ended with exit code 7." in error["message"]
        assert "fragile has lost its pen" in error["message"]
        refused = editor.call("session/new", {"cwd": "/", "mcpServers": []})
        assert "The proxy fragile is gone." in refused["error"]["message"]
        assert peers(portico) == 2, "the agent and the other proxy live on"
        assert editor.hang_up().code == 0

    @pytest.mark.parametrize(("trouble", "words"), [("deaf", "cannot hear"), ("mute", "cannot speak")])
    def test_that_never_answers_initialize_is_named_with_its_last_words_at_the_limit(
        self, portico: Portico, start: Start, trouble: str, words: str
    ) -> None:
        portico.settings(proxy_settings(sulking=("proxy", trouble), three=()))
        editor = start("--proxy", "sulking", "--proxy", "three", "--start-limit", "4")
        error = editor.initialize()["error"]
        assert "The proxy sulking did not answer initialize within 4 s." in error["message"]
        assert f"sulking {words}" in error["message"]
        with pytest.raises(EOFError):
            editor.receive()
        assert editor.hang_up().code == 0
        assert survivors(portico.mark) == []

    def test_that_answers_twice_and_then_once_more_is_heard_once(
        self, portico: Portico, start: Start
    ) -> None:
        portico.settings(proxy_settings(hasty=("proxy", "twice")))
        editor = start("--proxy", "hasty")
        session_id = editor.open_session()
        first = editor.prompt(session_id, "hello")
        assert editor.answer_to(first)["result"] == {"stopReason": "refusal"}
        second = editor.prompt(session_id, "again")
        assert editor.answer_to(second)["result"] == {"stopReason": "refusal"}
        editor.call("session/load", {"sessionId": "gone", "cwd": "/", "mcpServers": []})
        assert [message["id"] for message in editor.heard if "result" in message][-2:] == [first, second]
        editor.hang_up()

    def test_that_floods_delays_nobody_for_good(self, portico: Portico, start: Start) -> None:
        portico.settings(proxy_settings(loud=("proxy", "floods")))
        editor = start("--proxy", "loud")
        session_id = editor.open_session()
        assert editor.answer_to(editor.prompt(session_id, "hello"))["result"] == {"stopReason": "end_turn"}
        floods = [message for message in editor.heard if "agent_thought_chunk" in str(message)[:200]]
        assert len(floods) == 20_000
        editor.hang_up()

    def test_that_never_answers_holds_up_one_request_and_no_other(
        self, portico: Portico, start: Start
    ) -> None:
        portico.settings(proxy_settings(mute=("proxy", "silent")))
        editor = start("--proxy", "mute")
        session_id = editor.open_session()
        waiting = editor.prompt(session_id, "hello")
        assert editor.open_session() != session_id
        assert waiting not in [message.get("id") for message in editor.heard]
        assert editor.hang_up().code == 0


class TestTheEditor:
    def test_that_goes_away_in_a_turn_ends_everything(self, portico: Portico, start: Start) -> None:
        portico.settings(proxy_settings(one=(), two=()))
        editor = start("--proxy", "one", "--proxy", "two")
        editor.prompt(editor.open_session(), "hang")
        editor.until_said("waiting")
        assert peers(portico) == 3
        assert editor.hang_up().code == 0
        assert survivors(portico.mark) == []

    def test_that_goes_away_with_a_question_open_grants_nothing(self, portico: Portico, start: Start) -> None:
        notes = portico.workspace / "notes.txt"
        notes.write_text("before\n")
        editor = start()
        editor.prompt(editor.open_session(), "edit notes.txt")
        permission_question(editor)
        assert editor.hang_up().code == 0
        assert notes.read_text() == "before\n"

    def test_that_goes_away_while_the_agent_takes_nothing_in_ends_everything(self, portico: Portico) -> None:
        editor = Editor(portico, "--agent-command", "sh -c 'sleep 1000'")
        editor.request("initialize", {"protocolVersion": 1})
        words = {"type": "text", "text": "x" * 1_000_000}
        editor.request("session/prompt", {"sessionId": "s", "prompt": [words]})
        assert editor.hang_up().code == 0

    def test_that_goes_away_before_it_says_anything_ends_it(self, portico: Portico, start: Start) -> None:
        ran = start().hang_up()
        assert (ran.code, ran.out, ran.err) == (0, b"", "")

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
    def test_that_ends_it_by_a_signal_leaves_nothing_running(
        self, portico: Portico, start: Start, number: signal.Signals
    ) -> None:
        portico.settings(proxy_settings(one=()))
        editor = start("--proxy", "one")
        editor.prompt(editor.open_session(), "hang")
        editor.until_said("waiting")
        editor.running.signal(number)
        editor.running.process.wait(30)
        assert survivors(portico.mark) == []

    def test_that_sends_garbage_is_served_all_the_same(self, start: Start) -> None:
        editor = start()
        editor.send(b"hello", b"\xff\xfe", b"[]", b"", b'{"jsonrpc":"2.0"}')
        session_id = editor.open_session()
        editor.send(b"{", b"null", b'"text"', b"x" * 100_000)
        assert "result" in editor.answer_to(editor.prompt(session_id, "hello"))
        assert said(editor.heard) == "hello"
        ran = editor.hang_up()
        assert ran.code == 0

    def test_that_sends_a_request_nobody_can_read_is_answered(self, start: Start) -> None:
        editor = start()
        editor.open_session()
        editor.send(b'{"jsonrpc":"2.0","id":99,"method":"session/prompt","params":{"text":"\\ud800"}}')
        assert editor.answer_to(99)["error"]["code"] == -32600
        editor.hang_up()

    def test_that_stops_a_turn_and_lets_its_question_be_has_a_turn_that_ends(
        self, portico: Portico, start: Start
    ) -> None:
        notes = portico.workspace / "notes.txt"
        notes.write_text("before\n")
        editor = start()
        session_id = editor.open_session()
        prompt = editor.prompt(session_id, "edit notes.txt")
        question = permission_question(editor)
        editor.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}})
        assert "result" in editor.answer_to(prompt)
        assert said(editor.heard).startswith("cancelled")
        reply(editor, question, {"outcome": {"outcome": "selected", "optionId": "yes"}})
        assert "result" in editor.answer_to(editor.prompt(session_id, "hello"))
        assert "fs/write_text_file" not in [message.get("method") for message in editor.heard]
        editor.hang_up()

    def test_whose_answer_is_too_long_keeps_no_turn_waiting(self, start: Start) -> None:
        editor = start()
        session_id = editor.open_session()
        prompt = editor.prompt(session_id, "edit notes.txt")
        while (question := editor.receive()).get("method") != "fs/read_text_file":
            pass
        reply(editor, question, {"content": "x" * MAX_LINE})
        assert "bytes is too long" in str(editor.answer_to(prompt)["error"])
        assert "result" in editor.answer_to(editor.prompt(session_id, "hello"))
        editor.hang_up()

    def test_that_speaks_before_initialize_is_told_so(self, start: Start) -> None:
        editor = start()
        error = editor.call("session/new", {"cwd": "/", "mcpServers": []})["error"]
        assert "before initialize" in error["message"]
        assert "result" in editor.initialize()
        editor.hang_up()

    def test_that_answers_a_question_twice_is_heard_once(self, portico: Portico, start: Start) -> None:
        editor = start()
        prompt = editor.prompt(editor.open_session(), "edit notes.txt")
        question = permission_question(editor)
        for option in ("no", "yes"):
            reply(editor, question, {"outcome": {"outcome": "selected", "optionId": option}})
        assert "result" in editor.answer_to(prompt)
        assert said(editor.heard) == "selected no"
        editor.hang_up()


class TestRules:
    """Rules of the settings answer before anybody is asked."""

    @pytest.mark.parametrize(
        ("permissions", "outcome"),
        [
            ({"allow": ["edit:*.txt"]}, "selected yes"),
            ({"deny": ["edit:notes.txt"]}, "selected no"),
            ({"allow": ["edit"], "deny": ["edit:notes.txt"]}, "selected no"),
        ],
    )
    def test_of_the_user_decide_without_asking(
        self, portico: Portico, start: Start, permissions: Json, outcome: str
    ) -> None:
        portico.settings({"permissions": permissions})
        assert self.edit(start()) == (outcome, 0)

    def test_of_the_workspace_may_deny(self, portico: Portico, start: Start) -> None:
        portico.workspace_settings({"permissions": {"deny": ["edit"]}})
        assert self.edit(start()) == ("selected no", 0)

    def test_of_a_workspace_nobody_trusts_allow_nothing(self, portico: Portico, start: Start) -> None:
        portico.workspace_settings({"permissions": {"allow": ["edit"]}})
        assert self.edit(start()) == ("selected no", 1)

    def test_are_not_needed_for_an_agent_that_may_do_everything(self, portico: Portico) -> None:
        command, *args = typescript_agent(portico).split()
        portico.settings({"agents": {"mine": {"command": command, "args": args, "bypassPermissions": True}}})
        assert self.edit(Editor(portico, "--agent", "mine")) == ("selected yes", 0)

    def test_are_not_needed_for_an_agent_that_the_environment_lets_do_everything(
        self, portico: Portico
    ) -> None:
        command, *args = typescript_agent(portico).split()
        portico.settings({"agents": {"mine": {"command": command, "args": args}}})
        environ = {"PORTICO_BYPASS_PERMISSIONS": "other, mine"}
        assert self.edit(Editor(portico, "--agent", "mine", environ=environ)) == ("selected yes", 0)

    def edit(self, editor: Editor) -> tuple[str, int]:
        """Let the agent edit a file for a person who refuses; what it heard, and how often they were asked."""
        prompt, questions = editor.prompt(editor.open_session(), "edit notes.txt"), 0
        while "result" not in (message := editor.receive()) or message["id"] != prompt:
            if message.get("method") == "session/request_permission":
                questions += 1
                reply(editor, message, {"outcome": {"outcome": "selected", "optionId": "no"}})
            elif "id" in message:
                reply(editor, message, {"content": ""})
        editor.hang_up()
        return said(editor.heard), questions
