"""A real server and its callers: the Python client, plain HTTP as curl does it, Connect for Node, other processes."""

import asyncio
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from connectrpc.code import Code
from connectrpc.errors import ConnectError

from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.api.v1.agent_client import AgentServiceClient
from tests.support.program import Portico
from tests.support.serving import SERVICE, Server, Streamed, detach, stopped
from tests.support.stream import Json
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
DEADLINE = 60.0
ASKING = json.dumps(
    [
        {"tool": {"id": "c1", "title": "Clean up", "kind": "execute", "statuses": ["pending"]}},
        {"permission": {"tool": "c1", "allowed": [{"say": "went on"}], "rejected": [{"say": "held back"}]}},
    ]
)


def steps(*done: Json) -> str:
    """A prompt that tells the scripted agent what to do."""
    return json.dumps(done)


@pytest.fixture
def server(portico: Portico) -> Iterator[Server]:
    words = shlex.split(portico.agent)
    portico.settings({"agents": {"scripted": {"command": words[0], "args": words[1:]}}})
    found = Server(portico)
    detach(portico)
    yield found
    found.end()


class Caller:
    """A program that uses the generated Python client."""

    def __init__(self, server: Server) -> None:
        self.service = AgentServiceClient(server.url.rstrip("/"))
        self.headers = {"authorization": f"Bearer {server.token}"}
        self.session_id = ""

    async def start(self) -> pb.SessionDetail:
        answer = await self.service.start_session(
            pb.StartSessionRequest(agent="scripted"), headers=self.headers
        )
        assert answer.session is not None
        assert answer.session.summary is not None
        self.session_id = answer.session.summary.session_id
        return answer.session

    def invoke(self, text: str, *, queue: bool = False) -> AsyncIterator[pb.InvokeResponse]:
        when_busy = pb.WhenBusy.QUEUE if queue else pb.WhenBusy.REFUSE
        request = pb.InvokeRequest(session_id=self.session_id, text=text, when_busy=when_busy)
        return self.service.invoke(request, headers=self.headers)

    async def turn(self, text: str, *, queue: bool = False) -> list[events_pb.Event]:
        return [
            one.update.value
            async for one in self.invoke(text, queue=queue)
            if one.update is not None and one.update.field == "event"
        ]

    def watch(self, after_seq: int = 0) -> AsyncGenerator[pb.WatchResponse]:
        request = pb.WatchRequest(session_id=self.session_id, after_seq=after_seq)
        stream = self.service.watch(request, headers=self.headers)
        assert isinstance(stream, AsyncGenerator)
        return stream

    async def events_until(self, kind: str, after_seq: int = 0) -> list[events_pb.Event]:
        """Messages to a watcher, up to the first event of a kind."""
        found: list[events_pb.Event] = []
        async with aclosing(self.watch(after_seq)) as watching:
            async for news in watching:
                if news.update is not None and news.update.field == "event":
                    found.append(news.update.value)
                    if kind_of(found[-1]) == kind:
                        return found
        raise AssertionError(f"the stream ended without {kind}")

    async def submit(self, field: str, value: object) -> None:
        request = pb.SubmitClientEventRequest(session_id=self.session_id, event=one_of(field, value))
        await self.service.submit_client_event(request, headers=self.headers)

    async def desk(self) -> pb.Desk:
        request = pb.GetSessionRequest(session_id=self.session_id)
        answer = await self.service.get_session(request, headers=self.headers)
        assert answer.session is not None
        assert answer.session.desk is not None
        return answer.session.desk


def refusal(server: Server, call: str, request: Json) -> Json:
    """Error for an impossible request."""
    body = json.dumps(request).encode()
    replied = server.call(
        "POST", SERVICE + call, token=server.token, body=body, content_type="application/json"
    )
    found: Json = replied.json
    assert (replied.status, found["code"]) == (400, "invalid_argument"), found
    return found


def kind_of(event: events_pb.Event) -> str:
    assert event.payload is not None
    return event.payload.field


def words(events: list[events_pb.Event]) -> str:
    return "".join(
        event.payload.value.text
        for event in events
        if event.payload is not None and event.payload.field == "text_delta"
    )


