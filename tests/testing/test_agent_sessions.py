"""The scripted agent as a good ACP agent: sessions, their life, and what a later process knows of them."""

from pathlib import Path

import pytest

from portico.testing import read_transcript, stream_text
from tests.testing.conftest import Start
from tests.testing.driver import Driver, Json


def test_it_introduces_itself_and_opens_a_session(start: Start) -> None:
    agent = start()
    hello = agent.result("initialize", protocolVersion=1)
    assert hello["protocolVersion"] == 1
    assert hello["agentCapabilities"]["loadSession"] is True
    assert agent.result("session/new", cwd=str(agent.cwd), mcpServers=[]) == {"sessionId": "scripted-1"}
    assert agent.result("session/new", cwd=str(agent.cwd), mcpServers=[]) == {"sessionId": "scripted-2"}
    assert agent.honest()


def test_it_says_what_it_was_told_to_about_itself(start: Start) -> None:
    agent = start({"protocol_version": 7, "capabilities": {"loadSession": False}})
    hello = agent.result("initialize", protocolVersion=1)
    assert (hello["protocolVersion"], hello["agentCapabilities"]) == (7, {"loadSession": False})


@pytest.mark.parametrize("method", ["load", "resume", "list", "close", "delete", "fork"])
def test_what_it_does_not_offer_it_does_not_have(start: Start, method: str) -> None:
    agent = start({"capabilities": {}}).open()
    params = {"sessionId": agent.session, "cwd": str(agent.cwd), "mcpServers": []}
    assert agent.call(f"session/{method}", **params)["error"]["code"] == -32601


def test_a_loaded_session_is_told_again_word_for_word(start: Start) -> None:
    agent = start().open()
    agent.turn("say hello")
    agent.turn("stream 3 20")
    agent.seen.clear()
    agent.result("session/load", sessionId=agent.session, cwd=str(agent.cwd), mcpServers=[])
    assert agent.kinds() == ["user_message_chunk", "agent_message_chunk"] * 2
    assert agent.said("user_message_chunk") == "say hellostream 3 20"
    assert agent.said() == "hello" + stream_text(3, 20)
    assert agent.honest()


