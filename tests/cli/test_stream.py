"""`portico exec --json-stream`: what a program that reads the stream can count on."""

import json

import jsonschema_rs
import pytest

from portico.doors.ndjson import stream_schema
from portico.testing import stream_text
from tests.support.frames import FrameWatch
from tests.support.program import Portico, agent_command
from tests.support.waiting import wait_for_file


def test_a_turn_is_a_valid_stream_and_nothing_else(portico: Portico, frame_watch: FrameWatch) -> None:
    ran = portico.exec("stream 400 40")
    stream = ran.stream
    assert (ran.code, ran.err) == (0, "")
    assert stream.lines[0]["seq"] == 1
    assert stream.types[:3] == ["session_started", "prompt_submitted", "state_changed"]
    assert stream.answer == stream_text(400, 40)
    assert "".join(delta["text"] for delta in stream.all("text_delta")) == stream_text(400, 40)
    assert frame_watch.check() > 400, "the tap saw the whole turn"


def test_the_published_schema_is_the_one_the_stream_keeps_to(portico: Portico) -> None:
    ran = portico.run("schema", "stream")
    assert (ran.code, ran.err) == (0, "")
    printed = json.loads(ran.out)
    assert printed == json.loads(json.dumps(stream_schema()))
    validator = jsonschema_rs.validator_for(printed)
    line = portico.exec("say hello").stream.lines[-1]
    assert validator.is_valid(line)
    assert not validator.is_valid({**line, "surprise": 1})
    assert not validator.is_valid({**line, "type": "weather"})
    assert not validator.is_valid({**line, "payload": {}})


async def test_every_line_is_the_event_of_the_log_with_that_number(portico: Portico) -> None:
    stream = portico.exec("think hm\nsay hello\ntool\nplan\nusage").stream
    events = await portico.log(stream.session_id)
    assert [event.seq for event in events] == [line["seq"] for line in stream.lines]
    assert [event.timestamp for event in events] == [line["timestamp"] for line in stream.lines]
    assert [event.kind for event in events[:-2]] == stream.types[:-2]
    assert [event.kind for event in events[-2:]] == ["turn_ended", "state_changed"]


def test_a_stream_shows_thoughts_tools_plans_usage_commands_and_titles(portico: Portico) -> None:
    stream = portico.exec("think hm\ntool\nplan\nusage\ncommands\ntitle Neat\nsay done").stream
    assert stream.only("thinking")["text"] == "hm"
    assert stream.only("tool_completed")["success"]
    assert stream.only("plan_updated")["entries"]
    assert stream.only("usage_updated") == {"used": 1200, "size": 200000}
    assert [command["name"] for command in stream.only("commands_updated")["commands"]] == ["plan", "review"]
    assert stream.only("title_updated")["title"] == "Neat"
    assert stream.result["toolsUsed"] == 1


def test_a_stop_reason_of_the_agent_is_in_the_result(portico: Portico) -> None:
    assert portico.exec("say so far\nstop max_tokens").stream.result["stopReason"] == "max_tokens"


def test_text_in_any_script_arrives_as_it_was_sent(portico: Portico) -> None:
    words = "naïve Ἀθῆναι 東京 🏛 \u202e\u0007 end"
    assert portico.exec([{"say": words}]).stream.answer == words


def test_a_turn_goes_on_in_its_session(portico: Portico) -> None:
    first = portico.exec("say one").stream
    second = portico.exec("say two", "--continue").stream
    assert second.session_id == first.session_id
    assert second.lines[0]["seq"] == first.lines[-1]["seq"] + 1
    assert second.lines[0]["payload"]["continued"]
    assert second.answer == "two"


def test_a_session_is_named_by_a_unique_beginning_of_its_id(portico: Portico) -> None:
    first = portico.exec("say one").stream
    assert portico.exec("say two").stream.session_id != first.session_id
    named = portico.exec("say three", "--session", first.session_id[:-2]).stream
    assert named.session_id == first.session_id


