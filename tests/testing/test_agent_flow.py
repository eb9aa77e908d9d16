"""Timing of the scripted agent's answers: early, late, twice, with an error, or after it was stopped."""

from pathlib import Path

import pytest

from portico.testing import stream_numbers
from tests.testing.conftest import Start

PHASES = [
    ("on_authenticate", "authenticate", {"methodId": "key"}),
    ("on_new", "session/new", {"cwd": "/", "mcpServers": []}),
    ("on_load", "session/load", {"sessionId": "scripted-1", "cwd": "/", "mcpServers": []}),
    ("on_resume", "session/resume", {"sessionId": "scripted-1", "cwd": "/"}),
    ("on_list", "session/list", {}),
    ("on_set_mode", "session/set_mode", {"sessionId": "scripted-1", "modeId": "code"}),
    (
        "on_set_config_option",
        "session/set_config_option",
        {"sessionId": "scripted-1", "configId": "c", "value": "v"},
    ),
    ("on_close", "session/close", {"sessionId": "scripted-1"}),
    ("on_delete", "session/delete", {"sessionId": "scripted-1"}),
]


@pytest.mark.parametrize(("phase", "method", "params"), PHASES)
def test_every_request_can_have_steps(
    start: Start, phase: str, method: str, params: dict[str, object]
) -> None:
    boolean = {"id": "c", "name": "C", "type": "boolean", "currentValue": True}
    script = {
        "auth_methods": [{"id": "key", "name": "Key"}],
        "modes": ["ask", "code"],
        "config_options": [boolean],
        phase: [{"error": {"code": -32603, "message": phase}}],
    }
    agent = start(script)
    agent.result("initialize", protocolVersion=1)
    if phase != "on_new":
        agent.result("session/new", cwd=str(agent.cwd), mcpServers=[])
    assert agent.call(method, **params)["error"] == {"code": -32603, "message": phase}


def test_updates_can_come_before_the_session_is_known(start: Start) -> None:
    agent = start({"on_new": [{"commands": ["go"]}, {"answer": {}}, {"title": "After"}]})
    agent.result("initialize", protocolVersion=1)
    agent.request("session/new", cwd=str(agent.cwd), mcpServers=[])
    first, second, third = agent.receive(), agent.receive(), agent.receive()
    assert first["params"]["update"]["sessionUpdate"] == "available_commands_update"
    assert second["result"]["sessionId"] == first["params"]["sessionId"] == third["params"]["sessionId"]
    assert third["params"]["update"]["title"] == "After"
    assert agent.honest()


def test_an_answer_can_come_in_the_middle_and_the_next_prompt_at_once(start: Start, tmp_path: Path) -> None:
    late = [{"say": "before"}, {"answer": {}}, {"wait_file": "go"}, {"say": "late"}]
    agent = start({"on_prompt": [late, [{"touch": "go"}]]}).open()
    assert agent.turn() == "end_turn"
    assert agent.said() == "before"
    agent.prompt()
    agent.until_update("agent_message_chunk")
    assert agent.said() == "beforelate"


def test_one_request_can_get_two_answers(start: Start) -> None:
    steps = [{"answer": {}}, {"answer": {"error": {"code": -32603, "message": "or not"}}}]
    agent = start(steps).open()
    prompt = agent.prompt()
    first, second = agent.receive(), agent.receive()
    assert first["id"] == second["id"] == prompt
    assert (first["result"], second["error"]["message"]) == ({"stopReason": "end_turn"}, "or not")
    assert not agent.honest()


def test_an_answer_can_be_anything(start: Start) -> None:
    agent = start({"on_initialize": [{"answer": {"result": {"protocolVersion": "one"}}}]})
    assert agent.result("initialize", protocolVersion=1) == {"protocolVersion": "one"}


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal"])
def test_a_turn_can_stop_for_another_reason(start: Start, reason: str) -> None:
    agent = start([{"say": "x"}, {"stop_reason": reason}]).open()
    assert agent.turn() == reason
    assert agent.honest()


