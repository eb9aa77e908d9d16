"""Requests of the scripted agent to a client, and its handling of the answers."""

from pathlib import Path

import pytest

from tests.testing.conftest import Start
from tests.testing.driver import Driver, Json

BRANCHES = {"allowed": [{"say": "yes"}], "rejected": [{"say": "no"}], "cancelled": [{"say": "off"}]}


def selected(option: str) -> Json:
    return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}


CANCELLED: Json = {"result": {"outcome": {"outcome": "cancelled"}}}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (selected("allow_once"), "yes"),
        (selected("allow_always"), "yes"),
        (selected("reject_once"), "no"),
        (CANCELLED, "off"),
        (selected("made_up"), "permission failed: 'made_up' was not among the options"),
    ],
)
def test_a_permission_branches_on_what_was_decided(start: Start, answer: Json, said: str) -> None:
    agent = start([{"permission": {"title": "Delete", "kind": "delete", **BRANCHES}}]).open()
    agent.serves["session/request_permission"] = lambda _: answer
    assert agent.turn() == "end_turn"
    assert agent.said() == said
    assert agent.honest()


def test_a_permission_shows_the_options_it_was_given(start: Start) -> None:
    own = {"optionId": "7", "name": "Always in src", "kind": "allow_always"}
    agent = start([{"permission": {"tool": "t9", "options": [own, "reject_always"]}}]).open()
    agent.prompt()
    asked = agent.until_request("session/request_permission")["params"]
    assert asked["toolCall"] == {"toolCallId": "t9", "title": "Go on"}
    assert asked["options"] == [
        own,
        {"optionId": "reject_always", "name": "Reject always", "kind": "reject_always"},
    ]
    assert agent.honest()


def test_without_branches_the_decision_is_said_and_cancelled_ends_the_turn(start: Start) -> None:
    agent = start([{"permission": {}}, {"say": "!"}]).open()
    agent.serves["session/request_permission"] = lambda _: selected("reject_once")
    assert agent.turn() == "end_turn"
    assert agent.said() == "permission reject_once!"
    agent.serves["session/request_permission"] = lambda _: CANCELLED
    assert agent.turn() == "cancelled"


def test_a_permission_refused_with_an_error_has_a_branch_too(start: Start) -> None:
    agent = start([{"permission": {"failed": [{"say": "broken"}]}}]).open()
    agent.serves["session/request_permission"] = lambda _: {"error": {"code": -32603, "message": "no"}}
    agent.turn()
    assert agent.said() == "broken"


def test_a_stopped_turn_waits_for_the_permission_the_client_owes(start: Start) -> None:
    agent = start([{"permission": {"cancelled": [{"say": "put away"}]}}, {"say": "never"}]).open()
    prompt = agent.prompt()
    asked = agent.until_request("session/request_permission")
    agent.cancel()
    agent.send({"id": asked["id"], **CANCELLED})
    assert agent.answer_to(prompt)["result"]["stopReason"] == "cancelled"
    assert agent.said() == "put away"


def test_it_reads_and_writes_files_through_the_client(start: Start, tmp_path: Path) -> None:
    steps = [
        {"read": {"path": "a.txt", "line": 2, "limit": 1}},
        {"write": {"path": "b.txt", "content": "new"}},
    ]
    agent = start(steps).open()
    asked: list[Json] = []

    def read(params: Json) -> Json:
        asked.append(params)
        return {"result": {"content": "line two\n"}}

    def write(params: Json) -> Json:
        asked.append(params)
        return {"result": {}}

    agent.serves = {"fs/read_text_file": read, "fs/write_text_file": write}
    agent.turn()
    assert asked == [
        {"sessionId": agent.session, "path": str(tmp_path / "a.txt"), "line": 2, "limit": 1},
        {"sessionId": agent.session, "path": str(tmp_path / "b.txt"), "content": "new"},
    ]
    assert agent.said() == "line two\nwrote b.txt"
    assert agent.honest()


def test_it_says_what_the_client_refused(start: Start) -> None:
    steps = [{"read": {"path": "a"}}, {"write": {"path": "a", "content": ""}}, {"run": {"command": "ls"}}]
    agent = start(steps).open()
    refuse = {"error": {"code": -32002, "message": "gone"}}
    methods = ("fs/read_text_file", "fs/write_text_file", "terminal/create")
    agent.serves = {method: lambda _: refuse for method in methods}
    agent.turn()
    assert agent.said() == "".join(f"{verb} failed: -32002 gone" for verb in ("read", "write", "run"))


