"""Messages in a chain pass unchanged, unless a proxy asked to see them."""

import asyncio
from typing import Any

import pytest

from portico.conductor.assembly import StartLimit
from portico.conductor.program_node import ProgramNode
from portico.conductor.proxy import Proxy
from portico.domain import codecs
from portico.rpc.framing import LineSplitter
from portico.rpc.messages import Message, RpcError, outcome
from portico.rpc.streams import memory_pair
from tests.conductor.support import HELLO, Wire, chain


class Quiet(Proxy):
    """Wants nothing."""

    name = "quiet"


class Marking(Proxy):
    """Adds its name to every prompt, and sees the response."""

    name = "marking"
    client_methods = frozenset({"session/prompt"})

    def __init__(self, mark: str) -> None:
        super().__init__()
        self.mark = mark
        self.responses: list[bytes] = []

    def from_client(self, message: Message) -> None:
        words = codecs.decode_json(message.params)

        def seen(response: Message) -> None:
            self.responses.append(bytes(outcome(response)))
            self.node.send_left(response)

        self.forward_right(
            message.with_params({**words, "marks": [*words.get("marks", []), self.mark]}), seen
        )


@pytest.mark.parametrize("proxies", [0, 1, 5])
async def test_a_message_that_no_proxy_touches_passes_byte_by_byte(proxies: int) -> None:
    strange = b'{ "params": {"b" :1.50,"a":"\\u0041"},"method":"_x/y", "jsonrpc":"2.0" ,"id":"\\u00e9" }'
    async with chain(*(Quiet() for _ in range(proxies))) as ends:
        await ends.initialize()
        ends.client.send(strange)
        assert await ends.agent.line() == strange
        ends.agent.send(strange)
        assert await ends.client.line() == strange


async def test_proxies_act_in_order_and_see_responses_in_the_reverse() -> None:
    first, second = Marking("first"), Marking("second")
    async with chain(first, Quiet(), second) as ends:
        await ends.initialize()
        ends.client.send('{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s"}}')
        asked = await ends.agent.receive()
        assert asked["params"]["marks"] == ["first", "second"]
        assert asked["id"] == 7
        ends.agent.send('{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn"}}')
        assert (await ends.client.receive())["result"] == {"stopReason": "end_turn"}
    assert first.responses == second.responses == [b'{"stopReason":"end_turn"}']


async def test_order_is_kept_between_touched_and_untouched_messages() -> None:
    class Updates(Proxy):
        name = "updates"
        agent_methods = frozenset({"session/update"})

    async with chain(Updates(), Quiet()) as ends:
        await ends.initialize()
        for number in range(500):
            method = "session/update" if number % 3 else "_other"
            ends.agent.send('{"jsonrpc":"2.0","method":"%s","params":{"n":%d}}' % (method, number))
        numbers = [(await ends.client.receive())["params"]["n"] for _ in range(500)]
    assert numbers == list(range(500))


async def test_a_proxy_sees_updates_of_the_kinds_that_it_names() -> None:
    seen: list[int] = []

    class ToolCalls(Proxy):
        name = "tool calls"
        agent_methods = frozenset({"session/update", "_other"})
        update_kinds = ("tool_call", "tool_call_update")

        def from_agent(self, message: Message) -> None:
            seen.append(codecs.decode_json(message.params)["n"])
            self.node.send_left(message)

    async with chain(ToolCalls()) as ends:
        await ends.initialize()
        kinds = ("agent_message_chunk", "tool_call", "plan", "tool_call_update")
        for number, kind in enumerate(kinds):
            params = '{"n":%d,"update":{"sessionUpdate":"%s"}}' % (number, kind)
            ends.agent.send('{"jsonrpc":"2.0","method":"session/update","params":%s}' % params)
        ends.agent.send('{"jsonrpc":"2.0","method":"_other","params":{"n":4}}')
        numbers = [(await ends.client.receive())["params"]["n"] for _ in range(5)]
    assert numbers == [0, 1, 2, 3, 4]
    assert seen == [1, 3, 4]


