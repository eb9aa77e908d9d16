"""An agent that can open URLs reaches MCP servers over HTTP, if that is wished for."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.mcp.http1 import BODY_LIMIT
from portico.mcp.http_endpoint import MOST_CONNECTIONS, McpHttpEndpoint
from portico.mcp.server_connection import McpServerConnection, OnNotification, ServerBackend
from portico.mcp.streamable_http import MOST_SESSIONS
from portico.rpc.messages import RequestId
from tests.conductor.http_support import Server
from tests.conductor.mcp_support import (
    HANDSHAKE,
    MODERN,
    Desk,
    frame,
    happens,
    introduce,
    open_session,
)
from tests.conductor.support import HELLO, Ends, chain

OWN = {"name": "mine", "command": "/bin/x", "args": ["1"], "env": []}
OFFERED = {"type": "acp", "name": "editor", "serverId": "of-the-editor", "_meta": {"kept": True}}
LIST = frame(id=1, method="tools/list")


@asynccontextmanager
async def served(desk: Desk) -> AsyncIterator[Server]:
    """The desk, as an agent is given it that opens URLs."""
    async with chain(McpProxy([desk.server]), McpBridge("http")) as ends:
        await introduce(ends, acp=False)
        (entry,) = await open_session(ends)
        yield Server(entry)


@asynccontextmanager
async def editor_served() -> AsyncIterator[tuple[Ends, Server]]:
    """A server of the editor, likewise, and the ends of the chain."""
    async with chain(McpBridge("http")) as ends:
        await introduce(ends, acp=False)
        (entry,) = await open_session(ends, servers=[OFFERED])
        yield ends, Server(entry)


class TestWhen:
    async def test_servers_become_urls_with_a_token_each(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge("http")) as ends:
            await introduce(ends, acp=False)
            mine, editor, desk = await open_session(ends, servers=[OWN, OFFERED])
        assert mine == OWN
        assert (editor["name"], editor["_meta"]) == ("editor", {"kept": True})
        tokens = set()
        for entry in (editor, desk):
            assert set(entry) - {"_meta"} == {"type", "name", "url", "headers"}
            assert entry["type"] == "http"
            assert entry["url"].startswith("http://127.0.0.1:")
            (header,) = entry["headers"]
            assert header["name"] == "Authorization"
            tokens.add(header["value"].removeprefix("Bearer "))
            assert header["value"].removeprefix("Bearer ") not in entry["url"]
        assert len(tokens) == 2

    async def test_programs_are_what_an_agent_gets_that_cannot_open_urls(self) -> None:
        async with chain(McpBridge("http")) as ends:
            ends.client.send(HELLO)
            asked = await ends.agent.receive()
            ends.agent.send(frame(id=asked["id"], result={"protocolVersion": 1, "agentCapabilities": {}}))
            await ends.client.receive()
            (entry,) = await open_session(ends, servers=[OFFERED])
        assert entry["command"] == sys.executable

    async def test_programs_are_what_every_agent_gets_if_nothing_is_wished(self) -> None:
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
        assert entry["command"] == sys.executable

    async def test_urls_are_what_is_left_where_there_is_no_python_to_start(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "frozen", True, raising=False)
        async with chain(McpBridge()) as ends:
            await introduce(ends, acp=False)
            (entry,) = await open_session(ends, servers=[OFFERED])
        assert entry["type"] == "http"

    async def test_an_agent_that_takes_them_over_acp_is_left_alone(self) -> None:
        async with chain(McpBridge("http")) as ends:
            await introduce(ends, acp=True)
            assert await open_session(ends, servers=[OFFERED]) == [OFFERED]


class TestASession:
    """Of an agent that shakes hands."""

    async def test_begins_with_the_handshake_and_ends_when_the_agent_says_so(self) -> None:
        async with served(Desk()) as desk:
            greeting = await desk.shake_hands()
            assert greeting["protocolVersion"] == "2025-06-18"
            assert greeting["serverInfo"]["name"] == "desk"
            listed = await desk.ask(1, "tools/list")
            assert listed["result"]["tools"][0]["name"] == "add"
            called = await desk.ask("x", "tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})
            assert (called["id"], called["result"]["structuredContent"]) == ("x", {"sum": 3})
            where = await desk.ask(3, "tools/call", {"name": "where"})
            assert where["result"]["content"][0]["text"] == "s in /work"
            assert (await desk.ask(4, "nothing"))["error"]["code"] == -32601
            async with desk.connection() as connection:
                connection.send(desk.head("DELETE"))
                assert (await connection.answer()).status == 200
            async with desk.post(LIST) as answer:
                assert answer.status == 404

    async def test_says_what_comes_before_an_answer_in_a_stream_of_events(self) -> None:
        desk = Desk()
        slow = {"name": "slow", "_meta": {"progressToken": "p"}}
        async with served(desk) as server:
            await server.shake_hands()
            async with server.post(frame(id=1, method="tools/call", params=slow)) as answer:
                told = await answer.event()
                assert told is not None
                assert told["params"] == {
                    "progressToken": "p",
                    "progress": 1.0,
                    "total": 2.0,
                    "message": "half",
                }
                desk.release.set()
                last = await answer.event()
                assert last is not None
                assert (last["id"], last["result"]["content"][0]["text"]) == (1, "at last")
                assert await answer.event() is None

    async def test_tells_each_request_what_belongs_to_it(self) -> None:
        async with editor_served() as (ends, server):
            greeted = asyncio.create_task(server.shake_hands())
            probe = await ends.client.receive()
            ends.client.send(frame(id=probe["id"], result={"result": {"capabilities": {}}}))
            await greeted
            async with server.connection() as one, server.connection() as two:
                asked = {}
                for connection, name in ((one, "one"), (two, "two")):
                    connection.send(server.posted(frame(id=name, method="tools/call", params={"name": name})))
                    asked[name] = await ends.client.receive()
                for name in ("two", "one"):
                    told = {**asked[name]["params"], "method": "_told", "params": {"about": name}}
                    ends.client.send(frame(method="mcp/message", params=told))
                    ends.client.send(frame(id=asked[name]["id"], result={"result": {"of": name}}))
                for connection, name in ((one, "one"), (two, "two")):
                    answer = await connection.answer()
                    assert [(await answer.event() or {}).get("params"), await answer.event()] == [
                        {"about": name},
                        {"jsonrpc": "2.0", "id": name, "result": {"of": name}},
                    ]

    async def test_can_be_cancelled_in(self) -> None:
        desk = Desk()
        async with served(desk) as server:
            await server.shake_hands()
            async with server.connection() as connection:
                connection.send(server.posted(frame(id=1, method="tools/call", params={"name": "slow"})))
                await happens(desk.begun)
                assert (
                    await server.tell(frame(method="notifications/cancelled", params={"requestId": 1})) == 202
                )
                await happens(desk.cancelled)

    async def test_goes_on_with_a_request_whose_connection_is_lost(self) -> None:
        desk = Desk()
        async with served(desk) as server:
            await server.shake_hands()
            async with server.connection() as connection:
                connection.send(server.posted(frame(id=1, method="tools/call", params={"name": "slow"})))
                await happens(desk.begun)
            assert "result" in await server.ask(2, "tools/list")
            assert not desk.cancelled.is_set()

    async def test_has_a_stream_for_what_belongs_to_no_request(self) -> None:
        async with editor_served() as (ends, server):
            greeted = asyncio.create_task(server.shake_hands())
            probe = await ends.client.receive()
            ends.client.send(frame(id=probe["id"], error={"code": -32601, "message": "what?"}))
            connect = await ends.client.receive()
            ends.client.send(frame(id=connect["id"], result={"connectionId": "c"}))
            asked = await ends.client.receive()
            assert asked["params"] == {"connectionId": "c", "method": "initialize", "params": HANDSHAKE}
            ends.client.send(frame(id=asked["id"], result={"protocolVersion": "2025-06-18"}))
            await greeted
            assert (await ends.client.receive())["params"]["method"] == "notifications/initialized"
            async with server.listen() as stream:
                assert stream.status == 200
                assert await stream.block() == b":"
                async with server.listen() as second:
                    assert second.status == 409
                told = {"connectionId": "c", "method": "notifications/tools/list_changed", "params": {}}
                ends.client.send(frame(method="mcp/message", params=told))
                heard = await stream.event()
                assert heard is not None
                assert heard["method"] == "notifications/tools/list_changed"
                roots = {"connectionId": "c", "method": "roots/list"}
                ends.client.send(frame(id="r", method="mcp/message", params=roots))
                question = await stream.event()
                assert question is not None
                assert await server.tell(frame(id=question["id"], result={"roots": []})) == 202
                assert await ends.client.receive() == {"jsonrpc": "2.0", "id": "r", "result": {"roots": []}}

    async def test_refuses_what_it_cannot_ask_an_agent_that_does_not_listen(self) -> None:
        async with editor_served() as (ends, server):
            greeted = asyncio.create_task(server.shake_hands())
            probe = await ends.client.receive()
            ends.client.send(frame(id=probe["id"], error={"code": -32601, "message": "what?"}))
            ends.client.send(frame(id=(await ends.client.receive())["id"], result={"connectionId": "c"}))
            ends.client.send(frame(id=(await ends.client.receive())["id"], result={}))
            await greeted
            await ends.client.receive()
            roots = {"connectionId": "c", "method": "roots/list"}
            ends.client.send(frame(id="r", method="mcp/message", params=roots))
            assert (await ends.client.receive())["error"]["code"] == -33000

    async def test_is_told_with_an_error_that_it_is_closed(self) -> None:
        desk = Desk()
        async with chain(McpProxy([desk.server]), McpBridge("http")) as ends:
            await introduce(ends, acp=False)
            (first,), (second,) = await open_session(ends, "one"), await open_session(ends, "two")
            one, two = Server(first), Server(second)
            await one.shake_hands()
            await two.shake_hands()
            async with one.connection() as connection, one.listen() as stream:
                connection.send(one.posted(frame(id=1, method="tools/call", params={"name": "slow"})))
                await happens(desk.begun)
                ends.client.send(frame(id=5, method="session/close", params={"sessionId": "one"}))
                ends.agent.send(frame(id=(await ends.agent.receive())["id"], result={}))
                answer = await connection.answer()
                assert (await answer.json())["error"]["code"] == -33001
                assert await stream.event() is None
            await happens(desk.cancelled)
            async with one.post(LIST) as answer:
                assert answer.status == 401
            assert "result" in await two.ask(1, "tools/list")

    async def test_gives_way_if_it_rested_longest_and_there_are_many(self) -> None:
        async with served(Desk()) as desk:
            sessions = []
            for _ in range(MOST_SESSIONS):
                desk.session = {}
                await desk.shake_hands()
                sessions.append(desk.session)
            first, second, *_ = sessions
            desk.session = first
            assert "result" in await desk.ask(1, "tools/list")
            desk.session = {}
            await desk.shake_hands()
            for session, status in ((first, 200), (second, 404)):
                async with desk.post(LIST, **{"Mcp-Session-Id": session["Mcp-Session-Id"]}) as answer:
                    assert answer.status == status

    async def test_is_not_made_by_a_handshake_that_fails(self) -> None:
        async with editor_served() as (ends, server), server.connection() as connection:
            connection.send(server.posted(frame(id=0, method="initialize", params=HANDSHAKE)))
            probe = await ends.client.receive()
            ends.client.send(frame(id=probe["id"], error={"code": -33001, "message": "gone"}))
            answer = await connection.answer()
            assert (await answer.json())["error"] == {"code": -33001, "message": "gone"}
            server.session = {"Mcp-Session-Id": answer.headers["mcp-session-id"]}
            async with server.post(LIST) as refused:
                assert refused.status == 404

    async def test_of_another_server_is_not_to_be_had(self) -> None:
        async with chain(McpProxy([Desk().server]), McpBridge("http")) as ends:
            await introduce(ends, acp=False)
            (first,), (second,) = await open_session(ends, "one"), await open_session(ends, "two")
            one, two = Server(first), Server(second)
            await one.shake_hands()
            two.session = one.session
            async with two.post(LIST) as answer:
                assert answer.status == 404


class TestTheNewestRevision:
    """The newest revision has no sessions."""

    async def test_asks_without_a_handshake(self) -> None:
        async with served(Desk()) as desk:
            status, found = await desk.ask_modern("server/discover")
            assert (status, found["result"]["supportedVersions"]) == (200, ["2026-07-28"])
            status, called = await desk.ask_modern("tools/call", name="add", arguments={"a": 20, "b": 22})
            assert (status, called["result"]["structuredContent"]) == (200, {"sum": 42})

    async def test_has_errors_of_mcp_for_errors_of_http(self) -> None:
        async with served(Desk()) as desk:
            status, refused = await desk.ask_modern("nothing")
            assert (status, refused["error"]["code"]) == (404, -32601)
            status, refused = await desk.ask_modern("tools/call", name="unknown")
            assert (status, refused["error"]["code"]) == (400, -32602)

    async def test_cancels_a_request_by_hanging_up(self) -> None:
        desk = Desk()
        params = {"name": "slow", "_meta": MODERN}
        async with served(desk) as server, server.connection() as connection:
            connection.send(server.posted(frame(id=1, method="tools/call", params=params)))
            await happens(desk.begun)
            connection.hang_up()
            await happens(desk.cancelled)

    async def test_may_use_one_id_for_several_requests_at_once(self) -> None:
        desk = Desk()
        params = {"name": "slow", "_meta": MODERN}
        async with served(desk) as server, server.connection() as connection:
            connection.send(server.posted(frame(id=1, method="tools/call", params=params)))
            await happens(desk.begun)
            assert (await server.ask_modern("tools/list"))[0] == 200
            desk.release.set()
            assert (await (await connection.answer()).json())["id"] == 1

    @pytest.mark.parametrize(
        "headers", [{"MCP_Protocol_Version": "2025-06-18"}, {"Mcp_Method": "tools/call"}]
    )
    async def test_is_refused_if_a_header_says_something_else(self, headers: dict[str, str]) -> None:
        message = frame(id=1, method="tools/list", params={"_meta": MODERN})
        async with served(Desk()) as desk, desk.post(message, **headers) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]["code"] == -32020

    async def test_is_refused_if_it_is_newer_than_anybody_knows(self) -> None:
        meta = {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}
        message = frame(id=1, method="tools/list", params={"_meta": meta})
        async with served(Desk()) as desk, desk.post(message) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]["code"] == -32022


class TestMessages:
    async def test_that_are_written_over_several_lines_are_passed_on_as_one(self) -> None:
        params = {"name": "x", "arguments": {"text": "two\nlines"}, "_meta": MODERN}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = msgspec.json.format(msgspec.json.encode(message), indent=2).replace(b"\n", b"\r\n")
        async with editor_served() as (ends, server), server.connection() as connection:
            connection.send(server.posted(body))
            ends.client.send(frame(id=(await ends.client.receive())["id"], result={"result": {}}))
            asked = await ends.client.receive()
            assert asked["params"]["params"]["arguments"] == {"text": "two\nlines"}
            ends.client.send(frame(id=asked["id"], result={"result": {"content": []}}))
            assert (await (await connection.answer()).json())["result"] == {"content": []}

    async def test_of_megabytes_pass_in_both_directions(self) -> None:
        text = "é" * 2_000_000
        async with served(Desk()) as desk:
            await desk.shake_hands()
            said = await desk.ask(1, "tools/call", {"name": "echo", "arguments": {"text": text}})
            assert said["result"]["content"][0]["text"] == text

    @pytest.mark.parametrize(("body", "code"), [(b"hello", -32700), (b"[]", -32600), (b"", -32700)])
    async def test_that_are_malformed_are_refused(self, body: bytes, code: int) -> None:
        async with served(Desk()) as desk, desk.post(body) as answer:
            assert answer.status == 400
            refused = await answer.json()
            assert (refused["id"], refused["error"]["code"]) == (None, code)

    async def test_without_a_session_are_refused_if_they_need_one(self) -> None:
        async with served(Desk()) as desk, desk.post(LIST) as answer:
            assert answer.status == 400
            assert "Mcp-Session-Id" in (await answer.json())["error"]["message"]

    async def test_under_an_id_that_is_in_use_are_refused(self) -> None:
        desk = Desk()
        async with served(desk) as server:
            await server.shake_hands()
            async with server.connection() as connection:
                connection.send(server.posted(frame(id=1, method="tools/call", params={"name": "slow"})))
                await happens(desk.begun)
                async with server.post(LIST) as answer:
                    assert answer.status == 400
                    assert (await answer.json())["error"]["code"] == -32600
                desk.release.set()
                assert "result" in await (await connection.answer()).json()


class Silent:
    """A server that answers when it is told to."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.notify: OnNotification | None = None
        self.asked = asyncio.Event()

    async def __call__(self, agent: McpServerConnection, method: str, params: Raw | None) -> ServerBackend:
        return self

    async def request(
        self, client_id: RequestId, method: str, params: Raw | None, notify: OnNotification
    ) -> Raw:
        self.notify = notify
        self.asked.set()
        await self.release.wait()
        return Raw(b'"answer"')

    def notification(self, method: str, params: Raw | None) -> None:
        return

    def close(self) -> None:
        return


