"""The frame check that runs in every test sees all frames that Portico sends."""

import asyncio
import json

import pytest

from portico.acp import _schema as acp
from portico.acp.agent import AgentSideConnection
from portico.acp.client import ClientSideConnection
from portico.acp.connection import MethodHandler
from portico.rpc.messages import RpcError
from portico.rpc.streams import memory_pair
from portico.testing import InvalidFrames
from tests.support.frames import FrameWatch
from tests.support.program import Portico


class Deaf:
    """A listener that does not mind what it hears."""

    def update(self, session_id: str, update: object) -> None: ...

    def unknown_update(self, session_id: str, raw: object) -> None: ...

    def notified(self, method: str, params: object) -> None: ...

    def fault(self, fault: object) -> None: ...

    async def ready(self) -> None: ...


async def new_session(_: acp.NewSessionRequest) -> acp.NewSessionResponse:
    return acp.NewSessionResponse(session_id="s1")


async def bad_prompt(_: acp.PromptRequest) -> acp.Wire:
    return acp.NewSessionResponse(session_id="an answer to something else")


def ends() -> tuple[ClientSideConnection, AgentSideConnection]:
    near, far = memory_pair()
    serve: dict[str, MethodHandler] = {"session/new": new_session, "session/prompt": bad_prompt}
    agent = AgentSideConnection(far, name="client", serve=serve, on_cancel=lambda _: None)
    return ClientSideConnection(near, Deaf(), name="agent", serve={}), agent


async def test_good_frames_of_both_ends_pass(frame_watch: FrameWatch) -> None:
    client, agent = ends()
    async with asyncio.TaskGroup() as reading:
        tasks = [reading.create_task(end.run()) for end in (client, agent)]
        answer = await client.new_session(acp.NewSessionRequest(cwd="/", mcp_servers=[]))
        for task in tasks:
            task.cancel()
    assert answer.session_id == "s1"
    assert frame_watch.take_problems() == []


async def test_a_wrong_notification_of_a_client_is_caught(frame_watch: FrameWatch) -> None:
    client, _ = ends()
    client.cancel(7)  # type: ignore[arg-type]
    (problem,) = frame_watch.take_problems()
    assert (problem.sender, problem.method) == ("client", "session/cancel")
    assert "sessionId" in problem.message


async def test_a_wrong_answer_of_an_agent_is_caught(frame_watch: FrameWatch) -> None:
    client, agent = ends()
    async with asyncio.TaskGroup() as reading:
        tasks = [reading.create_task(end.run()) for end in (client, agent)]
        block = acp.TextContent(text="hello")
        with pytest.raises(RpcError, match="malformed"):
            await client.prompt(acp.PromptRequest(session_id="s1", prompt=[block]))
        for task in tasks:
            task.cancel()
    assert "stopReason" in str(frame_watch.take_problems()[0])


async def test_a_wrong_frame_fails_the_test_that_sent_it(frame_watch: FrameWatch) -> None:
    client, _ = ends()
    client.cancel(7)  # type: ignore[arg-type]
    with pytest.raises(InvalidFrames, match="session/cancel"):
        frame_watch.check()


def test_what_a_process_sends_is_checked_too(portico: Portico, frame_watch: FrameWatch) -> None:
    portico.exec("tool\npermission\nread nothing\nrun true\nsay hello", "--allow", "all")
    assert frame_watch.check() > 10
    (tap,) = frame_watch.folder.glob("*.ndjson")
    good = tap.read_text()
    sent = [line for line in good.splitlines() if json.loads(line)["direction"] == "sent"]
    assert len(sent) > 5
    tap.write_text(good.replace("protocolVersion", "protocolVision", 1))
    with pytest.raises(InvalidFrames, match="protocolVersion"):
        frame_watch.check()
    tap.write_text(good)


def test_the_built_in_agent_is_watched_from_both_sides(portico: Portico, frame_watch: FrameWatch) -> None:
    ran = portico.run("exec", "--json-stream", "/help")
    assert ran.code == 0
    sides = sorted(tap.name.split("-")[1] for tap in frame_watch.folder.glob("*.ndjson"))
    assert sides == ["agent", "client"]
    assert frame_watch.check() > 10


def test_only_tapped_connections_are_written_down(portico: Portico, frame_watch: FrameWatch) -> None:
    assert portico.exec("say hello", environ={"PORTICO_TAP": ""}).code == 0
    assert not frame_watch.folder.exists()
