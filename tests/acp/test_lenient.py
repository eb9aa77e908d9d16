"""Mistakes of a peer that do not lose the message, and those that do."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portico.acp import _schema
from portico.acp.lenient_decoder import decode
from portico.domain import codecs
from tests.acp.schema_examples import DEFINITIONS, examples

MESSAGES = sorted(
    {
        found.__name__: found
        for table in (_schema.AGENT_METHODS, _schema.CLIENT_METHODS, _schema.PROXY_METHODS)
        for method in table.values()
        for found in (method.params, method.result)
        if found not in (None, Any)
    }.items()
)
EXAMPLES = [
    (found, example)
    for name, found in MESSAGES
    for full in (False, True)
    for example in examples(DEFINITIONS[name], full=full)
]


def update(**fields: Any) -> bytes:
    return json.dumps({"sessionId": "s", "update": fields}).encode()


def test_a_correct_message_is_read_as_it_is() -> None:
    message = update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "hello"})
    expected = _schema.AgentMessageChunk(content=_schema.TextContent(text="hello"))
    assert decode(message, _schema.SessionNotification).update == expected
    assert decode(msgspec.Raw(message), _schema.SessionNotification).update == expected


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("name", "found"), MESSAGES)
def test_every_message_of_the_schema_is_read_the_same_strictly_and_leniently(
    name: str, found: type[msgspec.Struct], full: bool
) -> None:
    for example in examples(DEFINITIONS[name], full=full):
        strict = codecs.decode_json(json.dumps(example), found)
        assert decode(json.dumps(example).encode(), found) == strict
        if "_meta" in example:
            assert decode(
                json.dumps({**example, "_meta": "wrong"}).encode(), found
            ) == msgspec.structs.replace(strict, meta=None)


def test_an_optional_field_with_a_bad_value_counts_as_absent() -> None:
    message = update(
        sessionUpdate="tool_call", toolCallId="call", title="Run", kind="teleport", status=3, name=[]
    )
    assert decode(message, _schema.SessionNotification).update == _schema.ToolCall(
        tool_call_id="call", title="Run"
    )


def test_a_bad_patch_leaves_the_stored_value_alone() -> None:
    read = decode(update(sessionUpdate="session_info_update", title=7), _schema.SessionNotification).update
    assert read == _schema.SessionInfoUpdate()


def test_invalid_items_of_a_list_are_left_out_and_the_rest_is_kept() -> None:
    diff = {"type": "diff", "path": "/a", "newText": "x", "oldText": 7}
    content = [{"type": "hologram"}, diff, {}, None, {"type": "diff", "path": 1, "newText": "x"}]
    message = update(
        sessionUpdate="tool_call_update", toolCallId="call", content=content, locations=[{"path": "/a"}, 1]
    )
    assert decode(message, _schema.SessionNotification).update == _schema.ToolCallProgress(
        tool_call_id="call",
        content=[_schema.Diff(path="/a", new_text="x")],
        locations=[_schema.ToolCallLocation(path="/a")],
    )


def test_a_bad_entry_of_a_plan_does_not_take_the_plan_with_it() -> None:
    good = {"content": "Look", "priority": "high", "status": "pending"}
    read = decode(
        update(sessionUpdate="plan", entries=[good, {**good, "priority": "urgent"}]),
        _schema.SessionNotification,
    )
    assert read.update == _schema.Plan(
        entries=[_schema.PlanEntry(content="Look", priority="high", status="pending")]
    )


@pytest.mark.parametrize("servers", [{}, {"mcpServers": None}])
def test_a_session_may_be_asked_for_without_servers(servers: dict[str, None]) -> None:
    read = decode(json.dumps({"cwd": "/work", **servers}).encode(), _schema.NewSessionRequest)
    assert read == _schema.NewSessionRequest(cwd="/work", mcp_servers=[])


def test_null_where_a_list_is_optional_means_the_empty_list() -> None:
    read = decode(b'{"sessionId":"s","command":"ls","args":null,"env":null}', _schema.CreateTerminalRequest)
    assert read == _schema.CreateTerminalRequest(session_id="s", command="ls")


def test_null_where_a_field_has_a_default_means_the_default() -> None:
    read = decode(
        b'{"providerId":"p","apiType":"openai","baseUrl":"u","headers":null}', _schema.SetProviderRequest
    )
    assert read.headers == {}


def test_capabilities_that_make_no_sense_are_not_granted() -> None:
    capabilities = {"fs": {"readTextFile": "yes", "writeTextFile": True}, "terminal": None, "plan": 1}
    message = json.dumps({"protocolVersion": 1, "clientCapabilities": capabilities}).encode()
    read = decode(message, _schema.InitializeRequest).client_capabilities
    assert read == _schema.ClientCapabilities(fs=_schema.FileSystemCapabilities(write_text_file=True))


def test_a_whole_number_written_with_a_fraction_is_a_whole_number() -> None:
    read = decode(update(sessionUpdate="usage_update", used=12.0, size=1e5), _schema.SessionNotification)
    assert read.update == _schema.UsageUpdate(used=12, size=100_000)


def test_an_empty_result_may_be_null() -> None:
    assert decode(b"null", _schema.WriteTextFileResponse) == _schema.WriteTextFileResponse()


@pytest.mark.parametrize(
    ("message", "found", "complaint"),
    [
        (
            update(sessionUpdate="hologram", depth=3),
            _schema.SessionNotification,
            "'hologram' - at `$.update.sessionUpdate`",
        ),
        (update(content={}), _schema.SessionNotification, "required field `sessionUpdate` - at `$.update`"),
        (b'{"cwd":7}', _schema.NewSessionRequest, "Expected `str`, got `int` - at `$.cwd`"),
        (b"{}", _schema.PromptRequest, "required field `sessionId`"),
        (b'{"sessionId":"s"}', _schema.PromptRequest, "required field `prompt`"),
        (b"null", _schema.NewSessionResponse, "required field `sessionId`"),
        (b"[]", _schema.PromptResponse, "Expected `object`, got `array`"),
        (b'{"sessionId":"s","path":"/a","line":"7"}', _schema.ReadTextFileRequest, "at `$.line`"),
        (b'{"stopReason":"tired"}', _schema.PromptResponse, "'tired' - at `$.stopReason`"),
    ],
)
def test_a_mistake_that_matters_is_named_with_its_path(
    message: bytes, found: type[msgspec.Struct], complaint: str
) -> None:
    with pytest.raises(msgspec.ValidationError) as raised:
        decode(message, found)
    assert complaint in str(raised.value)


def test_the_mistake_named_is_not_one_that_was_tolerated() -> None:
    message = update(sessionUpdate="tool_call", toolCallId="call", kind="teleport", title=7)
    with pytest.raises(msgspec.ValidationError, match=r"at `\$\.update\.title`"):
        decode(message, _schema.SessionNotification)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\x00",
        b'"\xff"',
        b'{"sessionId":"\xff"}',
        b"[" * 100_000,
        b'{"_meta":' * 100_000,
        b'"\\ud800"',
    ],
    ids=["empty", "cut", "nul", "utf8", "utf8-field", "deep", "deep-meta", "surrogate"],
)
def test_what_is_not_json_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(data, _schema.PromptRequest)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON value."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    found = [(value, key) for key, _ in items]
    return found + [place for _, item in items if isinstance(item, (dict, list)) for place in places(item)]


@st.composite
def damaged(draw: st.DrawFn) -> tuple[type[msgspec.Struct], bytes]:
    """A correct message with a few of its values replaced or removed, and sometimes cut short."""
    found, example = draw(st.sampled_from(EXAMPLES))
    message = json.loads(json.dumps(example))
    for _ in range(draw(st.integers(1, 3))):
        holes = places(message)
        if holes:
            container, key = draw(st.sampled_from(holes))
            if draw(st.booleans()):
                container[key] = draw(JSON)
            else:
                del container[key]
    data = json.dumps(message).encode()
    return found, data[: draw(st.integers(0, len(data)))] if draw(st.booleans()) else data


def survives(found: type[msgspec.Struct], data: bytes) -> None:
    try:
        read = decode(data, found)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return
    assert codecs.convert(msgspec.to_builtins(read), found) == read


@settings(deadline=None, max_examples=400)
@given(damaged())
def test_no_damaged_message_raises_anything_unexpected(case: tuple[type[msgspec.Struct], bytes]) -> None:
    survives(*case)


@settings(deadline=None)
@given(
    st.sampled_from([found for _, found in MESSAGES]),
    st.binary() | JSON.map(lambda v: json.dumps(v).encode()),
)
def test_no_bytes_at_all_raise_anything_unexpected(found: type[msgspec.Struct], data: bytes) -> None:
    survives(found, data)
