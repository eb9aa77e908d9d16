"""A proxy offers tools to an agent that takes MCP over ACP, in each dialect of it."""

from typing import Any

import pytest

from portico.conductor.mcp_bridge.server_proxy import MOST_ACTIVE, McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.mcp.server import InProcessServer
from portico.mcp.tools import ToolCall
from tests.conductor.mcp_support import (
    HANDSHAKE,
    MODERN,
    Desk,
    Failing,
    ask,
    call,
    frame,
    happens,
    introduce,
    message,
    open_session,
)
from tests.conductor.support import chain

OWN = b'{"name":"mine", "command":"/bin/x","args":[ ],"env":[],"extra":1.50}'
OFFERED = {"type": "acp", "name": "editor", "serverId": "of-the-editor"}


class TestOffering:
    """Servers of the request that opens a session."""

    @pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume", "session/fork"])
    async def test_servers_are_added_and_those_of_the_client_stay_as_they_are(self, method: str) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            ends.client.send(
                b'{"jsonrpc":"2.0","id":1,"method":"%b","params":{"sessionId":"s","cwd":"/w","x":1.50,'
                b'"mcpServers":[%b]}}' % (method.encode(), OWN)
            )
            line = await ends.agent.line()
        assert b'"x":1.50' in line
        assert b'"mcpServers":[' + OWN + b',{"type":"acp","name":"desk","serverId":"' in line

    async def test_an_agent_that_does_not_announce_it_is_offered_nothing(self) -> None:
        request = b'{"jsonrpc":"2.0", "id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}'
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=False)
            ends.client.send(request)
            assert await ends.agent.line() == request

    async def test_a_client_that_forgets_its_list_still_gets_the_tools(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            ends.client.send(frame(id=1, method="session/new", params={"cwd": "/w"}))
            servers = (await ends.agent.receive())["params"]["mcpServers"]
        assert [server["name"] for server in servers] == ["desk"]

    @pytest.mark.parametrize("params", ['{"cwd":7}', '{"cwd":"/","mcpServers":"none"}', "[]"])
    async def test_what_is_malformed_is_left_for_the_agent_to_refuse(self, params: str) -> None:
        request = '{"jsonrpc":"2.0","id":1,"method":"session/new","params":%s}' % params
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            ends.client.send(request)
            assert (await ends.agent.line()).decode() == request

    async def test_a_name_that_the_client_uses_is_not_taken_from_it(self) -> None:
        mine = {"name": "desk", "command": "/bin/x", "args": [], "env": []}
        async with chain(McpProxy([Desk().server, Desk().server])) as ends:
            await introduce(ends, acp=True)
            servers = await open_session(ends, servers=[mine])
        assert [server["name"] for server in servers] == ["desk", "desk-2", "desk-3"]

    async def test_a_proxy_can_choose_its_servers_for_each_session(self) -> None:
        class Choosing(McpProxy):
            def servers(self, session: ChainSession) -> list[InProcessServer]:
                return [Desk().server] if session.cwd == "/with" else []

        async with chain(Choosing()) as ends:
            await introduce(ends, acp=True)
            assert len(await open_session(ends, "a", cwd="/with")) == 1
            assert await open_session(ends, "b", cwd="/without") == []


class TestAsking:
    """The present dialect: each request names its server."""

    async def test_the_agent_lists_and_calls_tools(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            listing = message(server["serverId"], "r1", "tools/list", {"_meta": MODERN})
            listed = await ask(ends.agent, 1, "mcp/message", listing)
            assert [tool["name"] for tool in listed["result"]["result"]["tools"]][:2] == ["add", "where"]
            called = await ask(ends.agent, 2, "mcp/message", call(server["serverId"], "r2", "add", a=1, b=2))
            assert called["result"]["result"]["structuredContent"] == {"sum": 3}

    async def test_an_error_of_mcp_is_carried_inside_a_successful_answer(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            answer = await ask(ends.agent, 1, "mcp/message", message(server["serverId"], "r", "nothing"))
            assert answer["result"]["error"]["code"] == -32601
            assert "error" not in answer

    async def test_a_server_that_fails_is_named_and_the_chain_goes_on(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with chain(McpProxy([Failing(), Desk().server])) as ends:
            await introduce(ends, acp=True)
            failing, desk = await open_session(ends)
            answer = await ask(ends.agent, 1, "mcp/message", message(failing["serverId"], "r", "tools/list"))
            assert answer["error"]["code"] == -33002
            assert "failing" in answer["error"]["message"]
            assert "the inside" not in answer["error"]["message"]
            again = await ask(ends.agent, 2, "mcp/message", call(desk["serverId"], "r", "add", a=1, b=1))
            assert "result" in again
        assert "the inside" in caplog.text

    async def test_a_server_that_nobody_offered_is_refused_without_asking_the_client(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            answer = await ask(ends.agent, 1, "mcp/message", message("made-up", "r", "tools/list"))
            assert answer["error"]["code"] == -33001
            assert "made-up" in answer["error"]["message"]
            malformed = await ask(ends.agent, 2, "mcp/message", {"method": "tools/list"})
            assert malformed["error"]["code"] == -32602
            ends.agent.send(frame(method="_still", params={}))
            assert (await ends.client.receive())["method"] == "_still"

    async def test_a_server_that_the_client_offered_is_asked_there(self) -> None:
        async with chain(McpProxy([Desk().server]), McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            servers = await open_session(ends, servers=[OFFERED])
            assert [server["name"] for server in servers] == ["editor", "desk", "desk-2"]
            for server in servers[1:]:
                answer = await ask(ends.agent, 1, "mcp/message", call(server["serverId"], "r", "where"))
                assert answer["result"]["result"]["content"][0]["text"] == "s in /work"
            asked = frame(id=9, method="mcp/message", params=message("of-the-editor", "r", "tools/list"))
            ends.agent.send(asked)
            assert await ends.client.line() == asked
            answered = frame(id=9, result={"result": {"tools": []}})
            ends.client.send(answered)
            assert await ends.agent.line() == answered

    async def test_a_server_that_the_client_offered_twice_lives_as_long_as_one_of_the_sessions(self) -> None:
        asked = frame(id=9, method="mcp/message", params=message("of-the-editor", "r", "tools/list"))
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            for session_id in ("one", "two"):
                await open_session(ends, session_id, servers=[OFFERED])
            for session_id in ("two", "one"):
                ends.agent.send(asked)
                assert await ends.client.line() == asked
                ends.client.send(frame(id=9, result={}))
                await ends.agent.receive()
                ends.client.send(frame(id=5, method="session/close", params={"sessionId": session_id}))
                ends.agent.send(frame(id=(await ends.agent.receive())["id"], result={}))
                await ends.client.receive()
            ends.agent.send(asked)
            assert (await ends.agent.receive())["error"]["code"] == -33001

    async def test_two_sessions_know_their_tools_under_different_ids(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            (first,) = await open_session(ends, "one", cwd="/first")
            (second,) = await open_session(ends, "two", cwd="/second")
            assert first["serverId"] != second["serverId"]
            for server, place in ((first, "one in /first"), (second, "two in /second")):
                answer = await ask(ends.agent, 1, "mcp/message", call(server["serverId"], "r", "where"))
                assert answer["result"]["result"]["content"][0]["text"] == place

    @pytest.mark.parametrize("method", ["session/close", "session/delete"])
    async def test_what_was_offered_to_a_session_ends_with_it(self, method: str) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (first,) = await open_session(ends, "one")
            (second,) = await open_session(ends, "two")
            ends.agent.send(frame(id="c", method="mcp/message", params=call(first["serverId"], "r", "slow")))
            await happens(desk.begun)
            ends.client.send(frame(id=5, method=method, params={"sessionId": "one"}))
            ends.agent.send(frame(id=(await ends.agent.receive())["id"], result={}))
            assert (await ends.client.receive())["id"] == 5
            assert (await ends.agent.receive())["error"]["code"] == -32800
            await happens(desk.cancelled)
            gone = await ask(ends.agent, 1, "mcp/message", message(first["serverId"], "r", "tools/list"))
            assert gone["error"]["code"] == -33001
            alive = await ask(ends.agent, 2, "mcp/message", message(second["serverId"], "r", "tools/list"))
            assert "result" in alive

    async def test_what_was_offered_to_a_session_that_could_not_be_opened_is_taken_back(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            ends.client.send(frame(id=1, method="session/new", params={"cwd": "/w", "mcpServers": []}))
            asked = await ends.agent.receive()
            ends.agent.send(frame(id=asked["id"], error={"code": -32000, "message": "log in first"}))
            assert (await ends.client.receive())["error"]["message"] == "log in first"
            server_id = asked["params"]["mcpServers"][0]["serverId"]
            gone = await ask(ends.agent, 1, "mcp/message", message(server_id, "r", "tools/list"))
            assert gone["error"]["code"] == -33001

    async def test_an_agent_can_use_the_tools_while_it_is_still_opening_the_session(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            ends.client.send(frame(id=1, method="session/new", params={"cwd": "/w", "mcpServers": []}))
            asked = await ends.agent.receive()
            server_id = asked["params"]["mcpServers"][0]["serverId"]
            answer = await ask(ends.agent, 2, "mcp/message", call(server_id, "r", "where"))
            assert answer["result"]["result"]["content"][0]["text"] == "None in /w"

    async def test_progress_comes_before_the_answer_and_names_the_request(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            slow = call(server["serverId"], "r", "slow")
            slow["params"]["_meta"] = {"progressToken": "p"}
            ends.agent.send(frame(id=1, method="mcp/message", params=slow))
            told = await ends.agent.receive()
            assert told == {
                "jsonrpc": "2.0",
                "method": "mcp/message",
                "params": {
                    "serverId": server["serverId"],
                    "requestId": "r",
                    "method": "notifications/progress",
                    "params": {"progressToken": "p", "progress": 1, "total": 2, "message": "half"},
                },
            }
            desk.release.set()
            assert (await ends.agent.receive())["result"]["result"]["content"][0]["text"] == "at last"

    async def test_what_a_tool_says_after_its_answer_goes_nowhere(self) -> None:
        class Late(Desk):
            async def echo(self, call: ToolCall) -> str:
                self.late = call
                return "done"

        desk = Late()
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            await ask(ends.agent, 1, "mcp/message", call(server["serverId"], "r", "echo"))
            desk.late.notify("notifications/message", {})
            answer = await ask(ends.agent, 2, "mcp/message", call(server["serverId"], "r", "where"))
            assert "result" in answer

    async def test_an_id_that_is_in_use_is_refused_and_so_is_a_flood(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            for number in range(MOST_ACTIVE):
                slow = call(server["serverId"], f"r{number}", "slow")
                ends.agent.send(frame(id=number, method="mcp/message", params=slow))
            again = await ask(ends.agent, "a", "mcp/message", call(server["serverId"], "r0", "where"))
            assert again["error"]["code"] == -32602
            more = await ask(ends.agent, "b", "mcp/message", call(server["serverId"], "new", "where"))
            assert more["error"]["code"] == -33000
            desk.release.set()
            assert sorted([(await ends.agent.receive())["id"] for _ in range(MOST_ACTIVE)]) == list(
                range(MOST_ACTIVE)
            )
            room = await ask(ends.agent, "c", "mcp/message", call(server["serverId"], "new", "where"))
            assert "result" in room


class TestCancelling:
    async def test_cancelling_the_request_cancels_the_tool(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            ends.agent.send(frame(id=1, method="mcp/message", params=call(server["serverId"], "r", "slow")))
            await happens(desk.begun)
            ends.agent.send(frame(method="$/cancel_request", params={"requestId": 1}))
            answer = await ends.agent.receive()
            assert (answer["id"], answer["error"]["code"]) == (1, -32800)
            assert desk.cancelled.is_set()

    async def test_a_request_can_be_cancelled_in_the_same_breath(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            ends.agent.send(
                frame(id=1, method="mcp/message", params=call(server["serverId"], "r", "slow"))
                + b"\n"
                + frame(method="$/cancel_request", params={"requestId": 1})
            )
            assert (await ends.agent.receive())["error"]["code"] == -32800
            assert not desk.begun.is_set()

    async def test_other_cancellations_are_none_of_its_business(self) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            for params in ({"requestId": "another"}, {"nothing": 1}):
                line = frame(method="$/cancel_request", params=params)
                ends.agent.send(line)
                assert await ends.client.line() == line

    async def test_the_end_of_the_chain_ends_every_call(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            ends.agent.send(frame(id=1, method="mcp/message", params=call(server["serverId"], "r", "slow")))
            await happens(desk.begun)
        assert desk.cancelled.is_set()


SPELLINGS = [
    ("mcp/connect", "serverId", "connectionId"),
    ("mcp/connect", "acpId", "connectionId"),
    ("_mcp/connect", "acp_url", "connection_id"),
]


@pytest.mark.parametrize(("connect", "server_field", "connection_field"), SPELLINGS)
class TestConnecting:
    """The older dialects: a connection is opened first."""

    def method(self, connect: str, name: str) -> str:
        return connect.replace("connect", name)

    async def test_the_agent_talks_on_a_connection_until_it_ends_it(
        self, connect: str, server_field: str, connection_field: str
    ) -> None:
        say, end = self.method(connect, "message"), self.method(connect, "disconnect")
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            opened = await ask(ends.agent, 1, connect, {server_field: server["id"]})
            on = {connection_field: opened["result"][connection_field]}
            greeting = await ask(ends.agent, 2, say, {**on, "method": "initialize", "params": HANDSHAKE})
            assert greeting["result"]["protocolVersion"] == "2025-06-18"
            ends.agent.send(frame(method=say, params={**on, "method": "notifications/initialized"}))
            params = {"name": "add", "arguments": {"a": 2, "b": 2}}
            called = await ask(ends.agent, 3, say, {**on, "method": "tools/call", "params": params})
            assert called["result"]["structuredContent"] == {"sum": 4}
            wrong = await ask(ends.agent, 4, say, {**on, "method": "nothing"})
            assert wrong["error"]["code"] == -32601
            assert (await ask(ends.agent, 5, end, on))["result"] == {}
            gone = await ask(ends.agent, 6, say, {**on, "method": "tools/list"})
            assert gone["error"]["code"] == -33001

    async def test_progress_names_the_connection_and_its_end_cancels_the_call(
        self, connect: str, server_field: str, connection_field: str
    ) -> None:
        desk = Desk()
        say, end = self.method(connect, "message"), self.method(connect, "disconnect")
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            opened = await ask(ends.agent, 1, connect, {server_field: server["serverId"]})
            on = {connection_field: opened["result"][connection_field]}
            slow = {"name": "slow", "_meta": {"progressToken": 1}}
            ends.agent.send(frame(id=2, method=say, params={**on, "method": "tools/call", "params": slow}))
            told = await ends.agent.receive()
            assert told["method"] == say
            assert told["params"]["method"] == "notifications/progress"
            assert told["params"][connection_field] == on[connection_field]
            ends.agent.send(frame(method=end, params=on))
            assert (await ends.agent.receive())["error"]["code"] == -32800
            assert desk.cancelled.is_set()

    async def test_a_call_can_be_cancelled_in_the_way_of_mcp(
        self, connect: str, server_field: str, connection_field: str
    ) -> None:
        desk = Desk()
        say = self.method(connect, "message")
        async with chain(McpProxy([desk.server])) as ends:
            await introduce(ends, acp=True)
            (server,) = await open_session(ends)
            opened = await ask(ends.agent, 1, connect, {server_field: server["serverId"]})
            on = {connection_field: opened["result"][connection_field]}
            slow: dict[str, Any] = {**on, "method": "tools/call", "params": {"name": "slow"}}
            ends.agent.send(frame(id=2, method=say, params=slow))
            await happens(desk.begun)
            cancel = {**on, "method": "notifications/cancelled", "params": {"requestId": 2}}
            ends.agent.send(frame(method=say, params=cancel))
            assert (await ends.agent.receive())["error"]["code"] == -32800

    async def test_a_server_or_connection_that_nobody_has_is_refused(
        self, connect: str, server_field: str, connection_field: str
    ) -> None:
        say = self.method(connect, "message")
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            opened = await ask(ends.agent, 1, connect, {server_field: "made-up"})
            assert opened["error"]["code"] == -33001
            said = await ask(ends.agent, 2, say, {connection_field: "made-up", "method": "tools/list"})
            assert said["error"]["code"] == -33001

    async def test_connections_to_the_client_are_the_clients(
        self, connect: str, server_field: str, connection_field: str
    ) -> None:
        async with chain(McpProxy([Desk().server])) as ends:
            await introduce(ends, acp=True)
            await open_session(ends, servers=[OFFERED])
            for number, (method, params) in enumerate(
                [
                    (connect, {server_field: "of-the-editor"}),
                    (self.method(connect, "message"), {connection_field: "theirs", "method": "ping"}),
                    (self.method(connect, "disconnect"), {connection_field: "theirs"}),
                ]
            ):
                line = frame(id=number, method=method, params=params)
                ends.agent.send(line)
                assert await ends.client.line() == line