class TestThePythonClient:
    async def test_a_whole_turn_with_a_permission_in_it(self, server: Server) -> None:
        async with asyncio.timeout(DEADLINE):
            caller = Caller(server)
            detail = await caller.start()
            assert detail.summary is not None
            assert detail.summary.is_new
            turn = asyncio.create_task(caller.turn(ASKING))
            asked = (await caller.events_until("permission_requested"))[-1]
            assert asked.payload is not None
            question = asked.payload.value
            assert isinstance(question, events_pb.PermissionRequested)
            allow = next(
                one for one in question.options if one.kind is events_pb.PermissionOptionKind.ALLOW_ONCE
            )
            decision = pb.PermissionDecision(request_id=question.request_id, option_id=allow.option_id)
            await caller.submit("permission_decisions", pb.PermissionDecisions(decisions=[decision]))
            events = await turn
            assert (kind_of(events[0]), kind_of(events[-1])) == ("prompt_submitted", "state_changed")
            assert words(events) == "went on"
            with pytest.raises(ConnectError) as late:
                await caller.submit("permission_decisions", pb.PermissionDecisions(decisions=[decision]))
            assert late.value.code is Code.INVALID_ARGUMENT

    async def test_a_turn_outlives_its_caller_and_is_read_on_by_number(
        self, portico: Portico, server: Server
    ) -> None:
        async with asyncio.timeout(DEADLINE):
            caller = Caller(server)
            await caller.start()
            turn = asyncio.create_task(
                caller.turn(
                    steps({"say": "before"}, {"wait_file": str(portico.workspace / "go")}, {"say": "after"})
                )
            )
            seen = await caller.events_until("text_delta")
            turn.cancel()
            await asyncio.wait((turn,))
            (portico.workspace / "go").touch()
            rest = await caller.events_until("turn_ended", after_seq=seen[-1].seq)
            numbers = [event.seq for event in seen + rest]
            assert numbers == list(range(1, len(numbers) + 1))
            assert words(seen + rest) == "beforeafter"

    async def test_prompts_wait_in_line_and_go_once(self, portico: Portico, server: Server) -> None:
        async with asyncio.timeout(DEADLINE):
            caller = Caller(server)
            await caller.start()
            first = asyncio.create_task(
                caller.turn(steps({"say": "one"}, {"wait_file": str(portico.workspace / "go")}))
            )
            await caller.events_until("text_delta")
            with pytest.raises(ConnectError) as refused:
                await caller.turn("say no")
            assert refused.value.code is Code.ABORTED
            waiting = caller.invoke("say two", queue=True)
            queued = await anext(waiting)
            assert queued.update is not None
            assert queued.update.field == "queued"
            assert [one.text for one in (await caller.desk()).queue] == ["say two"]
            await caller.submit("draft", pb.DraftChange(text="three", client_id="me"))
            (portico.workspace / "go").touch()
            second = [
                one.update.value
                async for one in waiting
                if one.update is not None and one.update.field == "event"
            ]
            assert words(await first) == "one"
            assert words(second) == "two"
            desk = await caller.desk()
            assert (desk.draft, desk.client_id, list(desk.queue)) == ("three", "me", [])

    async def test_a_failed_call_says_what_a_card_shows(self, server: Server) -> None:
        caller = Caller(server)
        caller.session_id = "nothing"
        with pytest.raises(ConnectError) as missing:
            await caller.turn("say hello")
        assert missing.value.code is Code.NOT_FOUND
        (detail,) = missing.value.details
        told = events_pb.ErrorDetails.from_binary(detail.message_bytes)
        assert told.code is events_pb.ErrorCode.SESSION_NOT_FOUND
        assert "portico sessions list" in told.suggestion

    async def test_a_deleted_session_ends_its_watchers(self, server: Server) -> None:
        async with asyncio.timeout(DEADLINE):
            caller = Caller(server)
            await caller.start()
            watching = caller.watch()
            await anext(watching)
            await caller.service.clear_session(
                pb.ClearSessionRequest(session_id=caller.session_id), headers=caller.headers
            )
            assert [one async for one in watching if one.update and one.update.field == "heartbeat"] == []


