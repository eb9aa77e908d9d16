"""Failures at a provider: the code, the message, and whether it is tried again with a notice."""

import json

import pytest

from portico.domain.errors import (
    AuthRequired,
    ContextLimit,
    ErrorCode,
    ExitCode,
    InvalidInput,
    ModelBusy,
    ModelRefused,
    ModelReported,
    ModelTimedOut,
    PorticoError,
)
from portico.porter.models.model import (
    ModelEvent,
    ModelRequest,
    ModelUsage,
    RequestLimits,
    RequestRetry,
    ResponseFinished,
    TextChunk,
    ToolCallReady,
)
from portico.porter.models.remote_model import RetryPolicy
from tests.porter.models.wires import HELLO, KINDS, Scripted, scripted
from tests.support.model_endpoint import (
    BAD_KEY,
    OVERLOADED,
    TOO_LONG,
    TOO_MANY,
    Answer,
    Call,
    Raw,
    Refuse,
    Say,
    Think,
)

every_kind = pytest.mark.parametrize("kind", KINDS)
HI = Answer(Say("Hi"))
LONG = Say("A sentence that comes in several pieces.")


async def told(it: Scripted) -> tuple[list[ModelEvent], PorticoError]:
    """Notices before the failure, and the failure."""
    events: list[ModelEvent] = []
    request = ModelRequest(system="", messages=(HELLO,), limits=RequestLimits(silence=20.0))

    async def ask() -> None:
        async for event in it.model.stream(request):
            events.append(event)  # noqa: PERF401 - those before the failure are wanted

    with pytest.raises(PorticoError) as failure:
        await ask()
    assert failure.value.suggestion
    return events, failure.value


def retries(events: list[ModelEvent]) -> list[RequestRetry]:
    return [event for event in events if isinstance(event, RequestRetry)]


@every_kind
async def test_too_many_requests_are_tried_again_after_the_time_the_provider_asks_for(kind: str) -> None:
    asked = Refuse(429, "Slow down", type="rate_limit_error", headers={"Retry-After": "7"})
    async with scripted(kind, asked, HI) as it:
        events = await it.ask()
        assert it.pauses.taken == [7.0]
        assert len(it.endpoint.requests) == 2
    (notice,) = retries(events)
    assert (notice.attempt, notice.pause) == (2, 7.0)
    assert "limits the rate of requests" in notice.reason
    assert isinstance(events[-1], ResponseFinished)


async def test_the_time_to_wait_may_be_where_google_puts_it() -> None:
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}
    async with scripted("google", Refuse(429, "Slow down", details=(delay,)), HI) as it:
        events = await it.ask()
        assert it.pauses.taken == [7.5]
    assert isinstance(events[-1], ResponseFinished)


@every_kind
async def test_without_a_time_to_wait_the_pauses_grow(kind: str) -> None:
    async with scripted(kind, TOO_MANY, TOO_MANY, TOO_MANY, HI) as it:
        events = await it.ask()
        first, second, third = it.pauses.taken
    assert 0.5 <= first <= 1.0 <= second <= 2.0 <= third <= 4.0
    assert [notice.pause for notice in retries(events)] == [first, second, third]


@every_kind
async def test_after_the_last_attempt_the_person_is_told(kind: str) -> None:
    async with scripted(kind, TOO_MANY, TOO_MANY, policy=RetryPolicy(attempts=2)) as it:
        events, error = await told(it)
        assert len(it.endpoint.requests) == 2
    assert isinstance(error, ModelBusy)
    assert error.exit_code is ExitCode.PROVIDER
    assert len(retries(events)) == 1


@every_kind
async def test_a_provider_that_asks_for_hours_is_not_waited_for(kind: str) -> None:
    asked = Refuse(429, "Come back tomorrow", type="rate_limit_error", headers={"Retry-After": "7200"})
    async with scripted(kind, asked) as it:
        events, error = await told(it)
    assert isinstance(error, ModelBusy)
    assert "7200 s" in str(error.suggestion)
    assert not events