def test_a_turn_can_end_in_an_error(start: Start) -> None:
    wrong = {"code": -32000, "message": "log in", "data": {"why": "expired"}}
    agent = start([{"say": "x"}, {"error": wrong}, {"say": "never"}]).open()
    assert agent.answer_to(agent.prompt())["error"] == wrong
    assert agent.said() == "x"
    assert agent.honest()


def test_it_waits_for_a_file_and_tells_by_a_file_that_it_came_so_far(start: Start, tmp_path: Path) -> None:
    agent = start([{"say": "a"}, {"wait_file": str(tmp_path / "go")}, {"touch": "there"}]).open()
    prompt = agent.prompt()
    agent.until_update("agent_message_chunk")
    assert not (tmp_path / "there").exists()
    (tmp_path / "go").touch()
    agent.answer_to(prompt)
    assert (tmp_path / "there").exists()


def test_steps_can_be_repeated_and_done_once_over_all_processes(start: Start, tmp_path: Path) -> None:
    steps = [
        {"repeat": {"count": 2, "steps": [{"say": "."}]}},
        {"once": {"mark": "mark", "steps": [{"say": "!"}]}},
    ]
    agent = start(steps).open()
    agent.turn()
    agent.turn()
    assert agent.said() == "..!.."
    other = start(steps).open()
    other.turn()
    assert other.said() == ".."


def test_a_cancel_stops_a_stream_in_the_middle(start: Start) -> None:
    agent = start([{"stream": {"count": 1_000_000, "size": 40, "delay_ms": 1}}, {"say": "never"}]).open()
    prompt = agent.prompt()
    agent.until_update("agent_message_chunk")
    agent.cancel()
    assert agent.answer_to(prompt)["result"] == {"stopReason": "cancelled"}
    numbers = stream_numbers(agent.said())
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) < 1_000_000
    # What was said before the stop is remembered, not what would have come.
    before = agent.said()
    agent.seen.clear()
    agent.result("session/load", sessionId=agent.session, cwd=str(agent.cwd), mcpServers=[])
    assert agent.said() == before
    assert agent.honest()


@pytest.mark.parametrize(
    "step", [{"hang": {}}, {"wait_file": "never"}, {"pause_ms": 10_000_000}, {"request": {"method": "_ask"}}]
)
def test_a_cancel_ends_every_wait(start: Start, step: dict[str, object]) -> None:
    agent = start([{"say": "x"}, step]).open()
    prompt = agent.prompt()
    agent.until_update("agent_message_chunk")
    agent.cancel()
    assert agent.answer_to(prompt)["result"] == {"stopReason": "cancelled"}


def test_a_cancel_right_behind_the_prompt_is_not_lost(start: Start) -> None:
    agent = start([{"hang": {}}]).open()
    prompt = agent.prompt()
    agent.cancel()
    assert agent.answer_to(prompt)["result"] == {"stopReason": "cancelled"}
    assert agent.answer_to(agent.request("session/list"))["result"]


def test_a_stopped_turn_can_have_last_words(start: Start, tmp_path: Path) -> None:
    script = {"on_prompt": [[{"hang": {}}]], "on_cancel": [{"wait_file": "go"}, {"say": "bye"}]}
    agent = start(script).open()
    prompt = agent.prompt()
    agent.cancel()
    (tmp_path / "go").touch()
    assert agent.answer_to(prompt)["result"] == {"stopReason": "cancelled"}
    assert agent.said() == "bye"


def test_a_withdrawn_request_is_answered_as_such(start: Start) -> None:
    agent = start([{"hang": {}}]).open()
    prompt = agent.prompt()
    agent.send({"method": "$/cancel_request", "params": {"requestId": prompt}})
    assert agent.answer_to(prompt)["error"]["code"] == -32800
    assert agent.honest()


def test_a_cancel_after_the_turn_does_nothing(start: Start) -> None:
    agent = start([{"say": "x"}]).open()
    agent.turn()
    agent.cancel()
    assert agent.turn() == "end_turn"
