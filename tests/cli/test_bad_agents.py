"""Agents that break the protocol: what they did wrong is a notice in the stream, and the turn continues."""

import base64
import json

import pytest

from portico.testing import stream_text
from tests.support.frames import FrameWatch
from tests.support.program import Portico, agent_command
from tests.support.stream import Json

MEGABYTE = 1_000_000


def raw(data: bytes) -> Json:
    return {"raw": {"base64": base64.b64encode(data).decode()}}


def same_id_twice() -> Json:
    """Both requests in one write, so that the second comes while the first is being served."""
    params = {"sessionId": "scripted-1", "path": "/nowhere"}
    request = {"jsonrpc": "2.0", "id": "same", "method": "fs/read_text_file", "params": params}
    return raw(2 * (json.dumps(request).encode() + b"\n"))


MISDEEDS: dict[str, tuple[list[Json], str]] = {
    "a line that is not JSON": ([raw(b"this is not JSON\n")], "not JSON"),
    "half a line of JSON": ([raw(b'{"jsonrpc":"2.0","method"\n')], "not JSON"),
    "a number": ([raw(b"42\n")], "not a JSON-RPC message"),
    "an array": ([raw(b"[]\n")], "not a JSON-RPC message"),
    "an object with nothing in it": ([raw(b"{}\n")], "not a JSON-RPC message"),
    "invalid UTF-8": ([raw(b'{"jsonrpc":"2.0","method":"x\xff"}\n')], "not UTF-8"),
    "a NUL byte": ([raw(b"\0\n")], "not JSON"),
    "a NUL byte inside a message": ([raw(b'{"jsonrpc":"2.0","method":"x\0y"}\n')], "not JSON"),
    "endless nesting": ([raw(b"[" * 20_000 + b"\n")], "Ignored"),
    "nesting inside an update": (
        [
            raw(
                b'{"jsonrpc":"2.0","method":"session/update","params":'
                + b'{"x":' * 8_000
                + b"1"
                + b"}" * 8_000
                + b"}\n"
            )
        ],
        "Ignored",
    ),
    "an answer to no request": ([{"respond": {"id": 4711, "result": {}}}], "unexpected response"),
    "an error to no request": (
        [{"respond": {"id": "x", "error": {"code": 1, "message": "no"}}}],
        "unexpected response",
    ),
    "one id for two requests": ([same_id_twice()], "still being served"),
    "an update of an unknown kind": (
        [{"update": {"sessionUpdate": "weather_update", "sky": "clear"}}],
        "weather_update",
    ),
    "an update of the wrong shape": (
        [{"update": {"sessionUpdate": "agent_message_chunk", "content": 7}}],
        "agent_message_chunk",
    ),
    "an update without a kind": ([{"update": {"content": []}}], "update"),
    "an update for nobody": (
        [{"notify": {"method": "session/update", "params": {"update": {}}}}],
        "does not fit",
    ),
    "an update for another session": (
        [
            {
                "notify": {
                    "method": "session/update",
                    "params": {
                        "sessionId": "other",
                        "update": {
                            "sessionUpdate": "agent_message_chunk",
                            "content": {"type": "text", "text": "psst"},
                        },
                    },
                }
            }
        ],
        "not open",
    ),
    "a notification nobody knows": (
        [{"notify": {"method": "_weather", "params": {"sky": "clear"}}}],
        "_weather",
    ),
}


@pytest.mark.parametrize("misdeed", MISDEEDS)
def test_a_turn_survives(portico: Portico, misdeed: str) -> None:
    steps, words = MISDEEDS[misdeed]
    ran = portico.exec([{"say": "before "}, *steps, {"say": "after"}], "--allow", "all")
    assert (ran.code, ran.err) == (0, "")
    stream = ran.stream
    assert stream.answer.startswith("before ")
    assert stream.answer.endswith("after")
    assert any(words in notice for notice in stream.notices), stream.notices


def test_the_unknown_is_kept_as_it_came(portico: Portico) -> None:
    update = {"sessionUpdate": "weather_update", "sky": "clear", "wind": [1, 2.5, None]}
    (notice,) = portico.exec([{"update": update}]).stream.all("notice")
    assert notice["raw"] == update


