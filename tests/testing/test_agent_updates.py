"""Updates of the scripted agent; all of them valid ACP."""

import os
from pathlib import Path

import pytest

from portico.testing import stream_numbers, stream_text
from tests.testing.conftest import Start
from tests.testing.driver import Json


def test_it_speaks_and_thinks(start: Start) -> None:
    agent = start([{"think": "hm"}, {"say": "yes"}, {"say": ", no"}]).open()
    assert agent.turn() == "end_turn"
    assert agent.kinds() == ["agent_thought_chunk", "agent_message_chunk", "agent_message_chunk"]
    assert (agent.said("agent_thought_chunk"), agent.said()) == ("hm", "yes, no")
    assert agent.honest()


def test_a_stream_counts_itself(start: Start) -> None:
    agent = start([{"stream": {"count": 1000, "size": 40}}]).open()
    agent.turn()
    texts = [update["content"]["text"] for update in agent.updates()]
    assert len(texts) == 1000
    assert {len(text) for text in texts} == {40}
    assert texts[0].startswith("00001:")
    assert "".join(texts) == stream_text(1000, 40)
    assert stream_numbers("".join(texts)) == list(range(1, 1001))
    assert agent.honest()


def test_a_stream_can_be_thought_slow_and_go_on_counting(start: Start) -> None:
    step = {"count": 3, "size": 9, "kind": "thought", "delay_ms": 1, "first": 100_000}
    agent = start([{"stream": step}]).open()
    agent.turn()
    assert stream_numbers(agent.said("agent_thought_chunk")) == [100_000, 100_001, 100_002]


def test_a_lost_delta_shows() -> None:
    text = stream_text(2, 12) + stream_text(2, 12, first=4)
    assert stream_numbers(text) == [1, 2, 4, 5]
    assert stream_numbers(text[:-1]) == [1, 2, 4]


def test_a_tool_call_goes_through_its_states_and_brings_its_result(start: Start, tmp_path: Path) -> None:
    step = {
        "id": "t1",
        "title": "Edit a.py",
        "kind": "edit",
        "locations": [{"path": "a.py", "line": 3}],
        "raw_input": {"path": "a.py"},
        "raw_output": {"lines": 1},
        "text": "done",
        "diff": {"path": "a.py", "old": None, "new": "x = 1\n"},
        "steps": [{"say": "meanwhile"}],
    }
    agent = start([{"tool": step}]).open()
    agent.turn()
    call, working, text, done = agent.updates()
    path = str(tmp_path / "a.py")
    assert call == {
        "sessionUpdate": "tool_call",
        "toolCallId": "t1",
        "title": "Edit a.py",
        "kind": "edit",
        "status": "pending",
        "rawInput": {"path": "a.py"},
        "locations": [{"path": path, "line": 3}],
    }
    assert working == {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "in_progress"}
    assert text["content"]["text"] == "meanwhile"
    assert (done["status"], done["rawOutput"]) == ("completed", {"lines": 1})
    assert done["content"] == [
        {"type": "content", "content": {"type": "text", "text": "done"}},
        {"type": "diff", "path": path, "oldText": None, "newText": "x = 1\n"},
    ]
    assert agent.honest()


def test_a_tool_call_can_stay_open_and_be_ended_by_hand(start: Start) -> None:
    agent = start(
        [
            {"tool": {"id": "t", "title": "T", "statuses": ["in_progress"], "text": "so far"}},
            {"tool_update": {"id": "t", "status": "failed", "title": "Oh", "content": []}},
        ]
    ).open()
    agent.turn()
    first, second = agent.updates()
    assert (first["status"], len(first["content"])) == ("in_progress", 1)
    assert (second["status"], second["title"]) == ("failed", "Oh")
    assert agent.honest()


def test_tool_calls_without_an_id_get_ids_of_their_own(start: Start) -> None:
    agent = start([{"repeat": {"count": 2, "steps": [{"tool": {"title": "T"}}]}}]).open()
    agent.turn()
    agent.turn()
    assert len({update["toolCallId"] for update in agent.updates()}) == 4


def test_a_resending_tool_repeats_all_output_each_time(start: Start) -> None:
    agent = start([{"resend": {"count": 3, "size": 10}}]).open()
    agent.turn()
    shown = [update["content"][0]["content"]["text"] for update in agent.updates() if "content" in update]
    assert shown == [stream_text(count, 10) for count in (1, 2, 3)]
    assert agent.updates()[-1]["status"] == "completed"
    assert agent.honest()


@pytest.mark.parametrize(
    ("step", "update"),
    [
        (
            {"plan": ["look", {"content": "do", "priority": "high", "status": "completed"}]},
            {
                "sessionUpdate": "plan",
                "entries": [
                    {"content": "look", "priority": "medium", "status": "pending"},
                    {"content": "do", "priority": "high", "status": "completed"},
                ],
            },
        ),
        (
            {"usage": {"used": 5, "size": 10, "cost": {"amount": 0.5, "currency": "EUR"}}},
            {
                "sessionUpdate": "usage_update",
                "used": 5,
                "size": 10,
                "cost": {"amount": 0.5, "currency": "EUR"},
            },
        ),
        (
            {"commands": ["go", {"name": "plan", "description": "Make a plan", "input": {"hint": "what"}}]},
            {
                "sessionUpdate": "available_commands_update",
                "availableCommands": [
                    {"name": "go", "description": "go"},
                    {"name": "plan", "description": "Make a plan", "input": {"hint": "what"}},
                ],
            },
        ),
        ({"title": "A name"}, {"sessionUpdate": "session_info_update", "title": "A name"}),
        ({"mode": "code"}, {"sessionUpdate": "current_mode_update", "currentModeId": "code"}),
        (
            {"update": {"sessionUpdate": "notice", "severity": "info", "title": "By the way"}},
            {"sessionUpdate": "notice", "severity": "info", "title": "By the way"},
        ),
    ],
)
def test_each_kind_of_update_has_its_verb(start: Start, step: Json, update: Json) -> None:
    agent = start([step]).open()
    agent.turn()
    assert agent.updates() == [update]
    assert agent.honest()


def test_an_update_of_an_unknown_kind_goes_out_as_it_stands(start: Start) -> None:
    strange = {"sessionUpdate": "weather_update", "sky": ["clear"]}
    agent = start([{"update": strange}]).open()
    agent.turn()
    assert agent.updates() == [strange]
    assert not agent.honest()


def test_it_echoes_the_prompt_and_shows_its_environment(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTICO_TEST_COLOUR", "green")
    agent = start([{"echo": {}}, {"env": "PORTICO_TEST_COLOUR"}]).open()
    blocks = [
        {"type": "text", "text": "look at "},
        {"type": "resource_link", "uri": "file:///a", "name": "a"},
    ]
    agent.result("session/prompt", sessionId=agent.session, prompt=blocks)
    assert agent.said() == "look at \n[resource_link]PORTICO_TEST_COLOUR=green"


def test_it_writes_its_process_id_where_it_is_told(start: Start, tmp_path: Path) -> None:
    agent = start({"on_initialize": [{"pid_file": str(tmp_path / "pid")}]}).open()
    assert int((tmp_path / "pid").read_text()) == agent.process.pid != os.getpid()