@every_kind
@pytest.mark.parametrize("failure", [OVERLOADED, Refuse(500, "oops"), Refuse(503, "maintenance")])
async def test_an_overloaded_provider_is_tried_again(kind: str, failure: Refuse) -> None:
    async with scripted(kind, failure, HI) as it:
        events = await it.ask()
    assert len(retries(events)) == 1
    assert isinstance(events[-1], ResponseFinished)


@every_kind
async def test_a_key_that_is_not_accepted_is_never_tried_again(kind: str) -> None:
    async with scripted(kind, BAD_KEY) as it:
        events, error = await told(it)
        assert len(it.endpoint.requests) == 1
    assert isinstance(error, AuthRequired)
    assert error.code is ErrorCode.AUTH_REQUIRED
    assert "portico auth login mine" in str(error.suggestion)
    assert not events


@every_kind
async def test_a_key_that_expires_in_the_middle_of_a_conversation_is_told(kind: str) -> None:
    async with scripted(kind, HI) as it:
        await it.ask()
        it.endpoint.key = "another-key"
        _, error = await told(it)
    assert isinstance(error, AuthRequired)


@every_kind
async def test_the_key_is_taken_out_of_what_the_provider_says(kind: str) -> None:
    async with scripted(kind, Refuse(401, "the key the-key is wrong", type="authentication_error")) as it:
        _, error = await told(it)
    assert "the-key" not in error.message


@every_kind
async def test_a_conversation_that_is_too_long_has_a_code_of_its_own(kind: str) -> None:
    async with scripted(kind, TOO_LONG) as it:
        _, error = await told(it)
    assert isinstance(error, ContextLimit)
    assert error.code is ErrorCode.CONTEXT_LIMIT


async def test_the_words_of_llama_cpp_for_it_are_known() -> None:
    words = "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it"
    async with scripted("openai-chat", Refuse(400, words, type="exceed_context_size_error")) as it:
        _, error = await told(it)
    assert isinstance(error, ContextLimit)


@every_kind
async def test_a_stream_that_breaks_after_words_were_shown_ends_with_an_error(kind: str) -> None:
    async with scripted(kind, Answer(LONG, breaks_after=6)) as it:
        events, error = await told(it)
        assert len(it.endpoint.requests) == 1
    assert isinstance(error, ModelTimedOut)
    assert error.code is ErrorCode.NETWORK_TIMEOUT
    assert any(isinstance(event, TextChunk) for event in events)


@every_kind
async def test_a_stream_that_breaks_in_a_tool_call_is_asked_again_and_the_half_call_never_runs(
    kind: str,
) -> None:
    call = Call("read", '{"path": "a/rather/long/name.py"}')
    # Google sends a call in one piece: there the break is between it and the end.
    middle = 2 if kind == "google" else 5
    async with scripted(kind, Answer(call, breaks_after=middle), Answer(call)) as it:
        events = await it.ask()
    assert len(retries(events)) == 1
    (ready,) = [event for event in events if isinstance(event, ToolCallReady)]
    assert json.loads(ready.call.arguments) == {"path": "a/rather/long/name.py"}


@every_kind
async def test_thoughts_alone_do_not_stop_another_attempt(kind: str) -> None:
    async with scripted(kind, Answer(Think("Let me think about it."), breaks_after=5), HI) as it:
        events = await it.ask()
    assert len(retries(events)) == 1


@every_kind
async def test_an_error_in_the_middle_of_a_stream_is_told_by_its_own_code(kind: str) -> None:
    failure = Refuse(529, "Overloaded", type="overloaded_error", code="server_is_overloaded", after=(LONG,))
    async with scripted(kind, failure) as it:
        events, error = await told(it)
    assert isinstance(error, ModelBusy)
    assert any(isinstance(event, TextChunk) for event in events)