class TestPlainHttp:
    @pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
    def test_a_workspace_that_cannot_be_one_is_refused_in_words(self, server: Server) -> None:
        folder = server.portico.workspace
        (folder / "file").touch()
        (folder / "broken").symlink_to("nowhere")
        (folder / "loop").symlink_to("loop")
        impossible = ["a\0b", "x" * 300, "file", "file/below", "loop"]
        for name in [*impossible, "broken", "missing"]:
            refused = refusal(server, "StartSession", {"workspace": f"{folder}/{name}"})
            assert "is not a folder" in refused["message"] or "cannot be used" in refused["message"], refused
            assert len(refused["message"]) < 400
            assert "folder" in refused["details"][0]["debug"]["suggestion"]
        for name in impossible:
            for call in ("ListAgents", "ListScenarios", "GetSettings"):
                refusal(server, call, {"workspace": f"{folder}/{name}"})
        assert server.ask("ListAgents", {"workspace": f"{folder}/missing"})["agents"]
        session_id = start(server)
        for name in ("a\0b", "x" * 300, "loop"):
            turn = {"sessionId": session_id, "text": "say hello", "attachments": [{"path": name}]}
            ending = server.stream("Invoke", turn).end()
            assert ending["error"]["code"] == "invalid_argument", ending

    def test_a_whole_turn_with_a_permission_in_it(self, server: Server) -> None:
        session_id = start(server)
        turn = server.stream("Invoke", {"sessionId": session_id, "text": ASKING})
        asked = until_kind(turn, "permissionRequested")
        options = {one["kind"]: one["optionId"] for one in asked["options"]}
        decision = {
            "requestId": asked["requestId"],
            "optionId": options["PERMISSION_OPTION_KIND_REJECT_ONCE"],
        }
        server.ask(
            "SubmitClientEvent",
            {"sessionId": session_id, "permissionDecisions": {"decisions": [decision]}},
        )
        assert until_kind(turn, "textDelta")["text"] == "held back"
        assert until_kind(turn, "turnEnded")["state"] == "TURN_STATE_COMPLETED"
        assert turn.end() == {}
        preview = server.ask("GetConversationPreview", {"sessionId": session_id})
        assert preview["lastAnswer"] == "held back"

    def test_the_page_about_the_service_tells_the_truth(self, portico: Portico, server: Server) -> None:
        page = (ROOT / "docs" / "concepts" / "service.md").read_text(encoding="utf-8")
        script = page.split("```sh\n", 1)[1].split("```", 1)[0]
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=portico.workspace,
            env=portico.environ({"PORT": str(server.port), "TOKEN_FILE": str(server.token_file)}),
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
        assert done.stdout.decode().splitlines()[-1].startswith('"`/read <path>')

    def test_a_server_that_is_killed_between_the_log_and_the_line_sends_nothing_twice(
        self, portico: Portico, server: Server
    ) -> None:
        session_id = start(server)
        go = portico.workspace / "go"
        prompt = steps({"say": "one"}, {"wait_file": str(go)})
        turn = server.stream("Invoke", {"sessionId": session_id, "text": prompt})
        until_kind(turn, "textDelta")
        streams = [turn]
        for text in ("say two\nhang", "say three"):
            queue = {"sessionId": session_id, "text": text, "whenBusy": "WHEN_BUSY_QUEUE"}
            streams.append(server.stream("Invoke", queue))
            assert "queued" in (streams[-1].next() or {})
        go.touch()
        watching = server.stream("Watch", {"sessionId": session_id})
        until_kind(watching, "promptSubmitted")
        until_kind(watching, "promptSubmitted")
        server.process.kill()
        for stream in (*streams, watching):
            stream.leave()
        wait_until(lambda: not server.answers(), "the end of the server")
        detach(portico)
        told = server.ask("GetSession", {"sessionId": session_id})["session"]
        assert told["summary"]["state"] == "TURN_STATE_INTERRUPTED"
        assert [one["text"] for one in told["desk"]["queue"]] == ["say three"]
        events = server.ask("GetTimeline", {"sessionId": session_id, "limit": 1000})["events"]
        prompts = [one["promptSubmitted"]["text"] for one in events if "promptSubmitted" in one]
        assert prompts == [prompt, "say two\nhang"]

    def test_an_answer_that_was_taken_is_in_the_log_of_a_server_that_is_killed_right_then(
        self, portico: Portico, server: Server
    ) -> None:
        session_id, process = start(server), server.process
        turn = server.stream("Invoke", {"sessionId": session_id, "text": ASKING})
        request_id = until_kind(turn, "permissionRequested")["requestId"]
        decision = {"requestId": request_id, "optionId": "allow_once"}
        server.ask(
            "SubmitClientEvent",
            {"sessionId": session_id, "permissionDecisions": {"decisions": [decision]}},
        )
        process.kill()
        turn.leave()
        wait_until(lambda: not server.answers(), "the end of the server")
        detach(portico)
        events = server.ask("GetTimeline", {"sessionId": session_id, "limit": 1000})["events"]
        (resolved,) = [one["permissionResolved"] for one in events if "permissionResolved" in one]
        assert (resolved["requestId"], resolved["outcome"]) == (request_id, "PERMISSION_OUTCOME_ALLOWED")

    def test_a_session_that_was_stopped_with_its_server_goes_on_in_the_next(
        self, portico: Portico, server: Server
    ) -> None:
        session_id = start(server)
        turn = server.stream("Invoke", {"sessionId": session_id, "text": "say one\nhang"})
        until_kind(turn, "textDelta")
        stopped(portico)
        assert turn.end() == {}
        detach(portico)
        turn = server.stream("Invoke", {"sessionId": session_id, "text": "say two"})
        until_kind(turn, "textDelta")
        assert turn.end() == {}
        assert server.ask("GetConversationPreview", {"sessionId": session_id})["lastAnswer"] == "two"


