"""An agent that cannot take MCP over ACP reaches every server all the same, through a program it starts."""

import asyncio
import socket
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.shim_listener import ShimListener
from portico.mcp.protocol import RESOURCE_LIMIT
from portico.mcp.server_connection import MOST_ACTIVE, McpServerConnection, OnNotification, ServerBackend
from portico.mcp.stdio_server import McpStdioServer
from portico.processes.stdio_shim import TOKEN_VARIABLE
from portico.rpc.framing import MAX_LINE
from portico.rpc.messages import RequestId, RpcError
from portico.rpc.streams import ByteStream, memory_pair
from tests.conductor.mcp_support import (
    HANDSHAKE,
    MODERN,
    Desk,
    ask,
    call,
    frame,
    happens,
    introduce,
    open_session,
    started,
)
from tests.conductor.support import Ends, Wire, chain

OWN = {"name": "mine", "command": "/bin/x", "args": ["1"], "env": [{"name": "A", "value": "b"}]}
OFFERED = {"type": "acp", "name": "editor", "serverId": "of-the-editor", "_meta": {"kept": True}}


def address_of(entry: dict[str, Any]) -> str:
    address: str = entry["args"][-1]
    return address


class TestTheAgentsSide:
    """Entry that the agent gets in place of a server."""

    async def test_everyone_further_left_is_told_that_servers_can_be_offered(self) -> None:
        async with chain(McpBridge()) as ends:
            told = await introduce(ends, acp=False)
        assert told == {
            "protocolVersion": 1,
            "agentCapabilities": {"loadSession": True, "mcpCapabilities": {"http": True, "acp": True}},
            "other": 1.5,
        }

    async def test_servers_become_programs_and_those_of_the_client_stay_as_they_are(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            mine, editor, desk = await open_session(ends, servers=[OWN, OFFERED])
        assert mine == OWN
        assert (editor["name"], editor["_meta"]) == ("editor", {"kept": True})
        assert desk["name"] == "desk"
        for entry in (editor, desk):
            assert set(entry) - {"_meta"} == {"name", "command", "args", "env"}
            assert entry["command"] == sys.executable
            (token,) = entry["env"]
            assert token["name"] == TOKEN_VARIABLE
            assert token["value"] not in " ".join(entry["args"])
        assert editor["env"] != desk["env"]

    async def test_an_agent_that_takes_them_over_acp_is_left_alone(self) -> None:
        opening = frame(id=1, method="session/new", params={"cwd": "/", "mcpServers": [OWN, OFFERED]})
        asking = frame(
            method="mcp/message", params={"serverId": "of-the-editor", "requestId": "r", "method": "m"}
        )
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=True)
            ends.client.send(opening, asking)
            assert await ends.agent.line() == opening
            assert await ends.agent.line() == asking

    @pytest.mark.parametrize("acp", [True, False])
    async def test_a_url_that_no_agent_can_open_always_becomes_a_program(self, acp: bool) -> None:
        early = {"type": "http", "name": "early", "url": "acp:1234", "headers": []}
        plain = {"type": "http", "name": "web", "url": "https://example.test/mcp", "headers": []}
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=acp)
            bridged, untouched = await open_session(ends, servers=[early, plain])
        assert untouched == plain
        assert (bridged["name"], bridged["command"]) == ("early", sys.executable)


