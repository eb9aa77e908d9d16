"""`portico trace replay` to a client of the test: the recorded messages, in order."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.conductor.tracing.exchanges import make_recording
from portico.conductor.tracing.reader import TraceFile
from portico.conductor.tracing.replay import ReplayAgent
from portico.rpc.streams import memory_pair
from tests.conductor.support import Wire
from tests.tracing.support import Json, Script


class Client:
    def __init__(self, wire: Wire, playing: "asyncio.Task[bool]") -> None:
        self.wire = wire
        self.playing = playing

    def send(self, **message: Any) -> None:
        self.wire.send(json.dumps({"jsonrpc": "2.0", **message}))

    async def receive(self) -> Json:
        return await self.wire.receive()

    async def call(self, number: object, method: str, **params: Any) -> Json:
        """Ask, and expect the answer to be the next that comes."""
        self.send(id=number, method=method, params=params)
        answer = await self.receive()
        assert answer["id"] == number
        return answer


@asynccontextmanager
async def replayed(script: Script, folder: Path) -> AsyncIterator[Client]:
    file = TraceFile.open(script.write(folder / "t.jsonl"))
    near, far = memory_pair()
    recording = make_recording(record for _, record in file.records(file.chains[0]))
    playing = asyncio.create_task(ReplayAgent(recording, near).run())
    try:
        yield Client(Wire(far), playing)
    finally:
        await far.close()
        async with asyncio.timeout(5):
            await playing


def session(script: Script | None = None) -> Script:
    """A recording in which a session was opened."""
    script = script or Script("permissions")
    script.ask("editor→permissions→agent", 0, "initialize", protocolVersion=1)
    script.answer("agent→editor", 0, protocolVersion=1)
    script.ask("editor→agent", 1, "session/new", cwd="/then")
    return script.answer("agent→permissions→editor", 1, sessionId="s1")


def prompt(script: Script, number: int) -> Script:
    return script.ask("editor→agent", number, "session/prompt", sessionId="s1", prompt=[])


async def opened(client: Client) -> None:
    assert (await client.call("a", "initialize", protocolVersion=1))["result"] == {"protocolVersion": 1}
    assert (await client.call("b", "session/new", cwd="/now"))["result"] == {"sessionId": "s1"}


async def test_answers_come_under_the_ids_of_the_live_requests(tmp_path: Path) -> None:
    script = prompt(session(), 2).chunk("agent→permissions→editor", "hello").chunk("agent→editor", " you")
    script.answer("agent→editor", 2, stopReason="end_turn")
    prompt(script, 3).fail("agent→editor", 3, -32000, "sign in first")
    async with replayed(script, tmp_path) as client:
        await opened(client)
        client.send(id="mine", method="session/prompt", params={"sessionId": "s1", "prompt": ["other words"]})
        said = [(await client.receive())["params"]["update"]["content"]["text"] for _ in range(2)]
        assert said == ["hello", " you"]
        assert await client.receive() == {
            "jsonrpc": "2.0",
            "id": "mine",
            "result": {"stopReason": "end_turn"},
        }
        refused = await client.call(77, "session/prompt", sessionId="s1")
        assert refused["error"] == {"code": -32000, "message": "sign in first"}


async def test_what_the_agent_asked_is_asked_again_and_waited_for(tmp_path: Path) -> None:
    script = prompt(session(), 2)
    script.ask("agent→permissions→editor", 9, "fs/read_text_file", sessionId="s1", path="/x")
    script.ask("agent→editor", 10, "fs/read_text_file", sessionId="s1", path="/y").chunk(
        "agent→editor", "both"
    )
    script.answer("editor→agent", 10, content="y").answer("editor→permissions→agent", 9, content="x")
    script.chunk("agent→editor", "done").answer("agent→editor", 2, stopReason="end_turn")
    async with replayed(script, tmp_path) as client:
        await opened(client)
        client.send(id=5, method="session/prompt", params={"sessionId": "s1"})
        first, second, chunk = [await client.receive() for _ in range(3)]
        assert [one["params"]["path"] for one in (first, second)] == ["/x", "/y"]
        assert chunk["params"]["update"]["content"]["text"] == "both"
        client.send(id=first["id"], error={"code": -1, "message": "not today"})
        client.send(id=12345, result={})
        client.send(id=second["id"], result={"content": "new"})
        assert (await client.receive())["params"]["update"]["content"]["text"] == "done"
        assert (await client.receive())["id"] == 5


async def test_terminals_have_the_names_that_they_have_now(tmp_path: Path) -> None:
    script = prompt(session(), 2)
    for number, name in ((1, "term-1"), (2, "term-2")):
        script.ask("agent→editor", number, "terminal/create", sessionId="s1", command="ls")
        script.answer("editor→agent", number, terminalId=name)
    for number, name in ((3, "term-1"), (4, "term-2")):
        script.ask("agent→editor", number, "terminal/release", sessionId="s1", terminalId=name)
        script.answer("editor→agent", number)
    script.answer("agent→editor", 2, stopReason="end_turn")
    async with replayed(script, tmp_path) as client:
        await opened(client)
        client.send(id=5, method="session/prompt", params={"sessionId": "s1"})
        released: list[str] = []
        while (asked := await client.receive())["id"] != 5:
            made = {"terminalId": "term-2" if not released and asked["id"] == 1 else "term-1"}
            released += [asked["params"]["terminalId"]] if asked["method"] == "terminal/release" else []
            client.send(id=asked["id"], result=made)
        assert released == ["term-2", "term-1"]


async def test_what_was_said_before_and_after_an_answer_is_said_there_again(tmp_path: Path) -> None:
    script = Script()
    script.ask("editor→agent", 1, "session/new", cwd="/").chunk("agent→editor", "early")
    script.answer("agent→editor", 1, sessionId="s1").chunk("agent→editor", "late")
    script.tell("agent→editor", "_about/nothing", n=1)
    script.ask("editor→agent", 2, "session/set_mode", sessionId="s1", modeId="x")
    script.fail("agent→editor", 2, -1, "no").chunk("agent→editor", "later")
    async with replayed(script, tmp_path) as client:
        client.send(id=8, method="session/new", params={})
        order = [await client.receive() for _ in range(4)]
        assert [one.get("id") or one["method"] for one in order] == [
            "session/update",
            8,
            "session/update",
            "_about/nothing",
        ]
        assert (await client.call(9, "session/set_mode", sessionId="s1"))["error"]["message"] == "no"
        assert (await client.receive())["params"]["update"]["content"]["text"] == "later"


async def test_what_was_said_late_of_one_session_is_not_taken_for_another(tmp_path: Path) -> None:
    script = Script()
    for number, name in ((1, "s1"), (2, "s2")):
        script.ask("editor→agent", number, "session/new", cwd="/").answer(
            "agent→editor", number, sessionId=name
        )
    script.chunk("agent→editor", "late", "s1")
    async with replayed(script, tmp_path) as client:
        await client.call(1, "session/new")
        assert (await client.receive())["params"]["sessionId"] == "s1"


async def test_requests_in_another_order_find_their_answers(tmp_path: Path) -> None:
    script = prompt(session(), 2).answer("agent→editor", 2, stopReason="end_turn")
    script.ask("editor→agent", 3, "session/set_mode", sessionId="s1").answer("agent→editor", 3, set=True)
    async with replayed(script, tmp_path) as client:
        await opened(client)
        assert (await client.call(1, "session/set_mode", sessionId="s1"))["result"] == {"set": True}
        assert (await client.call(2, "session/prompt", sessionId="s1"))["result"] == {
            "stopReason": "end_turn"
        }


async def test_sessions_side_by_side_do_not_wait_for_each_other(tmp_path: Path) -> None:
    script = session()
    script.ask("editor→agent", 2, "session/new", cwd="/").answer("agent→editor", 2, sessionId="s2")
    script.ask("editor→agent", 3, "session/prompt", sessionId="s1")
    script.ask("editor→agent", 4, "session/prompt", sessionId="s2")
    script.chunk("agent→editor", "two", "s2").chunk("agent→editor", "one", "s1")
    script.answer("agent→editor", 4, of="s2").answer("agent→editor", 3, of="s1")
    async with replayed(script, tmp_path) as client:
        await opened(client)
        assert (await client.call("c", "session/new"))["result"] == {"sessionId": "s2"}
        for name, word in (("s1", "one"), ("s2", "two")):
            client.send(id=name, method="session/prompt", params={"sessionId": name})
            assert (await client.receive())["params"]["update"]["content"]["text"] == word
            assert await client.receive() == {"jsonrpc": "2.0", "id": name, "result": {"of": name}}


async def test_a_turn_that_was_stopped_waits_to_be_stopped(tmp_path: Path) -> None:
    script = prompt(session(), 2).chunk("agent→editor", "working")
    script.tell("editor→agent", "session/cancel", sessionId="s1")
    script.answer("agent→editor", 2, stopReason="cancelled")
    async with replayed(script, tmp_path) as client:
        await opened(client)
        client.send(id=5, method="session/prompt", params={"sessionId": "s1"})
        await client.receive()
        client.send(id=6, method="session/list", params={})
        assert (await client.receive())["id"] == 6
        client.send(method="session/cancel", params={"sessionId": "s1"})
        assert (await client.receive())["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("session/list", {}, -32601, "The recording has no session/list."),
        ("session/new", {}, -32600, "The recording has no further session/new."),
        (
            "session/prompt",
            {"sessionId": "s1"},
            -32600,
            "The recording has no further session/prompt of session s1.",
        ),
        (
            "session/prompt",
            {"sessionId": "x"},
            -32600,
            "The recording has session/prompt of session s1, not of x.",
        ),
    ],
)
async def test_what_the_recording_does_not_have_is_refused_in_words(
    tmp_path: Path, method: str, params: Json, code: int, words: str
) -> None:
    script = prompt(session(), 2).answer("agent→editor", 2, stopReason="end_turn")
    async with replayed(script, tmp_path) as client:
        await opened(client)
        await client.call(1, "session/prompt", sessionId="s1")
        answer = await client.call(2, method, **params)
        assert answer["error"] == {"code": code, "message": words}


async def test_a_recording_that_breaks_off_says_so(tmp_path: Path) -> None:
    async with replayed(prompt(session(), 2).chunk("agent→editor", "and"), tmp_path) as client:
        await opened(client)
        client.send(id=5, method="session/prompt", params={"sessionId": "s1"})
        await client.receive()
        assert "ends before session/prompt was answered" in (await client.receive())["error"]["message"]


async def test_an_agent_that_was_lost_is_lost_again(tmp_path: Path) -> None:
    script = prompt(session(), 2).chunk("agent→editor", "last words")
    script.fail("conductor→editor", 2, -32603, "it is gone").add(type="closed", gone="agent")
    async with replayed(script, tmp_path) as client:
        await opened(client)
        client.send(id=5, method="session/prompt", params={"sessionId": "s1"})
        assert (await client.receive())["params"]["update"]["content"]["text"] == "last words"
        with pytest.raises(EOFError):
            await client.receive()
        assert await client.playing is False