async def test_a_proxy_can_ask_either_side_and_nobody_else_sees_it() -> None:
    answers: list[Any] = []

    class Asking(Proxy):
        name = "asking"
        client_methods = frozenset({"_go"})

        def from_client(self, message: Message) -> None:
            self.node.spawn(self._go(message), "asking around")

        async def _go(self, message: Message) -> None:
            answers.append(codecs.decode_json(await self.ask_agent("_agent", {"q": 1})))
            try:
                await self.ask_client("_client", {"q": 2})
            except RpcError as error:
                answers.append(error.message)
            self.answer_client(message, "done")

    async with chain(Quiet(), Asking(), Quiet()) as ends:
        await ends.initialize()
        ends.client.send('{"jsonrpc":"2.0","id":1,"method":"_go","params":{}}')
        to_agent = await ends.agent.receive()
        assert to_agent["method"] == "_agent"
        ends.agent.send('{"jsonrpc":"2.0","id":"%s","result":42}' % to_agent["id"])
        to_client = await ends.client.receive()
        assert to_client["method"] == "_client"
        ends.client.send('{"jsonrpc":"2.0","id":"%s","error":{"code":-1,"message":"no"}}' % to_client["id"])
        assert await ends.client.receive() == {"jsonrpc": "2.0", "id": 1, "result": "done"}
    assert answers == [42, "no"]


async def test_a_proxy_that_fails_is_named_and_the_chain_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Proxy):
        name = "broken"
        client_methods = frozenset({"session/prompt"})
        agent_methods = frozenset({"session/update"})

        def from_client(self, message: Message) -> None:
            raise LookupError("inside")

        from_agent = from_client

    async with chain(Broken()) as ends:
        await ends.initialize()
        ends.client.send('{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{}}')
        error = (await ends.client.receive())["error"]
        assert "broken" in error["message"]
        assert "inside" not in error["message"]
        update = b'{"jsonrpc":"2.0","method":"session/update","params":{}}'
        ends.agent.send(update)
        assert await ends.client.line() == update
    assert "inside" in caplog.text


async def test_a_request_before_initialize_is_refused() -> None:
    async with chain() as ends:
        ends.client.send('{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}')
        assert "before initialize" in (await ends.client.receive())["error"]["message"]
        await ends.initialize()


async def test_what_is_malformed_stops_at_the_chain_and_is_told() -> None:
    async with chain(Quiet()) as ends:
        await ends.initialize()
        ends.agent.send("hello, I am an agent", '{"jsonrpc":"2.0","method":"_a","params":{}}')
        assert (await ends.client.receive())["method"] == "_a"
    assert [(side, fault.kind) for side, fault in ends.faults] == [("agent", "not_json")]


LONGEST = 4096
TOO_LONG = '"result":"%s"' % ("x" * LONGEST)


