"""An agent without a script does what the text of the prompt says, and says back any other text."""

import json
from pathlib import Path
from typing import Any

import pytest

from portico.testing import stream_numbers
from portico.testing.agent.prompt_text import COMMANDS, steps_of
from tests.testing.conftest import Start


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "read the manual, please",
        "stream of consciousness",
        "plan a holiday",
        "say one\nand then this",
        "[not json",
        "crash landing",
        "stream 1",
        "run",
        "big deal",
    ],
)
def test_text_that_is_no_command_is_said_back(text: str) -> None:
    assert steps_of(text) == [{"echo": {}}]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("say hello there", [{"say": "hello there"}]),
        ("think hm", [{"think": "hm"}]),
        ("stream 10 40", [{"stream": {"count": 10, "size": 40, "delay_ms": 0}}]),
        ("stream 10 40 5", [{"stream": {"count": 10, "size": 40, "delay_ms": 5}}]),
        ("resend 3 10", [{"resend": {"count": 3, "size": 10}}]),
        ("title A name", [{"title": "A name"}]),
        ("read a.txt", [{"read": {"path": "a.txt"}}]),
        ("write a.txt some text", [{"write": {"path": "a.txt", "content": "some text"}}]),
        ("run echo hi", [{"run": {"command": "echo", "args": ["hi"]}}]),
        ("env HOME", [{"env": "HOME"}]),
        ("stop refusal", [{"stop_reason": "refusal"}]),
        ("error -32000 log in", [{"error": {"code": -32000, "message": "log in"}}]),
        ("stderr oh no", [{"stderr": "oh no\n"}]),
        ("wait /a b", [{"wait_file": "/a b"}]),
        ("touch /a", [{"touch": "/a"}]),
        ("big 1000", [{"big": {"bytes": 1000}}]),
        ("ignore cancel sigterm", [{"ignore": ["cancel", "sigterm"]}]),
        ("crash", [{"crash": {"code": 1}}]),
        ("crash 7", [{"crash": {"code": 7}}]),
        ("crash after 5", [{"crash": {"code": 1, "after": 5}}]),
        ("crash SIGKILL after 5", [{"crash": {"signal": "SIGKILL", "after": 5}}]),
        ("child /pid", [{"child": {"pid_file": "/pid"}}]),
        ("say a\nhang", [{"say": "a"}, {"hang": {}}]),
        ('[{"say": "json"}]', [{"say": "json"}]),
    ],
)
def test_a_command_becomes_its_steps(text: str, steps: list[dict[str, Any]]) -> None:
    assert steps_of(text) == steps


def test_one_command_line_is_enough(start: Start) -> None:
    agent = start().open()
    assert agent.turn("stream 1000 40") == "end_turn"
    assert stream_numbers(agent.said()) == list(range(1, 1001))
    agent.seen.clear()
    agent.turn("What now?")
    assert agent.said() == "What now?"
    agent.turn("tool\nplan\nusage\ncommands\nthink so")
    assert [kind for kind in agent.kinds() if not kind.startswith("agent_message")] == [
        "tool_call",
        "tool_call_update",
        "tool_call_update",
        "plan",
        "usage_update",
        "available_commands_update",
        "agent_thought_chunk",
    ]
    assert agent.honest()
    agent.turn("unknown")
    assert agent.updates()[-1]["sessionUpdate"] == "weather_update"


@pytest.mark.parametrize(
    ("option", "status", "said"),
    [("allow_once", "completed", "allowed"), ("reject_once", "failed", "rejected")],
)
def test_a_permission_ends_its_tool_call(start: Start, option: str, status: str, said: str) -> None:
    agent = start().open()
    agent.serves["session/request_permission"] = lambda _: {
        "result": {"outcome": {"outcome": "selected", "optionId": option}}
    }
    agent.turn("permission")
    assert agent.updates()[1]["status"] == status
    assert agent.said() == said
    assert agent.honest()


def test_a_malformed_line_and_then_the_rest(start: Start) -> None:
    agent = start().open()
    agent.prompt("malformed\nsay on")
    assert agent.line() == b"this is not JSON\n"
    assert agent.receive()["params"]["update"]["content"]["text"] == "on"


def test_steps_in_a_prompt_are_checked_as_in_a_script(start: Start) -> None:
    agent = start().open()
    refused = agent.answer_to(agent.prompt(json.dumps([{"shout": "a"}])))
    assert refused["error"]["code"] == -32602
    assert "there is no verb 'shout'" in refused["error"]["message"]


def test_every_command_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "testing.md").read_text()
    assert [name for name in COMMANDS if f"`{name}" not in manual] == []