class TestTools:
    """A server of this process, seen through the real program."""

    async def test_a_client_that_shakes_hands_lists_and_calls_tools(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as desk:
                greeting = (await desk.ask(0, "initialize", HANDSHAKE))["result"]
                assert greeting["protocolVersion"] == "2025-06-18"
                assert greeting["serverInfo"]["name"] == "desk"
                assert greeting["instructions"] == "Use the desk."
                desk.send(frame(method="notifications/initialized"))
                assert (await desk.ask("p", "ping"))["result"] == {}
                listed = (await desk.ask(1, "tools/list"))["result"]
                assert set(listed) == {"tools"}
                called = await desk.ask(2, "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
                assert called["result"] == {
                    "content": [{"type": "text", "text": '{"sum":3}'}],
                    "structuredContent": {"sum": 3},
                }
                where = await desk.ask(3, "tools/call", {"name": "where"})
                assert where["result"]["content"][0]["text"] == "s in /work"
                assert (await desk.ask(4, "nothing"))["error"]["code"] == -32601

    async def test_a_client_of_the_newest_revision_does_without_the_handshake(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as desk:
                found = (await desk.ask(1, "server/discover", {"_meta": MODERN}))["result"]
                assert found["supportedVersions"] == ["2026-07-28"]
                called = await desk.ask(2, "tools/call", {"name": "refuse", "_meta": MODERN})
                assert (called["result"]["resultType"], called["result"]["isError"]) == ("complete", True)

    async def test_progress_comes_before_the_answer_and_a_call_can_be_cancelled(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as client:
                await client.ask(0, "initialize", HANDSHAKE)
                slow = {"name": "slow", "_meta": {"progressToken": "p"}}
                client.send(frame(id=1, method="tools/call", params=slow))
                told = await client.receive()
                assert told["method"] == "notifications/progress"
                assert told["params"]["progressToken"] == "p"
                client.send(frame(method="notifications/cancelled", params={"requestId": 1}))
                await happens(desk.cancelled)
                assert (await client.ask(2, "ping"))["result"] == {}

    async def test_a_client_that_hangs_up_cancels_what_it_asked_for(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as client:
                await client.ask(0, "initialize", HANDSHAKE)
                client.send(frame(id=1, method="tools/call", params={"name": "slow"}))
                await happens(desk.begun)
                client.hang_up()
                await happens(desk.cancelled)
                assert await client.ended() == 0

    async def test_megabytes_pass_in_both_directions(self) -> None:
        text = "é" * 2_000_000
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as desk:
                await desk.ask(0, "initialize", HANDSHAKE)
                said = await desk.ask(1, "tools/call", {"name": "echo", "arguments": {"text": text}})
                assert said["result"]["content"][0]["text"] == text

    async def test_what_is_malformed_is_refused_and_the_conversation_goes_on(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as desk:
                await desk.ask(0, "initialize", HANDSHAKE)
                for bad, code in (
                    (b"hello", -32700),
                    (b"[]", -32600),
                    (b"x" * (MAX_LINE + 1), -32700),
                ):
                    desk.send(bad)
                    refused = await desk.receive()
                    assert (refused["id"], refused["error"]["code"]) == (None, code)
                desk.send(frame(id=7, result={}), b"")
                assert (await desk.ask(1, "ping"))["result"] == {}

    async def test_an_id_that_is_in_use_is_refused(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as client:
                await client.ask(0, "initialize", HANDSHAKE)
                client.send(frame(id=1, method="tools/call", params={"name": "slow"}))
                await happens(desk.begun)
                assert (await client.ask(1, "ping"))["error"]["code"] == -32600
                desk.release.set()
                assert (await client.receive())["result"]["content"][0]["text"] == "at last"


async def provider_of(ends: Ends) -> dict[str, Any]:
    """Next request to the client, over ACP."""
    return await ends.client.receive()


class TestTheClientsServers:
    """A server that the editor offers over ACP, to an agent that cannot take it there."""

    async def test_one_of_the_newest_revision_serves_an_agent_that_shakes_hands(self) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
            async with started(entry) as client:
                client.send(frame(id=0, method="initialize", params=HANDSHAKE))
                probe = await provider_of(ends)
                assert probe["params"]["method"] == "server/discover"
                assert probe["params"]["serverId"] == "of-the-editor"
                meta = probe["params"]["params"]["_meta"]
                assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
                assert meta["io.modelcontextprotocol/clientInfo"] == HANDSHAKE["clientInfo"]
                found = {"capabilities": {"tools": {}}, "supportedVersions": ["2026-07-28"], "ttlMs": 0}
                ends.client.send(frame(id=probe["id"], result={"result": found}))
                greeting = (await client.receive())["result"]
                assert greeting["serverInfo"]["name"] == "editor"
                assert greeting["capabilities"] == {"tools": {}}

                params = {"name": "open", "arguments": {"n": 1.5}, "_meta": {"progressToken": 3}}
                client.send(frame(id=1, method="tools/call", params=params))
                asked = await provider_of(ends)
                assert asked["params"]["params"]["arguments"] == {"n": 1.5}
                assert asked["params"]["params"]["_meta"]["progressToken"] == 3
                told = {"progressToken": 3, "progress": 1}
                carried = {**asked["params"], "method": "notifications/progress", "params": told}
                ends.client.send(frame(method="mcp/message", params=carried))
                assert (await client.receive())["params"] == told
                result: dict[str, Any] = {"content": [], "resultType": "complete"}
                ends.client.send(frame(id=asked["id"], result={"result": result}))
                assert (await client.receive())["result"] == {"content": []}

                client.send(frame(id=2, method="tools/call", params=params))
                asked = await provider_of(ends)
                ends.client.send(frame(id=asked["id"], result={"error": {"code": -7, "message": "no"}}))
                assert (await client.receive())["error"] == {"code": -7, "message": "no"}

                client.send(frame(id=2, method="tools/call", params=params))
                asked = await provider_of(ends)
                both = {"result": None, "error": {"code": -7, "message": "no"}}
                ends.client.send(frame(id=asked["id"], result=both))
                assert (await client.receive())["error"] == {"code": -7, "message": "no"}

                client.send(frame(id=3, method="tools/call", params=params))
                asked = await provider_of(ends)
                result = {"resultType": "input_required", "inputRequests": {}}
                ends.client.send(frame(id=asked["id"], result={"result": result}))
                assert "user input" in (await client.receive())["error"]["message"]

    async def test_one_that_shakes_hands_itself_is_passed_what_the_agent_says(self) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
            async with started(entry) as client:
                client.send(frame(id=0, method="initialize", params=HANDSHAKE))
                probe = await provider_of(ends)
                unknown = {"error": {"code": -32601, "message": "what?"}}
                ends.client.send(frame(id=probe["id"], result=unknown))
                asked = await provider_of(ends)
                assert (asked["params"]["method"], asked["params"]["params"]) == ("initialize", HANDSHAKE)
                ends.client.send(frame(id=asked["id"], result={"result": {"protocolVersion": "2025-06-18"}}))
                assert (await client.receive())["result"] == {"protocolVersion": "2025-06-18"}

    @pytest.mark.parametrize("code", [-32601, -32602])
    async def test_one_that_wants_a_connection_gets_one(self, code: int) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
            async with started(entry) as client:
                client.send(frame(id=0, method="initialize", params=HANDSHAKE))
                probe = await provider_of(ends)
                ends.client.send(frame(id=probe["id"], error={"code": code, "message": "connectionId?"}))
                connect = await provider_of(ends)
                assert connect["method"] == "mcp/connect"
                assert connect["params"]["serverId"] == connect["params"]["acpId"] == "of-the-editor"
                early = {"connectionId": "c", "method": "notifications/message", "params": {"data": "hi"}}
                ends.client.send(
                    frame(id=connect["id"], result={"connectionId": "c"})
                    + b"\n"
                    + frame(method="mcp/message", params=early)
                )
                assert (await client.receive())["params"] == {"data": "hi"}
                asked = await provider_of(ends)
                assert asked["params"] == {"connectionId": "c", "method": "initialize", "params": HANDSHAKE}
                ends.client.send(frame(id=asked["id"], result={"protocolVersion": "2025-06-18"}))
                assert (await client.receive())["result"] == {"protocolVersion": "2025-06-18"}
                client.send(frame(method="notifications/initialized"))
                told = await provider_of(ends)
                assert told["params"] == {"connectionId": "c", "method": "notifications/initialized"}

                roots = {"connectionId": "c", "method": "roots/list"}
                ends.client.send(frame(id="r", method="mcp/message", params=roots))
                question = await client.receive()
                assert question["method"] == "roots/list"
                client.send(frame(id=question["id"], result={"roots": []}))
                assert await ends.client.receive() == {"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}
                ends.client.send(frame(id="r2", method="mcp/message", params=roots))
                question = await client.receive()
                client.send(frame(id=question["id"], error={"code": -1, "message": "no roots"}))
                assert (await ends.client.receive())["error"] == {"code": -1, "message": "no roots"}

                ends.client.send(frame(id="r3", method="mcp/message", params=roots))
                await client.receive()
                client.hang_up()
                assert (await ends.client.receive())["error"]["code"] == -33001
                goodbye = await provider_of(ends)
                assert (goodbye["method"], goodbye["params"]) == ("mcp/disconnect", {"connectionId": "c"})
                ends.client.send(frame(id=goodbye["id"], result={}))

    async def test_a_connection_that_nobody_waits_for_any_more_is_ended(self) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
            async with started(entry) as client:
                client.send(frame(id=0, method="initialize", params=HANDSHAKE))
                probe = await provider_of(ends)
                ends.client.send(frame(id=probe["id"], error={"code": -32601, "message": "what?"}))
                connect = await provider_of(ends)
                client.hang_up()
                cancel = await provider_of(ends)
                assert (cancel["method"], cancel["params"]) == (
                    "$/cancel_request",
                    {"requestId": connect["id"]},
                )
                ends.client.send(frame(id=connect["id"], result={"connectionId": "c"}))
                goodbye = await provider_of(ends)
                assert (goodbye["method"], goodbye["params"]) == ("mcp/disconnect", {"connectionId": "c"})

    async def test_one_of_the_oldest_kind_is_spoken_to_in_its_own_spelling(self) -> None:
        early = {"type": "http", "name": "early", "url": "acp:1234", "headers": []}
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[early])
            async with started(entry) as client:
                client.send(frame(id=0, method="initialize", params=HANDSHAKE))
                connect = await provider_of(ends)
                assert (connect["method"], connect["params"]) == ("_mcp/connect", {"acp_url": "acp:1234"})
                ends.client.send(frame(id=connect["id"], result={"connection_id": "c"}))
                asked = await provider_of(ends)
                assert asked["method"] == "_mcp/message"
                assert (asked["params"]["connection_id"], asked["params"]["method"]) == ("c", "initialize")
                ends.client.send(frame(id=asked["id"], result={"ok": 1}))
                assert (await client.receive())["result"] == {"ok": 1}
                client.hang_up()
                goodbye = await provider_of(ends)
                assert goodbye["method"] == "_mcp/disconnect"
                assert goodbye["params"]["connection_id"] == "c"
                assert "id" not in goodbye

    async def test_one_that_cannot_be_reached_is_an_error_the_agent_can_show(self) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
            async with started(entry) as client:
                client.send(frame(id=0, method="initialize", params=HANDSHAKE))
                probe = await provider_of(ends)
                ends.client.send(frame(id=probe["id"], error={"code": -33001, "message": "gone"}))
                assert (await client.receive())["error"] == {"code": -33001, "message": "gone"}

    async def test_a_cancelled_call_is_cancelled_at_the_client_too(self) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
            async with started(entry) as client:
                client.send(frame(id="d", method="server/discover", params={"_meta": MODERN}))
                for _ in range(2):  # The probe of the bridge, then the agent's own.
                    ends.client.send(frame(id=(await provider_of(ends))["id"], result={"result": {}}))
                await client.receive()
                client.send(frame(id=1, method="tools/call", params={"name": "x", "_meta": MODERN}))
                asked = await provider_of(ends)
                client.send(frame(method="notifications/cancelled", params={"requestId": 1}))
                cancel = await provider_of(ends)
                assert (cancel["method"], cancel["params"]) == (
                    "$/cancel_request",
                    {"requestId": asked["id"]},
                )
                ends.client.send(frame(id=asked["id"], error={"code": -32800, "message": "cancelled"}))
                client.send(frame(id=2, method="tools/list", params={"_meta": MODERN}))
                ends.client.send(frame(id=(await provider_of(ends))["id"], result={"result": {"tools": []}}))
                assert await client.receive() == {"jsonrpc": "2.0", "id": 2, "result": {"tools": []}}

    async def test_a_subscription_is_known_to_the_agent_by_its_own_id(self) -> None:
        key = "io.modelcontextprotocol/subscriptionId"
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
            async with started(entry) as client:
                client.send(frame(id=41, method="subscriptions/listen", params={"_meta": MODERN}))
                ends.client.send(frame(id=(await provider_of(ends))["id"], result={"result": {}}))
                asked = await provider_of(ends)
                meta = {"_meta": {key: asked["params"]["requestId"]}}
                event = {**asked["params"], "method": "notifications/tools/list_changed", "params": meta}
                ends.client.send(
                    frame(method="mcp/message", params=event)
                    + b"\n"
                    + frame(id=asked["id"], result={"result": {**meta, "resultType": "complete"}})
                )
                assert (await client.receive())["params"] == {"_meta": {key: 41}}
                assert (await client.receive())["result"]["_meta"] == {key: 41}

    async def test_two_sessions_at_once_do_not_hear_each_other(self) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (first,) = await open_session(ends, "one", servers=[{**OFFERED, "serverId": "a"}])
            (second,) = await open_session(ends, "two", servers=[{**OFFERED, "serverId": "b"}])
            async with started(first) as one, started(second) as two:
                for client, server_id in ((one, "a"), (two, "b")):
                    client.send(frame(id=1, method="tools/list", params={"_meta": MODERN}))
                    ends.client.send(frame(id=(await provider_of(ends))["id"], result={"result": {}}))
                    asked = await provider_of(ends)
                    assert asked["params"]["serverId"] == server_id
                    event = {
                        **asked["params"],
                        "method": "notifications/message",
                        "params": {"for": server_id},
                    }
                    ends.client.send(frame(method="mcp/message", params=event))
                    ends.client.send(frame(id=asked["id"], result={"result": {"tools": [server_id]}}))
                for client, server_id in ((two, "b"), (one, "a")):
                    assert (await client.receive())["params"] == {"for": server_id}
                    assert (await client.receive())["result"] == {"tools": [server_id]}


async def test_an_agent_that_does_not_read_loses_notifications_but_no_answer(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Patient:
        async def request(
            self, client_id: RequestId, method: str, params: Raw | None, notify: OnNotification
        ) -> Raw:
            return Raw(b'"answer"')

        def notification(self, method: str, params: Raw | None) -> None:
            return

        def close(self) -> None:
            return

    async def begin(agent: McpServerConnection, method: str, params: Raw | None) -> ServerBackend:
        return Patient()

    near, far = memory_pair()
    made = McpStdioServer(near, begin)
    link, running = made.connection, asyncio.create_task(made.run())
    client = Wire(far)
    for number in range(10_000):
        link.notify("notifications/message", Raw(b"%d" % number))
    client.send(frame(id=1, method="ping"))
    received = [await client.receive()]
    while "id" not in received[-1]:
        received.append(await client.receive())
    kept = [one["params"] for one in received[:-1]]
    assert kept == list(range(len(kept)))
    assert 0 < len(kept) < 1000
    assert received[-1]["result"] == "answer"
    assert "does not read" in caplog.text
    await far.close()
    async with asyncio.timeout(5):
        await running


async def test_an_agent_that_answers_nothing_is_asked_only_so_much() -> None:
    async def begin(agent: McpServerConnection, method: str, params: Raw | None) -> ServerBackend:
        raise AssertionError("the agent asks nothing")

    near, far = memory_pair()
    made = McpStdioServer(near, begin)
    running, replies = asyncio.create_task(made.run()), list[Raw | RpcError]()
    client = Wire(far)
    for _ in range(MOST_ACTIVE):
        made.connection.ask("roots/list", None, replies.append)
        await client.receive()
    assert replies == []
    made.connection.ask("roots/list", None, replies.append)
    [refused] = replies
    assert isinstance(refused, RpcError)
    assert refused.code == RESOURCE_LIMIT
    await far.close()
    async with asyncio.timeout(5):
        await running
    assert len(replies) == MOST_ACTIVE + 1


class TestSafety:
    async def test_the_socket_lies_in_a_folder_of_the_user_and_is_gone_with_the_chain(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            path = Path(address_of(entry).removeprefix("unix:"))
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            async with started(entry) as desk:
                await desk.ask(0, "initialize", HANDSHAKE)
        assert not path.parent.exists()

    async def test_the_program_ends_with_the_chain(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            running = started(entry)
            desk = await running.__aenter__()
            await desk.ask(0, "initialize", HANDSHAKE)
        assert await desk.ended() == 0
        await running.__aexit__(None, None, None)

    async def test_a_program_that_comes_too_late_says_so_and_ends(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
        async with started(entry) as late:
            assert await late.ended() == 2
            assert late.process.stderr is not None
            assert b"gone" in await late.process.stderr.read()

    async def test_a_wrong_token_opens_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry, **{TOKEN_VARIABLE: "guessed"}) as thief:
                thief.send(frame(id=1, method="tools/list"))
                with pytest.raises(EOFError):
                    await thief.receive()
        assert "token" in caplog.text
        assert "guessed" not in caplog.text

    async def test_closing_a_session_ends_its_programs_and_no_others(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (first,) = await open_session(ends, "one")
            (second,) = await open_session(ends, "two")
            async with started(first) as one, started(second) as two:
                await one.ask(0, "initialize", HANDSHAKE)
                await two.ask(0, "initialize", HANDSHAKE)
                ends.client.send(frame(id=5, method="session/close", params={"sessionId": "one"}))
                ends.agent.send(frame(id=(await ends.agent.receive())["id"], result={}))
                assert await one.ended() == 0
                assert (await two.ask(1, "tools/list"))["result"]["tools"]
            async with started(first) as again:
                again.send(frame(id=1, method="tools/list"))
                with pytest.raises(EOFError):
                    await again.receive()

    async def test_the_workspace_cannot_change_what_the_program_runs(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("socket", "threading", "portico", "sitecustomize"):
            (tmp_path / f"{module}.py").write_text("raise SystemExit(99)")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            async with started(entry) as desk:
                assert (await desk.ask(0, "initialize", HANDSHAKE))["result"]["serverInfo"]["name"] == "desk"

    async def test_where_a_socket_file_is_not_possible_a_loopback_port_is_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        deep = tmp_path / ("d" * 100)
        deep.mkdir()
        monkeypatch.setattr("portico.conductor.mcp_bridge.shim_listener.socket_folder", lambda: deep)
        async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends)
            assert address_of(entry).startswith("tcp:127.0.0.1:")
            async with started(entry) as desk:
                assert "result" in await desk.ask(0, "initialize", HANDSHAKE)
        assert list(deep.iterdir()) == []

    @pytest.mark.parametrize("said", [b"", b"x" * 1_000_000])
    async def test_somebody_who_does_not_say_why_he_comes_is_turned_away(self, said: bytes) -> None:
        served: list[str] = []

        async def serve(token: str, stream: ByteStream) -> None:
            served.append(token)

        listener = ShimListener(report_deadline=0.05)
        running = asyncio.create_task(listener.run(serve))
        try:
            reader, writer = await asyncio.open_unix_connection(listener.address.removeprefix("unix:"))
            writer.write(said)
            async with asyncio.timeout(5):
                try:
                    assert await reader.read() == b""
                except ConnectionError:
                    pass
            writer.close()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        assert served == []

    async def test_the_socket_is_there_before_anybody_waits_at_it(self) -> None:
        listener = ShimListener()
        caller = socket.socket(socket.AF_UNIX)
        try:
            caller.connect(listener.address.removeprefix("unix:"))
        finally:
            caller.close()
            listener.close()


async def test_both_ways_can_be_used_in_one_chain() -> None:
    """The bridge asks in the present dialect what a proxy answers; nothing of it reaches the client."""
    async with chain(McpProxy([Desk().server]), McpBridge()) as ends:
        await introduce(ends, acp=False)
        (entry,) = await open_session(ends)
        async with started(entry) as desk:
            await desk.ask(0, "initialize", HANDSHAKE)
            await desk.ask(1, "tools/list")
        ends.agent.send(frame(method="_last", params={}))
        assert (await ends.client.receive())["method"] == "_last"
        refused = await ask(ends.agent, 1, "mcp/message", call("made-up", "r", "add"))
        assert refused["error"]["code"] == -33001