@pytest.mark.timeout(300)
def test_a_line_of_fifty_megabytes_is_passed_over(portico: Portico) -> None:
    steps = [{"say": "before "}, {"big": {"bytes": 50 * MEGABYTE}}, {"say": "after"}]
    stream = portico.exec(steps).stream
    assert stream.answer == "before after"
    assert any(str(50 * MEGABYTE) in notice for notice in stream.notices)


def test_a_line_of_five_megabytes_is_taken(portico: Portico) -> None:
    stream = portico.exec([{"big": {"bytes": 5 * MEGABYTE}}]).stream
    assert len(stream.answer) > 4.9 * MEGABYTE
    assert stream.notices == []


def test_many_malformed_lines_are_counted_and_not_told_one_by_one(portico: Portico) -> None:
    nonsense = {"repeat": {"count": 500, "steps": [raw(b"nonsense\n")]}}
    stream = portico.exec([nonsense, {"stream": {"count": 20, "size": 10}}]).stream
    assert stream.answer == stream_text(20, 10)
    assert len(stream.notices) < 50
    assert sum(notice.get("count", 1) for notice in stream.all("notice")) == 500


@pytest.mark.parametrize("moment", ["on_initialize", "on_new"])
def test_nonsense_before_the_session_does_no_harm(portico: Portico, moment: str) -> None:
    script = {moment: [raw(b"Welcome to my agent!\n")], "on_prompt": [[{"say": "hello"}]]}
    assert portico.exec("x", "--agent-command", agent_command(script)).stream.answer == "hello"


def test_updates_before_the_session_is_there_are_not_lost(portico: Portico) -> None:
    script = {"on_new": [{"commands": ["review"]}, {"answer": {}}], "on_prompt": [[{"say": "hello"}]]}
    stream = portico.exec("x", "--agent-command", agent_command(script)).stream
    assert [command["name"] for command in stream.only("commands_updated")["commands"]] == ["review"]
    assert stream.notices == []


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_an_agent_of_another_protocol_version_is_refused_with_both_versions(
    portico: Portico, version: int
) -> None:
    ran = portico.exec("say hello", "--agent-command", agent_command({"protocol_version": version}))
    assert ran.code != 0
    assert ran.stream.answer == ""
    assert f"version {version}" in ran.stream.error["message"]


def test_a_request_that_is_not_offered_gets_an_error(portico: Portico) -> None:
    stream = portico.exec([{"request": {"method": "session/fly", "params": {}}}]).stream
    assert '"code":-32601' in stream.answer.replace(" ", "")


def test_a_request_with_wrong_parameters_gets_an_error(portico: Portico, frame_watch: FrameWatch) -> None:
    stream = portico.exec([{"request": {"method": "fs/read_text_file", "params": {"path": 7}}}]).stream
    assert '"code":-32602' in stream.answer.replace(" ", "")
    assert frame_watch.check()


def test_an_answer_given_twice_is_heard_once(portico: Portico) -> None:
    steps = [{"say": "once"}, {"answer": {"result": {"stopReason": "end_turn"}}}, {"answer": {}}]
    ran = portico.exec(steps)
    assert (ran.code, ran.stream.answer) == (0, "once")


def test_what_an_agent_says_on_standard_error_stays_out_of_the_stream(portico: Portico) -> None:
    agent = agent_command({"on_prompt": [[{"stderr": "a word to the side\n"}, {"say": "hello"}]]})
    ran = portico.exec("x", "--agent-command", agent)
    assert (ran.stream.answer, ran.err) == ("hello", "")
    assert not any(
        line["type"] != "session_started" and "to the side" in str(line) for line in ran.stream.lines
    )


def test_a_program_that_sends_back_what_it_is_sent_is_no_agent(portico: Portico) -> None:
    ran = portico.run("exec", "--agent-command", "cat", "hello")
    assert ran.code == 5
    assert "not an ACP agent" in ran.complaint[0]
    assert "portico agents list" in ran.complaint[1]