@pytest.mark.parametrize("protocol", ["connect", "grpc-web"])
def test_connect_for_node_has_a_whole_turn_with_a_permission_in_it(
    server: Server, tmp_path: Path, protocol: str
) -> None:
    program = tmp_path / "client.mjs"
    modules = ROOT / "web" / "node_modules"
    node = shutil.which("node")
    assert node is not None, "the tests need Node"
    flags = ["--bundle", "--platform=node", "--format=esm", f"--outfile={program}", "--log-level=error"]
    subprocess.run(
        [modules / ".bin" / "esbuild", ROOT / "tests" / "peers" / "service_client.ts", *flags],
        env={**os.environ, "NODE_PATH": str(modules)},
        timeout=DEADLINE,
        check=True,
    )
    done = subprocess.run(
        [node, program, protocol, server.url.rstrip("/"), "turn", ASKING],
        env={"TOKEN": server.token},
        capture_output=True,
        timeout=DEADLINE,
        check=False,
    )
    heard = json.loads(done.stdout)
    assert heard["answer"] == "went on", (heard, done.stderr)
    assert (heard["kinds"][0], heard["kinds"][-2:]) == ("promptSubmitted", ["turnEnded", "stateChanged"])
    assert "permissionResolved" in heard["kinds"]


def test_a_session_of_another_process_is_watched_and_not_taken(portico: Portico, server: Server) -> None:
    go = portico.workspace / "go"
    other = portico.start_exec([{"say": "one"}, {"wait_file": str(go)}, {"say": "two"}])
    other.until("text_delta")
    (summary,) = server.ask("ListSessions", {})["sessions"]
    session_id = summary["sessionId"]
    assert server.ask("GetSession", {"sessionId": session_id})["session"]["openElsewhere"] is True
    watching = server.stream("Watch", {"sessionId": session_id})
    watching.until("one")
    refused = server.stream("Invoke", {"sessionId": session_id, "text": "say no"}).end()
    assert refused["error"]["code"] == "aborted"
    go.touch()
    watching.until("turnEnded")
    ran = other.end()
    assert ran.stream.answer == "onetwo"
    mine = server.stream("Invoke", {"sessionId": session_id, "text": "say three"})
    until_kind(mine, "textDelta")
    watching.until("three")
    assert mine.end() == {}
    watching.leave()


def start(server: Server) -> str:
    session_id = server.ask("StartSession", {"agent": "scripted"})["session"]["summary"]["sessionId"]
    assert isinstance(session_id, str)
    return session_id


def until_kind(stream: Streamed, kind: str) -> Json:
    """Read up to an event of a kind; what it says."""
    while (message := stream.next()) is not None:
        found = message.get("event", {}).get(kind)
        if found is not None:
            assert isinstance(found, dict)
            return found
    raise AssertionError(f"the stream ended without {kind}: {stream.ending}")
