"""Tool output that is repeated in full with each update is stored once."""

from itertools import accumulate, pairwise
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from portico.acp import _schema as acp
from portico.domain.events import AnyPayload, ToolStarted, ToolUpdated
from portico.domain.ids import SessionId
from portico.domain.payload_codec import encode_payload
from portico.domain.values import TextPart, ToolPart
from portico.sessions.content.tool_calls import TurnToolCalls, output_delta
from portico.sessions.log.entry import JournalEntry
from portico.testing.clock import ManualClock
from tests.sessions.support import FakeAgent, world

LINES = [f"line {number} of what the command says\n" for number in range(400)]
SO_FAR = list(accumulate(LINES))


def told(text: str) -> acp.ToolCallProgress:
    return acp.ToolCallProgress(
        tool_call_id="c1", content=[acp.Content(content=acp.TextContent(text=text))], status="in_progress"
    )


def shown(payloads: list[AnyPayload]) -> tuple[ToolPart, ...]:
    """Final state of a door."""
    content: tuple[ToolPart, ...] = ()
    for payload in payloads:
        match payload:
            case ToolStarted(content=parts):
                content = parts
            case ToolUpdated(content=parts, grown=grown):
                content = content if parts is None else parts
                content = content if grown is None else grown.of(content)
            case _:
                pass
    return content


def heard(texts: list[str]) -> list[AnyPayload]:
    ledger = TurnToolCalls(ManualClock())
    first = list(ledger.take(acp.ToolCall(tool_call_id="c1", title="make")))
    return first + [payload for text in texts for payload in ledger.take(told(text))]


def size(payloads: list[AnyPayload]) -> int:
    return sum(len(encode_payload(payload)) for payload in payloads)


def test_output_that_is_told_again_and_again_is_kept_about_once() -> None:
    payloads = heard(SO_FAR)
    assert shown(payloads) == (TextPart(text=SO_FAR[-1]),)
    assert size(payloads) < 5 * len(SO_FAR[-1])


def test_a_fence_that_closes_each_time_is_kept_about_once_too() -> None:
    fenced = [f"```sh\n{text}```" for text in SO_FAR]
    payloads = heard(fenced)
    assert shown(payloads) == (TextPart(text=fenced[-1]),)
    assert size(payloads) < 5 * len(fenced[-1])


def test_content_that_changed_elsewhere_is_told_whole() -> None:
    before = "a" * 1000
    (*_, last) = heard([before, "b" + before])
    assert isinstance(last, ToolUpdated)
    assert (last.content, last.grown) == ((TextPart(text="b" + before),), None)


@given(st.lists(st.text(max_size=8), max_size=20), st.sampled_from(["", "`", "\n```", "😀", "é\u0301"]))
def test_whatever_is_told_is_what_a_door_has(pieces: list[str], ending: str) -> None:
    texts = ["x" * 300 + text + ending for text in accumulate(pieces)]
    assert shown(heard(texts)) == ((TextPart(text=texts[-1]),) if texts else ())


@given(st.lists(st.text(max_size=8), min_size=3, max_size=3))
def test_two_growths_are_one(pieces: list[str]) -> None:
    texts = [(TextPart(text="x" * 300 + text),) for text in accumulate(pieces)]
    first, second = (output_delta(before, now) for before, now in pairwise(texts))
    entry = JournalEntry(None, 0, ToolUpdated(tool_id="c1", grown=first))
    assert entry.absorb(None, ToolUpdated(tool_id="c1", grown=second))
    payload = entry.event(SessionId("s"), 1).payload
    assert isinstance(payload, ToolUpdated)
    assert payload.grown is not None
    assert payload.grown.of(texts[0]) == texts[2]


def test_a_growth_does_not_swallow_what_else_is_said() -> None:
    grown = output_delta((TextPart(text="x" * 300),), (TextPart(text="x" * 301),))
    entry = JournalEntry(None, 0, ToolUpdated(tool_id="c1", grown=grown))
    assert not entry.absorb(None, ToolUpdated(tool_id="c1", grown=grown, title="another"))
    assert not entry.absorb(None, ToolUpdated(tool_id="c2", grown=grown))


async def test_the_log_of_a_session_grows_with_the_output_and_not_with_its_square(tmp_path: Path) -> None:
    async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.update(acp.ToolCall(tool_call_id="c1", title="make"))
        for text in SO_FAR:
            agent.update(told(text))
        agent.update(acp.ToolCallProgress(tool_call_id="c1", status="completed"))

    async with world(answer, tmp_path) as host:
        events = await host.prompt()
    payloads = [event.payload for event in events]
    assert shown(payloads) == (TextPart(text=SO_FAR[-1]),)
    assert len(msgspec.json.encode(payloads)) < 6 * len(SO_FAR[-1])
