"""Files that `--trace` writes: every frame, on every hop, readable for their owner only."""

import os
from pathlib import Path

import pytest

from portico.conductor.proxy import Proxy
from portico.conductor.tracing.writer import TraceWriter
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.rpc.messages import Message
from tests.tracing.support import NOON, Ticking, frames, hops, lines, traced_chain

PROMPT = '{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","n":1.50}}'


class Marking(Proxy):
    name = "marking"
    client_methods = frozenset({"session/prompt"})

    def from_client(self, message: Message) -> None:
        words = codecs.decode_json(message.params)
        self.forward_right(message.with_params({**words, "mark": True}), self.node.send_left)


class Answering(Proxy):
    name = "answering"
    client_methods = frozenset({"session/prompt"})

    def from_client(self, message: Message) -> None:
        self.answer_client(message, {"stopReason": "refusal"})


async def test_each_hop_has_its_frame_with_direction_and_time(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with traced_chain(path, Marking()) as ends:
        await ends.initialize()
        ends.client.send(PROMPT)
        await ends.agent.receive()
        ends.agent.send('{"jsonrpc":"2.0","id":7,"result":{}}')
        await ends.client.receive()
    there = [one for one in frames(path) if one["frame"].get("method") == "session/prompt"]
    assert [(one["from"], one["to"], one["direction"]) for one in there] == [
        ("editor", "marking", "to_agent"),
        ("marking", "agent", "to_agent"),
    ]
    assert "mark" not in there[0]["frame"]["params"]
    assert there[1]["frame"]["params"]["mark"] is True
    assert hops(path, number=7)[2:] == ["agent→marking", "marking→editor"]
    times = [line["at"] for line in lines(path)]
    assert times[0] == "2027-01-15T12:00:00.000Z"
    assert times == sorted(times)


async def test_a_message_that_no_proxy_looks_at_is_one_frame_with_its_own_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    strange = '{ "params": {"b" :1.50},"method":"_x/y", "jsonrpc":"2.0" }'
    async with traced_chain(path, Marking(), Answering()) as ends:
        await ends.initialize()
        ends.agent.send(strange)
        await ends.client.line()
    assert hops(path, "_x/y") == ["agent→editor"]
    assert strange in path.read_text()


async def test_what_a_proxy_answers_goes_no_further(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with traced_chain(path, Answering()) as ends:
        await ends.initialize()
        ends.client.send(PROMPT)
        await ends.client.receive()
    assert hops(path, number=7) == ["editor→answering", "answering→editor"]


async def test_a_chain_says_who_stands_in_it_and_who_ended_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with traced_chain(path, Marking(), Marking()) as ends:
        await ends.initialize()
    kinds = {line["type"]: line for line in lines(path)}
    assert kinds["opened"]["links"] == ["editor", "marking", "marking 2", "agent"]
    assert kinds["closed"]["gone"] == "client"
    async with traced_chain(path) as ends:
        await ends.initialize()
        await ends.agent.stream.close()
        with pytest.raises(EOFError):
            await ends.client.receive()
    assert lines(path)[-1]["gone"] == "agent"


async def test_what_the_conductor_says_itself_is_written_as_its_own(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with traced_chain(path) as ends:
        ends.client.send(PROMPT)
        assert "before initialize" in (await ends.client.receive())["error"]["message"]
        await ends.initialize()
        ends.agent.send('{"jsonrpc":"2.0","id":9,"method":"_x","params":"\\ud800"}')
        await ends.agent.receive()
    assert hops(path, number=7) == ["editor→conductor", "conductor→editor"]
    assert hops(path, number=9) == ["conductor→agent"]


async def test_what_went_no_further_is_written_as_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with traced_chain(path) as ends:
        await ends.initialize()
        ends.agent.send("hello, I am an agent", '{"jsonrpc":"2.0","method":"_a"}')
        await ends.client.receive()
    (fault,) = [line for line in lines(path) if line["type"] == "fault"]
    assert (fault["from"], fault["kind"], fault["sample"]) == ("agent", "not_json", "hello, I am an agent")


async def test_secrets_of_the_environment_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    async with traced_chain(path, environ={"MY_API_KEY": "a-secret-of-mine"}) as ends:
        await ends.initialize()
        ends.agent.send('{"jsonrpc":"2.0","method":"_a","params":"it is a-secret-of-mine"}')
        assert "a-secret-of-mine" in (await ends.client.receive())["params"]
    assert frames(path)[-1]["frame"]["params"] == "it is [hidden]"
    assert "a-secret-of-mine" not in path.read_text()


class TestFile:
    def test_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        TraceWriter.open(path, {}, Ticking()).close()
        assert path.stat().st_mode & 0o777 == 0o600
        path.chmod(0o644)
        TraceWriter.open(path, {}, Ticking()).close()
        assert path.stat().st_mode & 0o777 == 0o600

    def test_a_later_run_is_added(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        TraceWriter.open(path, {}, Ticking()).close()
        with path.open("a") as file:
            file.write('{"type":"frame","at":"cut o')
        TraceWriter.open(path, {}, Ticking()).close()
        first, _, last = path.read_text().splitlines()
        assert first == last

    def test_a_file_that_is_no_trace_is_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.md"
        path.write_text("# Notes\n")
        path.chmod(0o644)
        with pytest.raises(InvalidInput, match="it exists and is not a trace"):
            TraceWriter.open(path, {}, Ticking())
        assert (path.read_text(), path.stat().st_mode & 0o777) == ("# Notes\n", 0o644)

    def test_what_cannot_be_written_is_refused(self, tmp_path: Path) -> None:
        fifo = tmp_path / "pipe"
        os.mkfifo(fifo)
        for path in (tmp_path / "no" / "t.jsonl", tmp_path, fifo):
            with pytest.raises(InvalidInput, match="cannot be written") as refused:
                TraceWriter.open(path, {}, Ticking())
            assert refused.value.suggestion

    def test_times_are_those_of_the_clock(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        TraceWriter.open(path, {}, lambda: NOON + 1234).close()
        assert lines(path)[0]["at"] == "2027-01-15T12:00:01.234Z"
