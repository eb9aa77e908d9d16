"""The checker lets every right frame of the protocol pass, and no wrong one."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest

from portico.testing import FrameChecker, InvalidFrames, check_tap_file
from tests.acp.schema_examples import DEFINITIONS, SCHEMA, examples

Side = Literal["client", "agent"]
Json = dict[str, Any]

OTHER: dict[str, Side] = {"client": "agent", "agent": "client"}


def messages(kind: str) -> list[tuple[str, str, Side]]:
    """Every (definition, method, handler) of a kind; what either side may handle is there twice."""
    found: list[tuple[str, str, Side]] = []
    for name, definition in DEFINITIONS.items():
        if name.endswith(kind) and "x-method" in definition:
            method, side = definition["x-method"], definition["x-side"]
            handlers: list[Side] = [side] if side in OTHER else ["client", "agent"]
            found += [(name, method, handler) for handler in handlers]
    return found


def check(*frames: tuple[Side, Json]) -> list[str]:
    """The problems of the last of some frames; those before it are right."""
    checker = FrameChecker(SCHEMA)
    problems: list[str] = []
    for sender, frame in frames:
        assert problems == []
        found = checker.check("sent", json.dumps({"jsonrpc": "2.0", **frame}), sender)
        problems = [problem.message for problem in found]
    return problems


def good(definition: str) -> list[Any]:
    return [value for full in (False, True) for value in examples(DEFINITIONS[definition], full=full)]


@pytest.mark.parametrize(("definition", "method", "handler"), messages("Request"))
def test_a_request_is_judged_by_its_method_and_direction(definition: str, method: str, handler: Side) -> None:
    sender = OTHER[handler]
    for params in good(definition):
        assert check((sender, {"id": 1, "method": method, "params": params})) == []
    assert check((sender, {"id": 1, "method": method, "params": {"_meta": 5}})) != []
    if (method, handler) not in {(known, OTHER[side]) for _, known, side in messages("Request")}:
        assert "may send" in check((handler, {"id": 1, "method": method, "params": {}}))[0]


@pytest.mark.parametrize(("definition", "method", "handler"), messages("Notification"))
def test_a_notification_is_judged_by_its_method_and_direction(
    definition: str, method: str, handler: Side
) -> None:
    sender = OTHER[handler]
    for params in good(definition):
        assert check((sender, {"method": method, "params": params})) == []
    assert check((sender, {"method": method, "params": {"_meta": 5}})) != []
    if DEFINITIONS[definition]["x-side"] in OTHER:
        assert "may send" in check((handler, {"method": method, "params": {}}))[0]


@pytest.mark.parametrize(("definition", "method", "handler"), messages("Response"))
def test_a_result_is_judged_by_the_request_it_answers(definition: str, method: str, handler: Side) -> None:
    request = definition.removesuffix("Response") + "Request"
    asked: tuple[Side, Json] = (
        OTHER[handler],
        {"id": 1, "method": method, "params": good(request)[0]},
    )
    for result in good(definition):
        assert check(asked, (handler, {"id": 1, "result": result})) == []
    assert check(asked, (handler, {"id": 1, "error": {"code": -32603, "message": "no"}})) == []
    assert check(asked, (handler, {"id": 1, "error": {"message": "no code"}})) != []
    assert check(asked, (handler, {"id": 1, "result": {}, "error": {"code": 1, "message": ""}})) != []
    if definition != "ProxySuccessorResponse":
        assert check(asked, (handler, {"id": 1, "result": {"_meta": 5}})) != []


LIST: tuple[Side, Json] = ("client", {"id": 1, "method": "session/list"})


INITIALIZE: tuple[Side, Json] = (
    "client",
    {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}},
)


@pytest.mark.parametrize(
    ("frames", "complaint"),
    [
        ([("client", {"jsonrpc": "1.0", "id": 1, "method": "session/list"})], '"jsonrpc" is not "2.0"'),
        ([("client", {"id": 1, "method": "session/list", "extra": 1})], "JSON-RPC has no extra"),
        ([("client", {"id": 1.5, "method": "session/list"})], "1.5"),
        ([("client", {"id": {}, "method": "session/list"})], "{}"),
        ([("client", {"id": 1, "method": 5})], '"method" is not text'),
        ([("client", {"id": 1, "method": "session/list", "result": {}})], '"result" beside "method"'),
        ([("client", {"id": 1, "method": "session/made_up"})], "no request that the client may send"),
        ([("client", {"method": "session/list"})], "no notification that the client may send"),
        ([("agent", {"id": 1, "result": {}})], "it answers no request"),
        ([LIST, ("agent", {"id": "1", "result": {"sessions": []}})], "it answers no request"),
        ([LIST, ("client", {"id": 1, "result": {"sessions": []}})], "it answers no request"),
        ([LIST, LIST], "not answered yet"),
        ([("agent", {"id": 1})], "neither a call nor an answer"),
        ([("agent", {"result": {}})], "an answer without an id"),
        (
            [LIST, ("agent", {"id": 1, "result": {"sessions": []}}), ("agent", {"id": 1, "result": {}})],
            "no request",
        ),
    ],
)
def test_the_rules_of_json_rpc_hold(frames: list[tuple[Side, Json]], complaint: str) -> None:
    assert complaint in "; ".join(check(*frames))


@pytest.mark.parametrize(
    "frames",
    [
        [LIST, ("agent", {"id": 1, "result": {"sessions": []}}), LIST],
        [
            ("client", {"id": "a", "method": "_own/method", "params": [1]}),
            ("agent", {"id": "a", "result": 5}),
        ],
        [("agent", {"method": "_own/note"})],
        [INITIALIZE, INITIALIZE],
        [("agent", {"id": None, "error": {"code": -32700, "message": "not JSON"}})],
        [LIST, ("agent", {"id": 1, "method": "_mine"}), ("agent", {"id": 1, "result": {"sessions": []}})],
    ],
)
def test_what_the_rules_allow_passes(frames: list[tuple[Side, Json]]) -> None:
    assert check(*frames) == []


@pytest.mark.parametrize(
    "line",
    [b"", b"nonsense", b"[]", b'"text"', b"\xff", b'{"a":1}\n{"b":2}', b'{"jsonrpc":"2.0","id":NaN}'],
)
def test_a_line_is_one_json_object(line: bytes) -> None:
    problems = FrameChecker(SCHEMA).check("sent", line, "client")
    assert [problem.message.split(":")[0] for problem in problems] == ["not a JSON object on one line"]


def test_a_problem_says_where_it_is_and_which_frame_has_it() -> None:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 5}}
    frame = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
    (problem,) = FrameChecker(SCHEMA).check("received", json.dumps(frame).encode() + b"\n", "agent")
    assert (problem.direction, problem.sender, problem.method) == ("received", "agent", "session/update")
    assert "update.content.text" in problem.message
    assert "agent_message_chunk" in problem.frame
    assert str(problem).startswith("received by the agent: session/update:")


def tap(path: Path, *frames: tuple[str, str, str, object]) -> Path:
    lines = [
        {"connection": connection, "role": role, "direction": direction, "frame": json.dumps(frame)}
        for connection, role, direction, frame in frames
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


ASK = {"jsonrpc": "2.0", "id": 1, "method": "session/list"}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"sessions": []}}


def test_a_tap_file_is_read_connection_by_connection(tmp_path: Path) -> None:
    path = tap(
        tmp_path / "tap",
        ("agent a", "client", "sent", ASK),
        ("editor", "agent", "received", ASK),
        ("editor", "agent", "sent", ANSWER),
        ("agent a", "client", "received", ANSWER),
    )
    assert check_tap_file(path, SCHEMA) == 4


def test_what_peers_send_is_followed_and_not_judged(tmp_path: Path) -> None:
    wrong = {"jsonrpc": "2.0", "id": 1, "result": {"sessions": 5}}
    path = tap(
        tmp_path / "tap",
        ("a", "client", "sent", ASK),
        ("a", "client", "received", "junk"),
        ("a", "client", "received", wrong),
    )
    with path.open("ab") as file:
        file.write(b'{"connection":"a","ro')
    assert check_tap_file(path, SCHEMA) == 3


@pytest.mark.parametrize(
    "frame", [{"jsonrpc": "2.0", "id": 1, "result": {"sessions": 5}}, {"jsonrpc": "2.0"}]
)
def test_a_wrong_frame_that_portico_sent_is_an_error_with_its_text(tmp_path: Path, frame: Json) -> None:
    path = tap(tmp_path / "tap", ("a", "agent", "received", ASK), ("a", "agent", "sent", frame))
    with pytest.raises(InvalidFrames, match="1 of 2 frames") as raised:
        check_tap_file(path, SCHEMA)
    assert json.dumps(frame) in str(raised.value)