@pytest.fixture
def short_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines may not be as long as they usually may."""
    monkeypatch.setattr(LineSplitter.__init__, "__defaults__", (LONGEST,))


@pytest.mark.parametrize(
    "ruins", ['"result":{"cost":NaN}', '"error":"it failed"', '"x":1', pytest.param(TOO_LONG, id="too long")]
)
@pytest.mark.usefixtures("short_lines")
async def test_whoever_waits_for_an_answer_that_is_malformed_is_told_so(ruins: str) -> None:
    near, far = memory_pair()
    program = Wire(far)
    async with chain(ProgramNode("between", near)) as ends:
        ends.client.send(HELLO)
        program.send('{"jsonrpc":"2.0","id":"%s",%s}' % ((await program.receive())["id"], ruins))
        assert "the answer is malformed" in (await ends.client.receive())["error"]["message"]
    async with chain(Quiet()) as ends:
        await ends.initialize()
        for asker, answerer in ((ends.client, ends.agent), (ends.agent, ends.client)):
            asker.send('{"jsonrpc":"2.0","id":7,"method":"_x","params":{}}')
            assert (await answerer.receive())["id"] == 7
            answerer.send('{"jsonrpc":"2.0","id":7,%s}' % ruins)
            assert "the answer is malformed" in (await asker.receive())["error"]["message"]
    assert [side for side, _ in ends.faults] == ["agent", "client"]


@pytest.mark.usefixtures("short_lines")
async def test_a_request_that_is_too_long_is_refused_and_the_chain_goes_on() -> None:
    near, far = memory_pair()
    program = Wire(far)
    request = '{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","params":{"content":"%s"}}'
    too_long = request % ("x" * LONGEST)
    async with chain(ProgramNode("between", near)) as ends:
        ends.client.send(HELLO)
        await program.receive()
        for asker in (program, ends.agent, ends.client):
            asker.send(too_long)
            refused = await asker.receive()
            assert refused["id"] == 7
            assert "bytes is too long" in refused["error"]["message"]
    assert [(side, fault.kind) for side, fault in ends.faults] == [
        ("agent", "too_long"),
        ("client", "too_long"),
    ]


async def test_a_second_request_under_an_id_in_use_stops_at_the_chain_and_is_told() -> None:
    async with chain(Quiet()) as ends:
        await ends.initialize()
        ends.agent.send(
            '{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"n":1}}',
            '{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"n":2}}',
        )
        assert (await ends.client.receive())["params"] == {"n": 1}
        ends.client.send('{"jsonrpc":"2.0","id":1,"result":{}}')
        await ends.agent.line()
        ends.agent.send('{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"n":3}}')
        assert (await ends.client.receive())["params"] == {"n": 3}
    assert [(side, fault.kind) for side, fault in ends.faults] == [("agent", "duplicate_id")]


async def test_the_client_sees_the_end_when_the_agent_goes_away() -> None:
    async with chain(Quiet()) as ends:
        await ends.initialize()
        await ends.agent.stream.close()
        with pytest.raises(EOFError):
            await ends.client.line()


async def test_the_last_words_of_an_agent_count_without_a_newline_if_they_are_whole() -> None:
    async with chain(Quiet()) as ends:
        await ends.initialize()
        ends.agent.stream.write(b'{"jsonrpc":"2.0","method":"_last","params":{}}')
        await ends.agent.stream.close()
        assert (await ends.client.receive())["method"] == "_last"
    async with chain(Quiet()) as ends:
        await ends.initialize()
        ends.agent.stream.write(b'{"jsonrpc":"2.0","method":"_la')
        await ends.agent.stream.close()
        with pytest.raises(EOFError):
            await ends.client.line()
    assert ends.faults == []


async def test_only_the_first_answer_to_a_request_is_passed_on() -> None:
    async with chain(Quiet()) as ends:
        await ends.initialize()
        for asker, answerer in ((ends.client, ends.agent), (ends.agent, ends.client)):
            asker.send('{"jsonrpc":"2.0","id":7,"method":"_x","params":{}}')
            assert (await answerer.receive())["id"] == 7
            for result in (1, 2):
                answerer.send('{"jsonrpc":"2.0","id":7,"result":%d}' % result)
            answerer.send('{"jsonrpc":"2.0","id":"nobody","result":3}')
            answerer.send('{"jsonrpc":"2.0","method":"_last","params":{}}')
            assert (await asker.receive())["result"] == 1
            assert (await asker.receive())["method"] == "_last"
    assert [(side, fault.kind) for side, fault in ends.faults] == [
        ("agent", "unknown_response"),
        ("agent", "unknown_response"),
        ("client", "unknown_response"),
        ("client", "unknown_response"),
    ]


class TestTheStartLimit:
    """Time limit of `initialize`, and the client's error when it takes longer."""

    async def test_ends_the_chain_with_the_reason(self) -> None:
        limit = StartLimit(_at_once, lambda: RpcError(-32603, "the agent did not answer"))
        async with chain(Quiet(), start_limit=limit) as ends:
            ends.client.send(HELLO, '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}')
            answers = [await ends.client.receive() for _ in range(2)]
            assert {answer["id"] for answer in answers} == {0, 1}
            assert {answer["error"]["message"] for answer in answers} == {"the agent did not answer"}
            with pytest.raises(EOFError):
                await ends.client.line()

    async def test_is_nothing_to_a_chain_that_has_started(self) -> None:
        over, passed = asyncio.Event(), asyncio.Event()

        async def at_some_time() -> None:
            await over.wait()
            asyncio.get_running_loop().call_soon(passed.set)

        blamed: list[RpcError] = []
        limit = StartLimit(at_some_time, lambda: blamed.append(RpcError(-1, "late")))
        async with chain(start_limit=limit) as ends:
            await ends.initialize()
            ends.client.send('{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}')
            await ends.agent.receive()
            over.set()
            async with asyncio.timeout(5):
                await passed.wait()
            ends.agent.send('{"jsonrpc":"2.0","id":1,"result":{}}')
            assert (await ends.client.receive())["result"] == {}
        assert blamed == []

    async def test_is_waived_if_nobody_here_is_late(self) -> None:
        async with chain(start_limit=StartLimit(_at_once, lambda: None)) as ends:
            await ends.initialize()


