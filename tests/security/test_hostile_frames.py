"""No frame of a peer ends a process or a turn, and what is said about it is true."""

import json
from pathlib import Path

import pytest
from msgspec import UNSET

from portico.domain import events
from portico.domain.json_depth import MAX_DEPTH
from portico.rpc.malformed import malformed_request_id, malformed_response_id
from portico.rpc.messages import Fault, decode_frame
from tests.conductor.support import chain
from tests.sessions.support import FakeAgent, world
from tests.support.editor import Editor
from tests.support.program import Portico

HALF = rb'{"jsonrpc":"2.0","id":"\ud800","method":"x"}'
NESTED = b'{"jsonrpc":"2.0","id":5,"method":"x","params":%b}'


def nested(depth: int) -> bytes:
    return NESTED % (b"[" * depth + b"]" * depth)


HOSTILE_REQUESTS = [
    (HALF, None, "half of a surrogate pair"),
    (rb'{"jsonrpc":"2.0","id":5,"method":"\udfff"}', 5, "half of a surrogate pair"),
    (rb'{"jsonrpc":"2.0","id":5,"method":"x","params":{"\ud83d":1}}', 5, "half of a surrogate pair"),
    (rb'{"jsonrpc":"2.0","id":5,"method":"x","params":["\ud83d\ud83d"]}', 5, "half of a surrogate pair"),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', None, "float"),
    (b'{"jsonrpc":"2.0","id":true,"method":"x"}', None, "bool"),
    (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', None, "array"),
    (b'{"jsonrpc":"2.0","id":1e400,"method":"x"}', None, "out of range"),
    (b'{"jsonrpc":"2.0","id":5,"method":"x","params":NaN}', 5, "malformed"),
    (b'{"jsonrpc":"2.0","id":5,"method":"x","params":{"cut":', 5, "truncated"),
    (b'{"jsonrpc":"2.0","id":5,"method":"x"}\x00', 5, "malformed"),
    (b'[{"jsonrpc":"2.0","id":5,"method":"x"}]', None, "array"),
    (nested(MAX_DEPTH), 5, f"more than {MAX_DEPTH} deep"),
    (nested(900), 5, f"more than {MAX_DEPTH} deep"),
    (nested(100_000), 5, f"more than {MAX_DEPTH} deep"),
]


@pytest.mark.parametrize(("line", "request_id", "reason"), HOSTILE_REQUESTS)
def test_a_request_that_cannot_be_read_is_refused_for_the_true_reason(
    line: bytes, request_id: int | None, reason: str
) -> None:
    fault = decode_frame(line)
    assert isinstance(fault, Fault)
    assert reason in fault.detail
    assert malformed_request_id(line) == request_id


@pytest.mark.parametrize(
    "line",
    [
        nested(MAX_DEPTH - 1),
        NESTED % json.dumps("[" * 5000 + "{" * 5000).encode(),
        NESTED % json.dumps('\\"[' * 5000).encode(),
        NESTED % json.dumps([{}] * 5000).encode(),
    ],
)
def test_brackets_in_strings_and_side_by_side_are_not_depth(line: bytes) -> None:
    assert not isinstance(decode_frame(line), Fault)


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","method":"x","params":{"a":1,"id":5}',
        b'{"jsonrpc":"2.0","id":5,"params":nope,"method":"x"}',
        b'{"jsonrpc":"2.0","id":5,"method":"x"}\x00',
        b'{"jsonrpc":"2.0","result":{"a":nope,"id":5}}',
    ],
)
def test_a_broken_line_answers_no_request_unless_it_says_so(line: bytes) -> None:
    assert malformed_response_id(line) is UNSET


async def test_the_caller_of_a_broken_answer_is_told_so() -> None:
    async with chain() as ends:
        await ends.initialize()
        ends.client.send('{"jsonrpc":"2.0","id":5,"method":"_x","params":{}}')
        await ends.agent.receive()
        ends.agent.send(b'{"jsonrpc":"2.0","id":5,"result":nope}')
        answer = await ends.client.receive()
        assert answer["id"] == 5
        assert "the answer is malformed" in answer["error"]["message"]


@pytest.mark.parametrize(("line", "request_id", "reason"), HOSTILE_REQUESTS)
async def test_a_chain_refuses_it_at_both_ends_and_goes_on(
    line: bytes, request_id: int | None, reason: str
) -> None:
    async with chain() as ends:
        await ends.initialize()
        for asker, other in ((ends.client, ends.agent), (ends.agent, ends.client)):
            asker.send(line, '{"jsonrpc":"2.0","method":"_after","params":{}}')
            refused = await asker.receive()
            assert refused["id"] == request_id
            assert reason in refused["error"]["message"]
            assert (await other.receive())["method"] == "_after"


async def test_a_host_goes_on_with_the_turn_whatever_its_agent_sends(tmp_path: Path) -> None:
    deep = b'{"a":' * 990 + b"1" + b"}" * 990

    async def answer(agent: FakeAgent, _: object) -> None:
        agent.write_raw(HALF)
        agent.write_raw(nested(950))
        agent.write_raw(b'{"jsonrpc":"2.0","method":"session/update","params":%b}' % deep)
        agent.say("still here")

    async with world(answer, tmp_path) as host:
        told = await host.prompt()
        assert [one.payload.text for one in told if isinstance(one.payload, events.TextDelta)] == [
            "still here"
        ]
        assert [one.payload.state for one in told if isinstance(one.payload, events.TurnEnded)] == [
            "completed"
        ]


@pytest.mark.parametrize("command", ["agent", "acp"])
def test_the_program_lives_on_after_it(portico: Portico, command: str) -> None:
    editor = Editor(portico, command=command)
    editor.send(HALF)
    assert "result" in editor.initialize()
    editor.send(*(line for line, _, _ in HOSTILE_REQUESTS))
    session_id = editor.open_session()
    assert "result" in editor.answer_to(editor.prompt(session_id, "/help"))
    assert editor.hang_up().code == 0
