"""Tool calls of a small model: constrained by a schema, read while they arrive, and told back as plain text."""

import json
from collections.abc import AsyncGenerator

import pytest

from portico.domain import codecs
from portico.porter.models.model import (
    AssistantMessage,
    ModelEvent,
    ModelFacts,
    ModelRequest,
    ModelText,
    ModelToolCall,
    ModelToolResult,
    ResponseFinished,
    TextChunk,
    ToolCallReady,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from portico.porter.models.offline.constrained_calls import AnswerReader, constrain, stream_constrained
from portico.porter.tools.catalog import TOOLS

READ = ToolSpec(
    name="read",
    description="Read a file. It may be long.",
    schema=b'{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"integer"}},"required":["path"]}',
)
ASK = ModelRequest(system="Be brief.", messages=(UserMessage((ModelText("Hi"),)),), tools=(READ,))


class SpokenModel:
    """Says one text in pieces of three characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return "offline:spoken"

    async def facts(self) -> ModelFacts:
        return ModelFacts()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.requests.append(request)
        for start in range(0, len(self._text), 3):
            yield TextChunk(self._text[start : start + 3])
        yield ResponseFinished("stop", AssistantMessage((ModelText(self._text),), model=self.name))

    async def close(self) -> None: ...


async def response(text: str) -> tuple[str, ResponseFinished, list[ModelEvent]]:
    events = [event async for event in stream_constrained(SpokenModel(text), ASK)]
    finished = events[-1]
    assert isinstance(finished, ResponseFinished)
    return "".join(one.text for one in events if isinstance(one, TextChunk)), finished, events


async def test_a_call_is_not_shown_as_text_and_has_the_arguments_as_json() -> None:
    shown, finished, events = await response('{"tool": "read", "arguments": {"path": "a.py"}}')
    assert shown == ""
    assert finished.reason == "tool_calls"
    (call,) = finished.message.calls
    assert (call.name, call.arguments) == ("read", '{"path":"a.py"}')
    assert events[0] == ToolCallReady(call)


async def test_an_answer_is_shown_while_it_arrives() -> None:
    answer = 'Line one.\n"quoted" \\ and a tab\t, then 🚀 and é.'
    for text in (json.dumps({"answer": answer}), json.dumps({"answer": answer}, ensure_ascii=False)):
        shown, finished, events = await response(text)
        assert shown == finished.message.text == answer
        assert len(events) > 5


@pytest.mark.parametrize("text", ["Just words.", '{"other": 1}', '[1, "x"]'])
async def test_a_response_in_another_form_is_text(text: str) -> None:
    _, finished, _ = await response(text)
    assert finished.message.text == text
    assert not finished.message.calls


async def test_an_answer_that_was_cut_off_is_kept_as_far_as_it_goes() -> None:
    _, finished, _ = await response('{"answer": "One two \\u00')
    assert finished.message.text == "One two "


def test_text_comes_once_in_any_pieces() -> None:
    raw = json.dumps({"answer": 'a "b" \\ 🚀'})
    for size in (1, 2, 5):
        reader = AnswerReader()
        pieces = [reader.feed(raw[start : start + size]) for start in range(0, len(raw), size)]
        assert "".join(pieces) == 'a "b" \\ 🚀'


def test_tools_are_few_and_described_in_a_line_each_and_the_schema_has_no_references() -> None:
    request = ModelRequest(system="Be brief.", messages=(), tools=tuple(tool.spec() for tool in TOOLS))
    found = constrain(request)
    assert found.tools == ()
    assert "- read(path, first_line?, lines?): Read a text file of the workspace" in found.system
    assert "delegate" not in found.system
    assert found.response_schema is not None
    assert b"$ref" not in found.response_schema
    choices = codecs.decode_json(found.response_schema)["anyOf"]
    names = [one["properties"].get("tool", {}).get("const", "answer") for one in choices]
    assert names == ["read", "list", "grep", "edit", "write", "run", "answer"]
    edits = choices[3]["properties"]["arguments"]["properties"]["edits"]
    assert {"old", "new"} <= set(edits["items"]["properties"])


def test_calls_and_results_of_before_are_plain_messages() -> None:
    call = ModelToolCall(id="1", name="read", arguments='{"path":"a.py"}')
    history = (
        UserMessage((ModelText("Look."),)),
        AssistantMessage((call,)),
        ToolMessage((ModelToolResult(call_id="1", name="read", parts=(ModelText("x = 1"),), failed=True),)),
        AssistantMessage((ModelText("Done."),)),
    )
    messages = constrain(ModelRequest(system="", messages=history, tools=(READ,))).messages
    assert [type(one) for one in messages] == [UserMessage, AssistantMessage, UserMessage, AssistantMessage]
    said = [one.parts[0] for one in messages if not isinstance(one, ToolMessage)]
    texts = [part.text for part in said if isinstance(part, ModelText)]
    assert texts[1:] == [
        '{"tool":"read","arguments":{"path":"a.py"}}',
        "Result of read (it failed):\nx = 1",
        '{"answer":"Done."}',
    ]


def test_tools_of_another_client_are_offered_as_far_as_they_are_few() -> None:
    tools = tuple(ToolSpec(name=f"tool{number}", description="Do.", schema=b"{}") for number in range(20))
    found = constrain(ModelRequest(system="Be brief.", messages=(), tools=tools))
    assert "- tool7(): Do." in found.system
    assert "tool8" not in found.system
    assert len(codecs.decode_json(found.response_schema or b"")["anyOf"]) == 9