def terminal(agent: Driver, exit_status: Json) -> list[str]:
    """Serve terminals; the methods called, in order."""
    calls: list[str] = []

    def serve(method: str, result: Json) -> None:
        def answer(params: Json) -> Json:
            calls.append(method)
            return {"result": result}

        agent.serves[f"terminal/{method}"] = answer

    serve("create", {"terminalId": "term-1"})
    serve("kill", {})
    serve("wait_for_exit", exit_status)
    serve("output", {"output": "hello\n", "truncated": False, "exitStatus": exit_status})
    serve("release", {})
    return calls


def test_it_runs_a_command_in_a_terminal_and_shows_it_in_a_tool_call(start: Start, tmp_path: Path) -> None:
    step = {"command": "echo", "args": ["hello"], "env": {"A": "b"}, "cwd": "sub", "output_byte_limit": 9}
    agent = start([{"run": step}]).open()
    calls = terminal(agent, {"exitCode": 0})
    agent.turn()
    assert calls == ["create", "wait_for_exit", "output", "release"]
    created = next(message for message in agent.seen if message.get("method") == "terminal/create")["params"]
    assert created == {
        "sessionId": agent.session,
        "command": "echo",
        "args": ["hello"],
        "env": [{"name": "A", "value": "b"}],
        "cwd": str(tmp_path / "sub"),
        "outputByteLimit": 9,
    }
    call, done, text = agent.updates()
    assert (call["title"], call["kind"]) == ("echo hello", "execute")
    assert call["content"] == [{"type": "terminal", "terminalId": "term-1"}]
    assert (done["toolCallId"], done["status"]) == (call["toolCallId"], "completed")
    assert text["content"]["text"] == "exit 0: hello\n"
    assert agent.honest()


def test_it_can_kill_a_command_and_keep_its_terminal(start: Start) -> None:
    agent = start([{"run": {"command": "sleep", "id": "r", "kill": True, "release": False}}]).open()
    calls = terminal(agent, {"exitCode": None, "signal": "SIGKILL"})
    agent.turn()
    assert calls == ["create", "kill", "wait_for_exit", "output"]
    assert agent.updates()[1] == {"sessionUpdate": "tool_call_update", "toolCallId": "r", "status": "failed"}
    assert agent.said() == "signal SIGKILL: hello\n"


def test_a_stopped_turn_kills_its_command_first(start: Start) -> None:
    agent = start([{"run": {"command": "sleep"}}]).open()
    calls = terminal(agent, {"signal": "SIGKILL"})
    del agent.serves["terminal/wait_for_exit"]
    prompt = agent.prompt()
    waiting = agent.until_request("terminal/wait_for_exit")
    agent.cancel()
    agent.until_request("terminal/kill")
    agent.send({"id": waiting["id"], "result": {"signal": "SIGKILL"}})
    assert agent.answer_to(prompt)["result"]["stopReason"] == "cancelled"
    assert calls == ["create", "kill", "output", "release"]
    assert agent.honest()


def test_it_sends_any_request_and_notification(start: Start) -> None:
    steps = [
        {"notify": {"method": "_note", "params": {"of": ["$session"]}}},
        {"request": {"method": "_ask", "params": {"of": "$session"}, "id": "mine", "wait": False}},
        {"notify": {"method": "$/cancel_request", "params": {"requestId": "mine"}}},
        {"request": {"method": "_ask"}},
    ]
    agent = start(steps).open()
    prompt = agent.prompt()
    assert agent.receive()["params"] == {"of": [agent.session]}
    assert agent.receive() == {
        "jsonrpc": "2.0",
        "id": "mine",
        "method": "_ask",
        "params": {"of": agent.session},
    }
    assert agent.receive()["params"] == {"requestId": "mine"}
    agent.send({"id": agent.receive()["id"], "result": {"n": 1}})
    agent.answer_to(prompt)
    assert agent.said() == '{"result":{"n":1}}'
    assert agent.honest()


def test_two_requests_in_flight_can_have_one_id(start: Start) -> None:
    read = {"method": "fs/read_text_file", "params": {"sessionId": "$session", "path": "/a"}}
    agent = start([{"duplicate_id": {"requests": [read, read]}}]).open()
    prompt = agent.prompt()
    first, second = agent.receive(), agent.receive()
    assert first == second
    agent.send({"id": first["id"], "result": {"content": "a"}})
    agent.send({"id": second["id"], "error": {"code": -32600, "message": "twice"}})
    agent.answer_to(prompt)
    assert agent.said() == "2 answers to one id"
    assert not agent.honest()