def test_a_later_process_finds_the_sessions_of_an_earlier_one(start: Start, tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = start(state=state).open()
    first.turn("say remember me")
    first.turn("title Old times")
    first.process.kill()

    second = start(state=state)
    second.result("initialize", protocolVersion=1)
    listed = second.result("session/list")["sessions"]
    assert listed == [{"sessionId": first.session, "cwd": str(tmp_path), "title": "Old times"}]

    second.session = first.session
    second.result("session/resume", sessionId=first.session, cwd=str(tmp_path))
    assert second.updates() == []
    assert second.turn("say and more") == "end_turn"

    third = start(state=state)
    third.result("initialize", protocolVersion=1)
    third.result("session/load", sessionId=first.session, cwd=str(tmp_path), mcpServers=[])
    assert third.said() == "remember meand more"
    assert third.result("session/new", cwd=str(tmp_path), mcpServers=[])["sessionId"] == "scripted-2"
    assert third.honest()


def test_which_prompt_it_is_counts_over_processes(start: Start, tmp_path: Path) -> None:
    script = {"on_prompt": [[{"say": "first"}, {"crash": {}}], [{"say": "second"}]]}
    first = start(script, state=tmp_path / "state").open()
    first.prompt()
    assert first.exit_code() == 1
    second = start(script, state=tmp_path / "state")
    second.result("initialize", protocolVersion=1)
    second.session = first.session
    second.result("session/load", sessionId=first.session, cwd=str(tmp_path), mcpServers=[])
    assert second.said() == "first"
    second.turn()
    second.turn()
    assert second.said() == "firstsecondsecond"


def test_a_list_comes_in_pages_and_by_folder(start: Start, tmp_path: Path) -> None:
    agent = start({"page_size": 2})
    agent.result("initialize", protocolVersion=1)
    for folder in ("a", "b", "a", "a"):
        agent.result("session/new", cwd=str(tmp_path / folder), mcpServers=[])
    first = agent.result("session/list", cwd=str(tmp_path / "a"))
    rest = agent.result("session/list", cwd=str(tmp_path / "a"), cursor=first["nextCursor"])
    ids = [session["sessionId"] for page in (first, rest) for session in page["sessions"]]
    assert ids == ["scripted-1", "scripted-3", "scripted-4"]
    assert "nextCursor" not in rest
    assert agent.honest()


def test_closing_a_session_stops_its_turn_and_deleting_forgets_it(start: Start) -> None:
    agent = start().open()
    turn = agent.prompt("hang")
    closing = agent.request("session/close", sessionId=agent.session)
    answers = {message["id"]: message for message in (agent.receive(), agent.receive())}
    assert answers[turn]["result"] == {"stopReason": "cancelled"}
    assert answers[closing]["result"] == {}
    unknown = agent.answer_to(agent.prompt("hello"))
    assert unknown["error"]["code"] == -32002
    agent.result("session/delete", sessionId=agent.session)
    assert agent.result("session/list") == {"sessions": []}
    gone = agent.call("session/load", sessionId=agent.session, cwd=str(agent.cwd), mcpServers=[])
    assert gone["error"]["code"] == -32002
    assert agent.honest()


def test_a_turn_does_not_bring_a_deleted_session_back(start: Start, tmp_path: Path) -> None:
    agent = start(state=tmp_path / "state").open()
    prompt = agent.prompt("wait go\nsay I am still here")
    agent.result("session/delete", sessionId=agent.session)
    (tmp_path / "go").touch()
    agent.answer_to(prompt)
    assert agent.said() == "I am still here"
    assert agent.result("session/list") == {"sessions": []}


def test_modes_and_options_can_be_changed_and_are_remembered(start: Start) -> None:
    choice = {"id": "model", "name": "Model", "type": "select", "currentValue": "small"}
    options = [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}]
    script = {"modes": ["ask", "code"], "config_options": [choice | {"options": options}]}
    agent = start(script)
    agent.result("initialize", protocolVersion=1)
    opened = agent.result("session/new", cwd=str(agent.cwd), mcpServers=[])
    assert opened["modes"]["currentModeId"] == "ask"
    session = opened["sessionId"]
    agent.result("session/set_mode", sessionId=session, modeId="code")
    changed = agent.result("session/set_config_option", sessionId=session, configId="model", value="large")
    assert changed["configOptions"][0]["currentValue"] == "large"
    resumed = agent.result("session/resume", sessionId=session, cwd=str(agent.cwd))
    assert resumed["modes"]["currentModeId"] == "code"
    assert resumed["configOptions"] == changed["configOptions"]
    assert agent.call("session/set_mode", sessionId=session, modeId="fly")["error"]["code"] == -32602
    unknown = agent.call("session/set_config_option", sessionId=session, configId="x", value="y")
    assert unknown["error"]["code"] == -32602
    assert agent.honest()


def test_an_agent_that_wants_a_login_says_so_until_it_has_one(start: Start) -> None:
    agent = start({"auth_required": True, "auth_methods": [{"id": "key", "name": "API key"}]})
    assert agent.result("initialize", protocolVersion=1)["authMethods"][0]["id"] == "key"
    refused = agent.call("session/new", cwd=str(agent.cwd), mcpServers=[])
    assert refused["error"]["code"] == -32000
    assert agent.call("authenticate", methodId="other")["error"]["code"] == -32602
    agent.result("authenticate", methodId="key")
    agent.result("session/new", cwd=str(agent.cwd), mcpServers=[])
    assert agent.honest()


def test_two_sessions_have_turns_at_the_same_time(start: Start, tmp_path: Path) -> None:
    agent = start().open()
    one = agent.session
    agent.session = agent.result("session/new", cwd=str(tmp_path), mcpServers=[])["sessionId"]
    held = agent.prompt(f"wait {tmp_path / 'go'}\nsay late")
    agent.session = one
    assert agent.turn("say early") == "end_turn"
    (tmp_path / "go").touch()
    agent.answer_to(held)
    assert agent.said() == "earlylate"