async def _at_once() -> None:
    return


class TestPrograms:
    """A proxy as a program: what it is sent, and what becomes of what it says."""

    async def test_it_is_initialized_as_a_proxy_and_reaches_the_agent_through_its_successor(self) -> None:
        near, far = memory_pair()
        program = Wire(far)
        async with chain(ProgramNode("outer", near)) as ends:
            ends.client.send(HELLO)
            asked = await program.receive()
            assert asked["method"] == "proxy/initialize"
            assert asked["params"] == {"protocolVersion": 1}
            program.send(
                '{"jsonrpc":"2.0","id":1,"method":"proxy/successor",'
                '"params":{"method":"initialize","params":{"protocolVersion":1}}}'
            )
            passed = await ends.agent.receive()
            assert (passed["method"], passed["params"]) == ("initialize", {"protocolVersion": 1})
            ends.agent.send('{"jsonrpc":"2.0","id":"%s","result":{"protocolVersion":1}}' % passed["id"])
            back = await program.receive()
            assert back == {"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}
            program.send('{"jsonrpc":"2.0","id":"%s","result":{"protocolVersion":1}}' % asked["id"])
            assert await ends.client.receive() == {
                "jsonrpc": "2.0",
                "id": 0,
                "result": {"protocolVersion": 1},
            }

    @pytest.mark.parametrize(
        ("request_spelling", "notification_spelling"),
        [
            ("proxy/successor", "proxy/successor"),
            ("_proxy/successor", "_proxy/successor"),
            ("_proxy/successor/request", "_proxy/successor/notification"),
        ],
    )
    async def test_every_dialect_is_understood_and_spoken_back(
        self, request_spelling: str, notification_spelling: str
    ) -> None:
        near, far = memory_pair()
        program = Wire(far)
        async with chain(ProgramNode("outer", near)) as ends:
            ends.client.send(HELLO)
            asked = await program.receive()
            if request_spelling.startswith("_"):
                refused = '{"jsonrpc":"2.0","id":"%s","error":{"code":-32601,"message":"?"}}' % asked["id"]
                program.send(refused)
                asked = await program.receive()
                assert asked["method"] == "_proxy/initialize"
            program.send(
                '{"jsonrpc":"2.0","id":9,"method":"%s","params":{"method":"_ping","params":{"n":1}}}'
                % request_spelling
            )
            ping = await ends.agent.receive()
            assert (ping["method"], ping["params"]) == ("_ping", {"n": 1})
            ends.agent.send('{"jsonrpc":"2.0","method":"session/update","params":{"n":2}}')
            update = await program.receive()
            assert update["method"] == notification_spelling
            assert update["params"] == {"method": "session/update", "params": {"n": 2}}
            ends.agent.send('{"jsonrpc":"2.0","id":5,"method":"fs/read_text_file","params":{"n":3}}')
            read = await program.receive()
            assert read["method"] == request_spelling
            program.send(
                '{"jsonrpc":"2.0","id":"%s","error":{"code":-7,"message":"no","data":[1]}}' % read["id"]
            )
            answer = await ends.agent.receive()
            assert answer == {"jsonrpc": "2.0", "id": 5, "error": {"code": -7, "message": "no", "data": [1]}}

    async def test_a_cancellation_is_translated_for_each_hop(self) -> None:
        near, far = memory_pair()
        program = Wire(far)
        async with chain(ProgramNode("outer", near)) as ends:
            ends.client.send(HELLO)
            asked = await program.receive()
            ends.client.send('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}')
            told = await program.receive()
            assert told["params"] == {"requestId": asked["id"]}
            program.send(
                '{"jsonrpc":"2.0","id":4,"method":"proxy/successor","params":{"method":"_slow"}}',
                '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4}}',
            )
            slow = await ends.agent.receive()
            cancel = await ends.agent.receive()
            assert (cancel["method"], cancel["params"]) == ("$/cancel_request", {"requestId": slow["id"]})

    async def test_one_that_dies_is_named_to_everyone_who_waits_for_it(self) -> None:
        near, far = memory_pair()
        program = Wire(far)
        async with chain(Quiet(), ProgramNode("fragile", near)) as ends:
            ends.client.send(HELLO)
            await program.receive()
            await far.close()
            assert "fragile" in (await ends.client.receive())["error"]["message"]
            ends.client.send('{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}')
            assert "fragile" in (await ends.client.receive())["error"]["message"]

    async def test_one_that_dies_leaves_neither_a_question_open_nor_a_turn_running(self) -> None:
        near, far = memory_pair()
        program = Wire(far)
        async with chain(ProgramNode("fragile", near)) as ends:
            ends.client.send(HELLO)
            await program.receive()
            program.send(
                '{"jsonrpc":"2.0","id":1,"method":"proxy/successor",'
                '"params":{"method":"session/prompt","params":{"sessionId":"done","prompt":[]}}}',
                '{"jsonrpc":"2.0","id":2,"method":"proxy/successor",'
                '"params":{"method":"session/prompt","params":{"sessionId":"open","prompt":[]}}}',
                '{"jsonrpc":"2.0","id":3,"method":"session/request_permission","params":{}}',
            )
            over, prompt = await ends.agent.receive(), await ends.agent.receive()
            ends.agent.send('{"jsonrpc":"2.0","id":"%s","result":{"stopReason":"end_turn"}}' % over["id"])
            assert (await program.receive())["id"] == 1
            question = await ends.client.receive()
            await far.close()
            assert (await ends.client.receive())["params"] == {"requestId": question["id"]}
            told = [await ends.agent.receive(), await ends.agent.receive()]
        assert [(one["method"], one["params"]) for one in told] == [
            ("session/cancel", {"sessionId": "open"}),
            ("$/cancel_request", {"requestId": prompt["id"]}),
        ]

    async def test_one_is_starting_while_nobody_else_keeps_it_from_answering(self) -> None:
        near, far = memory_pair()
        program, node = Wire(far), ProgramNode("slow", near)
        seen = [node.is_starting]
        async with chain(node) as ends:
            ends.client.send(HELLO)
            asked = await program.receive()
            seen.append(node.is_starting)
            program.send(
                '{"jsonrpc":"2.0","id":1,"method":"proxy/successor","params":{"method":"initialize"}}'
            )
            passed = await ends.agent.receive()
            seen.append(node.is_starting)
            ends.agent.send('{"jsonrpc":"2.0","id":"%s","result":{}}' % passed["id"])
            await program.receive()
            seen.append(node.is_starting)
            program.send('{"jsonrpc":"2.0","id":"%s","result":{}}' % asked["id"])
            await ends.client.receive()
            seen.append(node.is_starting)
        assert seen == [False, True, False, True, False]

    async def test_an_answer_that_nobody_asked_for_and_garbage_are_passed_over(self) -> None:
        near, far = memory_pair()
        program = Wire(far)
        async with chain(ProgramNode("noisy", near)) as ends:
            ends.client.send(HELLO)
            asked = await program.receive()
            answer = '{"jsonrpc":"2.0","id":"%s","result":{"protocolVersion":1}}' % asked["id"]
            program.send("garbage", '{"jsonrpc":"2.0","id":"nobody","result":1}', answer, answer)
            assert (await ends.client.receive())["id"] == 0
            program.send('{"jsonrpc":"2.0","method":"_still","params":{}}')
            assert (await ends.client.receive())["method"] == "_still"

    async def test_a_chain_of_two_programs_initializes_both_as_proxies(self) -> None:
        near_outer, far_outer = memory_pair()
        near_inner, far_inner = memory_pair()
        outer, inner = Wire(far_outer), Wire(far_inner)
        async with chain(ProgramNode("outer", near_outer), ProgramNode("inner", near_inner)) as ends:
            ends.client.send(HELLO)
            await outer.receive()
            forward = (
                '{"jsonrpc":"2.0","id":1,"method":"proxy/successor",'
                '"params":{"method":"initialize","params":{"protocolVersion":1}}}'
            )
            outer.send(forward)
            assert (await inner.receive())["method"] == "proxy/initialize"
            inner.send(forward)
            assert (await ends.agent.receive())["method"] == "initialize"
