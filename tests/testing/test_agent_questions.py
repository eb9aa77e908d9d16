"""Questions of the scripted agent to a person, and its sign-in."""

import json
import subprocess
from pathlib import Path

import pytest

from portico.testing import scripted_agent_command
from tests.testing.conftest import Start
from tests.testing.driver import Json

NAME: Json = {"name": {"type": "string"}}
BRANCHES: Json = {
    "accepted": [{"say": "thanks"}],
    "declined": [{"say": "pity"}],
    "cancelled": [{"say": "off"}],
    "failed": [{"say": "odd"}],
}
ASKING = "elicitation/create"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"result": {"action": "accept", "content": {"name": "ada"}}}, "thanks"),
        ({"result": {"action": "decline"}}, "pity"),
        ({"result": {"action": "cancel"}}, "off"),
        ({"error": {"code": -32603, "message": "no"}}, "odd"),
    ],
)
def test_a_question_branches_on_the_answer(start: Start, answer: Json, said: str) -> None:
    agent = start([{"elicit": {"fields": NAME, **BRANCHES}}]).open()
    agent.serves[ASKING] = lambda _: answer
    assert agent.turn() == "end_turn"
    assert agent.said() == said
    assert agent.honest()


def test_without_branches_the_answer_is_said_and_cancelled_ends_the_turn(start: Start) -> None:
    agent = start(
        [{"elicit": {"message": "Who?", "fields": NAME, "required": ["name"], "tool": "t1"}}]
    ).open()
    agent.serves[ASKING] = lambda _: {"result": {"action": "accept", "content": {"name": "ada"}}}
    assert agent.turn() == "end_turn"
    assert agent.said() == 'elicitation accept {"name":"ada"}'
    (asked,) = [message["params"] for message in agent.seen if message.get("method") == ASKING]
    assert (asked["message"], asked["mode"], asked["toolCallId"]) == ("Who?", "form", "t1")
    assert asked["requestedSchema"] == {"type": "object", "properties": NAME, "required": ["name"]}
    agent.serves[ASKING] = lambda _: {"result": {"action": "cancel"}}
    assert agent.turn() == "cancelled"
    assert agent.honest()


def test_a_page_has_an_address_and_an_id(start: Start) -> None:
    agent = start([{"elicit": {"url": "https://example.org/", "id": "p7"}}]).open()
    agent.prompt()
    asked = agent.until_request(ASKING)["params"]
    assert (asked["mode"], asked["url"], asked["elicitationId"]) == ("url", "https://example.org/", "p7")
    assert agent.honest()


def test_a_question_while_signing_in_is_about_that_request(start: Start) -> None:
    agent = start(
        {
            "auth_required": True,
            "auth_methods": [{"id": "key", "name": "A key"}],
            "on_authenticate": [{"elicit": {}}],
        }
    )
    agent.result("initialize", protocolVersion=1)
    agent.serves[ASKING] = lambda _: {"result": {"action": "accept"}}
    asked = agent.request("authenticate", methodId="key")
    agent.answer_to(asked)
    (question,) = [message["params"] for message in agent.seen if message.get("method") == ASKING]
    assert question["requestId"] == asked
    assert agent.honest()


SCRIPT: Json = {
    "auth_required": True,
    "auth_methods": [
        {"id": "key", "name": "A key"},
        {"id": "tty", "name": "A terminal", "type": "terminal", "args": ["--sign-in", "ada"]},
    ],
}


class TestSigningIn:
    def is_in(self, start: Start, state: Path, tmp_path: Path) -> bool:
        agent = start(SCRIPT, state=state)
        agent.result("initialize", protocolVersion=1)
        return "result" in agent.call("session/new", cwd=str(tmp_path), mcpServers=[])

    def test_it_outlives_the_process_in_a_folder_until_somebody_signs_out(
        self, start: Start, tmp_path: Path
    ) -> None:
        state = tmp_path / "state"
        assert not self.is_in(start, state, tmp_path)
        agent = start(SCRIPT, state=state)
        agent.result("initialize", protocolVersion=1)
        agent.result("authenticate", methodId="key")
        assert self.is_in(start, state, tmp_path)
        agent.result("logout")
        assert "error" in agent.call("session/new", cwd=str(tmp_path), mcpServers=[])
        assert not self.is_in(start, state, tmp_path)

    def test_a_refused_login_is_none(self, start: Start, tmp_path: Path) -> None:
        refusing = {**SCRIPT, "on_authenticate": [{"error": {"code": -32603, "message": "no"}}]}
        agent = start(refusing)
        agent.result("initialize", protocolVersion=1)
        assert "error" in agent.call("authenticate", methodId="key")
        assert "error" in agent.call("session/new", cwd=str(tmp_path), mcpServers=[])

    def test_a_method_for_the_terminal_is_a_program_and_no_call(self, start: Start, tmp_path: Path) -> None:
        state = tmp_path / "state"
        agent = start(SCRIPT, state=state)
        agent.result("initialize", protocolVersion=1)
        assert agent.call("authenticate", methodId="tty")["error"]["code"] == -32602
        command = [*scripted_agent_command(SCRIPT, state=state), "--sign-in", "ada"]
        ran = subprocess.run(command, capture_output=True, check=True, timeout=30)
        assert ran.stdout == b"signed in as ada\n"
        assert self.is_in(start, state, tmp_path)

    def test_signing_out_is_refused_where_it_is_not_offered(self, start: Start) -> None:
        agent = start({"capabilities": {}})
        agent.result("initialize", protocolVersion=1)
        assert agent.call("logout")["error"]["code"] == -32601


def test_a_question_can_be_asked_by_a_word(start: Start) -> None:
    agent = start().open()
    agent.prompt("question")
    asked = agent.until_request(ASKING)["params"]["requestedSchema"]
    assert list(asked["properties"]) == ["host", "port", "scheme"]
    assert json.dumps(asked["required"]) == '["port"]'