def test_a_second_prompt_in_a_running_turn_is_refused(start: Start) -> None:
    agent = start().open()
    first, second = agent.prompt("hang"), agent.prompt("say me too")
    assert agent.answer_to(second)["error"]["code"] == -32600
    agent.cancel()
    assert agent.answer_to(first)["result"]["stopReason"] == "cancelled"


def test_what_is_no_request_gets_the_errors_of_json_rpc(start: Start) -> None:
    agent = start()
    assert agent.process.stdin is not None
    agent.process.stdin.write(b"not json\n[]\n")
    agent.process.stdin.flush()
    assert [agent.receive()["error"]["code"] for _ in range(2)] == [-32700, -32600]
    assert agent.call("_portico/unknown")["error"]["code"] == -32601
    assert agent.call("session/new", mcpServers=[])["error"]["code"] == -32602


def test_it_leaves_when_the_client_hangs_up(start: Start) -> None:
    agent = start().open()
    agent.hang_up()
    assert agent.exit_code() == 0


@pytest.mark.parametrize("phase", ["on_initialize", "on_prompt"])
@pytest.mark.parametrize("wait", [{"hang": {}}, {"wait_file": "never"}, {"request": {"method": "_ask"}}])
def test_it_leaves_when_the_client_hangs_up_in_the_middle(start: Start, phase: str, wait: Json) -> None:
    agent = start({phase: [[wait]] if phase == "on_prompt" else [wait]})
    if phase == "on_prompt":
        agent.open().prompt()
    else:
        agent.request("initialize", protocolVersion=1)
    agent.hang_up()
    assert agent.exit_code() == 0


def test_the_transcript_has_every_line_of_both_sides_in_order(start: Start, tmp_path: Path) -> None:
    script = [{"raw": {"base64": "/wAK"}}, {"say": "größer"}]
    transcript = tmp_path / "wire"
    agent = start(script, transcript=transcript).open()
    prompt = agent.prompt()
    assert agent.line() == b"\xff\x00\n"
    agent.answer_to(prompt)
    lines = read_transcript(transcript)
    assert [line.direction for line in lines] == ["received", "sent"] * 2 + ["received"] + ["sent"] * 3
    assert lines[4].message["params"]["sessionId"] == agent.session
    assert lines[5].line == b"\xff\x00\n"
    assert lines[6].message["params"]["update"]["content"]["text"] == "größer"
    with pytest.raises(ValueError, match="codec"):
        _ = lines[5].message


def test_no_transcript_is_an_empty_one(tmp_path: Path) -> None:
    assert read_transcript(tmp_path / "never") == []


def test_a_half_line_of_a_killed_process_does_not_hide_what_follows(start: Start, tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = start(state=state).open()
    first.turn("say before")
    first.process.kill()
    with (state / f"{first.session}.jsonl").open("ab") as file:
        file.write(b'\n{"sessionUpdate":"agent_mess')

    def loaded() -> Driver:
        agent = start(state=state)
        agent.result("initialize", protocolVersion=1)
        agent.result("session/load", sessionId=first.session, cwd=str(tmp_path), mcpServers=[])
        agent.session = first.session
        return agent

    second = loaded()
    assert second.said() == "before"
    second.turn("say after")
    assert loaded().said() == "beforeafter"


def test_a_fork_remembers_what_its_source_did_and_then_its_own(start: Start, tmp_path: Path) -> None:
    agent = start(state=tmp_path / "state").open()
    agent.turn("say one")
    source = agent.session
    agent.session = agent.result("session/fork", sessionId=source, cwd=str(tmp_path))["sessionId"]
    assert agent.session != source
    agent.turn("say two")
    agent.seen.clear()
    agent.result("session/load", sessionId=agent.session, cwd=str(tmp_path), mcpServers=[])
    assert agent.said() == "onetwo"
    agent.seen.clear()
    agent.result("session/load", sessionId=source, cwd=str(tmp_path), mcpServers=[])
    assert agent.said() == "one"
    refused = agent.call("session/fork", sessionId="nobody", cwd=str(tmp_path))
    assert refused["error"]["code"] == -32002
    assert agent.honest()