@asynccontextmanager
async def endpoint(silent: Silent, **options: Any) -> AsyncIterator[Server]:
    made = McpHttpEndpoint(lambda token: silent if token == "right" else None, **options)
    running = asyncio.create_task(made.run())
    headers = [{"name": "Authorization", "value": "Bearer right"}]
    try:
        yield Server({"url": made.url, "headers": headers})
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until_served(server: Server) -> int:
    """Ask until there is room again."""
    async with asyncio.timeout(5):
        while True:
            async with server.post(frame(id=1, method="y", params={"_meta": MODERN})) as answer:
                if answer.status != 503:
                    return answer.status


class TestTime:
    async def test_a_long_answer_shows_signs_of_life(self) -> None:
        silent = Silent()
        message = frame(id=1, method="x", params={"_meta": MODERN})
        async with endpoint(silent, heartbeat=0.01) as server, server.post(message) as answer:
            assert [await answer.block() for _ in range(3)] == [b":"] * 3
            silent.release.set()
            assert await answer.event() == {"jsonrpc": "2.0", "id": 1, "result": "answer"}

    @pytest.mark.parametrize("said", [b"", b"POST /mcp HTTP/1.1\r\n"])
    async def test_a_request_that_does_not_come_is_not_waited_for(self, said: bytes) -> None:
        async with endpoint(Silent(), request_deadline=0.05) as server, server.connection() as connection:
            connection.send(said)
            assert (await connection.answer()).status == 408

    async def test_an_agent_that_does_not_read_loses_notifications_but_no_answer(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        silent = Silent()
        message = frame(id=1, method="x", params={"_meta": MODERN})
        async with endpoint(silent) as server, server.connection() as connection:
            connection.send(server.posted(message))
            await happens(silent.asked)
            assert silent.notify is not None
            for number in range(10_000):
                silent.notify("_told", Raw(b"%d" % number))
            silent.release.set()
            answer = await connection.answer()
            received = []
            while (heard := await answer.event()) is not None:
                received.append(heard)
        assert 0 < len(received) < 1000
        assert [one["params"] for one in received[:-1]] == list(range(len(received) - 1))
        assert received[-1]["result"] == "answer"
        assert "does not read" in caplog.text


class TestSafety:
    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({"Authorization": None}, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": "Basic right"}, 401),
            ({"Authorization": "right"}, 401),
            ({"Host": None}, 403),
            ({"Host": "evil.example"}, 403),
            ({"Host": "127.0.0.1"}, 403),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Content_Type": "text/plain"}, 415),
            ({"Content_Type": None}, 415),
            ({"Transfer_Encoding": "chunked", "Content_Length": None}, 411),
            ({"Content_Length": "-1"}, 400),
            ({"Content_Length": "1e3"}, 400),
            ({"Content_Length": str(BODY_LIMIT + 1)}, 413),
            ({"Long": "x" * 20_000}, 431),
            ({"Bad header": "x"}, 400),
            ({"Bad": "a\x00b"}, 400),
        ],
    )
    async def test_a_request_is_refused_that_is_not_as_it_must_be(
        self, headers: dict[str, str | None], status: int
    ) -> None:
        async with endpoint(Silent()) as server, server.post(LIST, **headers) as answer:
            assert answer.status == status

    @pytest.mark.parametrize(
        ("request_line", "status"),
        [
            ("GET /mcp HTTP/1.1", 405),
            ("DELETE /mcp HTTP/1.1", 405),
            ("OPTIONS /mcp HTTP/1.1", 405),
            ("POST / HTTP/1.1", 404),
            ("POST /mcp/ HTTP/1.1", 404),
            ("POST /mcp?a=b HTTP/1.1", 404),
            ("POST http://127.0.0.1/mcp HTTP/1.1", 400),
            ("POST /mcp HTTP/1.0", 400),
            ("POST  /mcp HTTP/1.1", 400),
            ("hello", 400),
        ],
    )
    async def test_other_places_and_methods_are_refused(self, request_line: str, status: int) -> None:
        async with endpoint(Silent()) as server, server.connection() as connection:
            connection.send(server.head("POST").replace(b"POST /mcp HTTP/1.1", request_line.encode()))
            assert (await connection.answer()).status == status

    async def test_a_header_that_is_there_twice_is_refused(self) -> None:
        async with endpoint(Silent()) as server, server.connection() as connection:
            connection.send(server.head("POST").replace(b"\r\n", b"\r\nHost: evil.example\r\n", 1))
            assert (await connection.answer()).status == 400

    async def test_a_page_of_its_own_is_no_danger(self) -> None:
        silent = Silent()
        silent.release.set()
        message = frame(id=1, method="x", params={"_meta": MODERN})
        async with (
            endpoint(silent) as server,
            server.post(message, Origin=f"http://{server.host}") as answer,
        ):
            assert answer.status == 200

    async def test_nothing_is_read_from_somebody_without_a_token(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with endpoint(Silent()) as server, server.connection() as connection:
            connection.send(server.head("POST", Authorization="Bearer guessed", Content_Length="30000000"))
            answer = await connection.answer()
            assert answer.status == 401
            assert answer.headers["www-authenticate"] == "Bearer"
        assert "token" in caplog.text
        assert "guessed" not in caplog.text

    async def test_half_a_request_is_nothing(self) -> None:
        silent = Silent()
        silent.release.set()
        async with endpoint(silent) as server:
            async with server.connection() as connection:
                connection.send(server.posted(frame(id=1, method="x", params={"_meta": MODERN}))[:-1])
            assert not silent.asked.is_set()
            assert (await server.ask_modern("y"))[0] == 200

    async def test_more_than_so_many_connections_are_refused(self) -> None:
        silent = Silent()
        silent.release.set()
        async with endpoint(silent) as server:
            async with AsyncExitStack() as many:
                for _ in range(MOST_CONNECTIONS):
                    await many.enter_async_context(server.connection())
                async with server.connection() as connection:
                    assert (await connection.answer()).status == 503
            assert await until_served(server) == 200

    async def test_the_port_is_gone_with_the_chain(self) -> None:
        async with served(Desk()) as desk:
            await desk.shake_hands()
        with pytest.raises(ConnectionError):
            async with desk.connection():
                pass