def test_a_session_is_continued_in_its_own_folder_from_wherever_it_is_named(portico: Portico) -> None:
    first = portico.exec("say one").stream
    elsewhere = portico.workspace.parent / "elsewhere"
    elsewhere.mkdir()
    named = portico.exec("say two", "--session", first.session_id, cwd=elsewhere).stream
    assert named.lines[0]["payload"]["workspace"] == str(portico.workspace)
    assert portico.exec("say three", "--continue", cwd=elsewhere).code == 5


def test_a_session_goes_on_with_the_agent_it_was_begun_with(portico: Portico) -> None:
    portico.exec("say one")
    ran = portico.run("exec", "--json-stream", "--continue", "say two")
    attached = [
        change["agentSession"] for change in ran.stream.all("state_changed") if "agentSession" in change
    ]
    assert [one["attachedBy"] for one in attached] == ["resume"]


def test_an_agent_that_cannot_find_its_session_is_told_what_was_said(portico: Portico) -> None:
    forgetful = ("--agent-command", agent_command())
    portico.exec("say the word is swordfish", *forgetful)
    stream = portico.exec("what was the word?", "--continue", *forgetful).stream
    assert "swordfish" in stream.answer, "the agent says back what it was sent"
    assert any("summary" in notice for notice in stream.notices)


def test_the_prompt_can_come_from_standard_input(portico: Portico) -> None:
    ran = portico.run(
        "exec", "--json-stream", "--agent-command", agent_command(), "-", stdin="say grüße".encode()
    )
    assert ran.stream.answer == "grüße"


def test_another_folder_can_be_worked_in(portico: Portico) -> None:
    other = portico.workspace.parent / "other"
    other.mkdir()
    (other / "note.txt").write_text("from the other folder")
    stream = portico.exec("read note.txt", "--cwd", "../other").stream
    assert stream.answer == "from the other folder"
    assert stream.lines[0]["payload"]["workspace"] == str(other)


@pytest.mark.parametrize("wanted", ["large", "The Large One"])
def test_a_model_is_chosen_by_value_or_name(portico: Portico, wanted: str) -> None:
    option = {
        "type": "select",
        "id": "model",
        "name": "Model",
        "category": "model",
        "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "The Large One"}],
    }
    agent = agent_command({"config_options": [option]})
    stream = portico.exec("say hello", "--agent-command", agent, "--model", wanted).stream
    assert [one["value"] for update in stream.all("config_updated") for one in update["options"]][
        -1
    ] == "large"
    refused = portico.exec("say hello", "--agent-command", agent, "--model", "huge")
    assert (refused.code, refused.stream.error["code"]) == (5, "INVALID_INPUT")


def test_a_reader_that_sleeps_holds_nothing_up_and_misses_nothing(portico: Portico) -> None:
    running = portico.start_exec("stream 5000 200\ntouch streamed")
    wait_for_file(portico.workspace / "streamed")
    ran = running.end()
    assert ran.code == 0
    assert ran.stream.answer == stream_text(5000, 200)


def test_secrets_of_the_environment_are_not_in_the_tap(portico: Portico, frame_watch: FrameWatch) -> None:
    stream = portico.exec("env SERVICE_TOKEN", environ={"SERVICE_TOKEN": "hush-hush-1234"}).stream
    assert stream.answer == "SERVICE_TOKEN=hush-hush-1234", "the agent has it"
    (tap,) = frame_watch.folder.glob("*.ndjson")
    assert b"SERVICE_TOKEN=[hidden]" in tap.read_bytes()


def test_a_stream_whose_log_is_lost_on_the_way_still_ends_with_its_result_and_its_exit_code(
    portico: Portico,
) -> None:
    running = portico.start_exec("say before\ntool\nwait go\nsay after")
    running.until("tool_completed")
    for part in portico.state.glob("portico.db*"):
        part.unlink()
    (portico.workspace / "go").touch()
    ran = running.end()
    assert ran.code == 2
    stream = ran.stream
    assert "portico.db" in stream.error["message"]
    assert stream.error["message"] in ran.err
    assert (stream.result["state"], stream.result["stopReason"]) == ("failed", "error")
    assert (stream.result["toolsUsed"], stream.answer) == (1, "before")
    assert stream.lines[-1]["payload"]["previous"] == "streaming"