@every_kind
async def test_a_refusal_is_told_and_what_it_cost_too(kind: str) -> None:
    async with scripted(kind, Answer(finish="refused")) as it:
        events, error = await told(it)
    assert isinstance(error, ModelRefused)
    assert error.exit_code is ExitCode.PROVIDER
    assert any(isinstance(event, ModelUsage) for event in events)


@every_kind
async def test_a_model_that_falls_silent_is_given_up(kind: str) -> None:
    # A busy machine may take longer than that to the first word, and then the request is sent again.
    async with scripted(kind, *[Answer(LONG, hangs_after=6)] * RetryPolicy().attempts) as it:
        request = ModelRequest(system="", messages=(HELLO,), limits=RequestLimits(silence=0.3))
        events: list[ModelEvent] = []
        error: PorticoError | None = None
        try:
            async for event in it.model.stream(request):
                events.append(event)  # noqa: PERF401 - those before the failure count
        except ModelTimedOut as timed_out:
            error = timed_out
    assert "stopped responding" in str(error)
    shown = [isinstance(event, TextChunk) for event in events]
    after = events[shown.index(True) :] if any(shown) else []
    assert not any(isinstance(event, RequestRetry) for event in after)


@every_kind
async def test_a_model_that_does_not_exist_is_the_persons_to_correct(kind: str) -> None:
    unknown = Refuse(404, "no such model", type="not_found_error", code="model_not_found")
    async with scripted(kind, unknown) as it:
        _, error = await told(it)
    assert isinstance(error, InvalidInput)
    assert "portico models list mine" in str(error.suggestion)


@every_kind
async def test_any_other_error_is_passed_on_in_the_providers_words(kind: str) -> None:
    async with scripted(kind, Refuse(400, "tools.0.name is odd")) as it:
        _, error = await told(it)
    assert isinstance(error, ModelReported)
    assert "tools.0.name is odd" in error.message
    assert "{" not in error.message


@every_kind
async def test_an_empty_account_is_not_asked_again(kind: str) -> None:
    empty = Refuse(402, "Your credit balance is too low", type="billing_error", code="insufficient_quota")
    async with scripted(kind, empty) as it:
        _, error = await told(it)
        assert len(it.endpoint.requests) == 1
    assert isinstance(error, ModelBusy)
    assert "used up" in error.message


@every_kind
@pytest.mark.parametrize(
    "odd",
    [
        Raw(b"<html><title>Sign in to the hotel's network</title></html>", "text/html"),
        Raw(b"<html>", "text/event-stream"),
        Raw(b'data: {"choices": [\n\n'),
        Raw(b'event: message_start\ndata: {"type": "message_start", "message": 5}\n\n'),
        Raw(b'event: response.created\ndata: {"type":"response.created","response":{"id":[]}}\n\n'),
        Raw(b'data: {"id":1,"choices":[{"delta":{"tool_calls":[{"function":{}}]}}]}\n\n'),
        Raw(b'data: "words"\n\n'),
        Raw(b"\xff\xfe\n\n"),
        Raw(b""),
        Raw(b"{}", "application/json"),
    ],
)
async def test_what_no_provider_would_say_ends_in_an_error_of_ours(kind: str, odd: Raw) -> None:
    async with scripted(kind, odd, policy=RetryPolicy(attempts=1)) as it:
        _, error = await told(it)
    assert isinstance(error, (ModelReported, ModelTimedOut))


@every_kind
async def test_an_address_where_nobody_listens_is_said_plainly(kind: str) -> None:
    async with scripted(kind, policy=RetryPolicy(attempts=2)) as it:
        await it.endpoint.stop()
        events, error = await told(it)
    assert isinstance(error, ModelTimedOut)
    assert "cannot be reached" in error.message
    assert len(retries(events)) == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "bedrock"])
async def test_a_local_server_that_drops_kept_connections_loses_no_request(kind: str) -> None:
    async with scripted(kind, HI, HI, HI) as it:
        it.endpoint.drops_connections = True
        for _ in range(3):
            assert isinstance((await it.ask())[-1], ResponseFinished)
        assert it.pauses.taken == []
