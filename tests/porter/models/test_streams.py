"""Streams of a provider, in each wire format."""

import asyncio
import base64
import json

import pytest

from portico.config.model_settings import ModelSetting, PriceSetting
from portico.domain import codecs
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelEvent,
    ModelImage,
    ModelRequest,
    ModelText,
    ModelThinking,
    ModelToolResult,
    ModelUsage,
    ResponseFinished,
    TextChunk,
    ThinkingChunk,
    ToolCallChunk,
    ToolCallReady,
    ToolMessage,
    UserMessage,
)
from tests.porter.models.wires import HELLO, KINDS, scripted
from tests.support.model_endpoint import Answer, Call, Say, Think, Tokens

pytestmark = pytest.mark.parametrize("kind", KINDS)
LONG = "A sentence that comes in several pieces."


def finished(events: list[ModelEvent]) -> ResponseFinished:
    last = events[-1]
    assert isinstance(last, ResponseFinished)
    return last


async def test_text_streams_in_pieces_and_comes_whole_at_the_end(kind: str) -> None:
    async with scripted(kind, Answer(Say(LONG))) as it:
        events = await it.ask()
    pieces = [event.text for event in events if isinstance(event, TextChunk)]
    assert len(pieces) > 2
    assert "".join(pieces) == LONG
    assert finished(events).reason == "stop"
    assert finished(events).message.text == LONG


async def test_thoughts_stream_apart_from_the_answer(kind: str) -> None:
    async with scripted(kind, Answer(Think("Let me see, one, two."), Say("Three."))) as it:
        events = await it.ask()
    assert "".join(e.text for e in events if isinstance(e, ThinkingChunk)) == "Let me see, one, two."
    assert finished(events).message.text == "Three."


async def test_several_tool_calls_in_one_answer_are_ready_when_they_are_complete(kind: str) -> None:
    first, second = Call("read", '{"path":"a.py"}', "call_1"), Call("read", '{"path":"b.py"}', "call_2")
    async with scripted(kind, Answer(Say("I look."), first, second)) as it:
        events = await it.ask()
    ready = [event.call for event in events if isinstance(event, ToolCallReady)]
    assert [(call.name, json.loads(call.arguments)) for call in ready] == [
        ("read", {"path": "a.py"}),
        ("read", {"path": "b.py"}),
    ]
    assert [call.id for call in ready] == ["call_1", "call_2"]
    pieces = [event for event in events if isinstance(event, ToolCallChunk) and event.id == "call_2"]
    assert "".join(piece.arguments for piece in pieces) == '{"path":"b.py"}'
    assert finished(events).reason == "tool_calls"
    assert list(finished(events).message.calls) == ready


async def test_what_a_provider_signed_goes_back_to_it_unchanged_after_being_stored(kind: str) -> None:
    import msgspec

    thought, call = Think("Hmm, I think.", signature="c2lnbmVk"), Call("read", '{"path":"a.py"}')
    model = "anthropic.claude-sonnet-5-5" if kind == "bedrock" else "gpt-5-mini"
    async with scripted(kind, Answer(thought, call), Answer(Say("Done.")), model=model) as it:
        answer = finished(await it.ask()).message
        stored = codecs.decode_json(msgspec.json.encode(answer), AssistantMessage)
        await it.ask(HELLO, stored, ToolMessage((ModelToolResult("call_1", "read", (ModelText("1"),)),)))
        sent = json.dumps(it.endpoint.requests[-1].body)
    assert any(isinstance(part, ModelThinking) for part in stored.parts)
    assert "call_1" in sent
    assert kind == "openai-chat" or "c2lnbmVk" in sent


async def test_images_reach_the_model(kind: str) -> None:
    picture = ModelImage(b"\x89PNG-not-really", "image/png")
    async with scripted(kind, Answer(Say("A cat."))) as it:
        await it.ask(UserMessage((ModelText("What is this?"), picture)))
        sent = json.dumps(it.endpoint.requests[-1].body)
    assert base64.b64encode(picture.data).decode() in sent


async def test_instructions_tools_and_the_key_are_on_the_wire(kind: str) -> None:
    async with scripted(kind, Answer(Say("Yes."))) as it:
        await it.ask()
        request = it.endpoint.requests[-1]
    sent = json.dumps(request.body)
    assert request.key == "the-key"
    assert "Be brief." in sent
    assert "Read a file." in sent
    assert request.body.get("stream") is True or "stream" in request.path


async def test_usage_counts_what_was_cached_and_what_it_cost(kind: str) -> None:
    price = PriceSetting(input=10.0, output=100.0, cache_read=1.0)
    tokens = Tokens(input=1000, output=50, cached=600)
    async with scripted(kind, Answer(Say("Hi"), tokens=tokens), setting=ModelSetting(price=price)) as it:
        events = await it.ask()
    (usage,) = [event for event in events if isinstance(event, ModelUsage)]
    assert (usage.input, usage.output, usage.cache_read) == (1000, 50, 600)
    assert usage.cost_usd == pytest.approx((400 * 10 + 600 * 1 + 50 * 100) / 1e6)


async def test_without_a_known_price_no_cost_is_made_up(kind: str) -> None:
    async with scripted(kind, Answer(Say("Hi"))) as it:
        events = await it.ask()
    assert [event.cost_usd for event in events if isinstance(event, ModelUsage)] == [None]


async def test_an_answer_cut_at_its_limit_says_so(kind: str) -> None:
    async with scripted(kind, Answer(Say("And so on and"), finish="length")) as it:
        events = await it.ask()
    assert finished(events).reason == "length"


async def test_cancelling_ends_the_request_at_once(kind: str) -> None:
    async with scripted(kind, Answer(Say(LONG), hangs_after=4)) as it:
        asking = asyncio.create_task(it.ask())
        async with asyncio.timeout(30):
            await it.endpoint.arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(10):
                await asking


async def test_each_piece_may_be_asked_for_by_another_task(kind: str) -> None:
    """A reader that watches a stream and the clock at once does it like this."""
    async with scripted(kind, Answer(Say(LONG), Call("read", "{}")), Answer(Say(LONG))) as it:
        events: list[ModelEvent] = []
        stream = it.model.stream(ModelRequest(system="", messages=(HELLO,)))
        while not events or not isinstance(events[-1], ResponseFinished):
            events.append(await asyncio.create_task(anext(stream)))
        await asyncio.create_task(stream.aclose())
        stream = it.model.stream(ModelRequest(system="", messages=(HELLO,)))
        assert isinstance(await asyncio.create_task(anext(stream)), TextChunk)
        await asyncio.create_task(stream.aclose())


async def test_a_whole_exchange_is_understood_by_the_provider(kind: str) -> None:
    """Empty texts, an image in a result, two results at once: what providers are strict about."""
    calls = Answer(Call("read", "{}", "call_1"), Call("read", "{}", "call_2"))
    async with scripted(kind, calls, Answer(Say("Good."))) as it:
        answer = finished(await it.ask()).message
        results = ToolMessage(
            (
                ModelToolResult("call_1", "read", (ModelText(""),)),
                ModelToolResult("call_2", "read", (ModelText("see"), ModelImage(b"png", "image/png"))),
            )
        )
        history: tuple[Message, ...] = (HELLO, answer, results)
        assert finished(await it.ask(*history)).message.text == "Good."
