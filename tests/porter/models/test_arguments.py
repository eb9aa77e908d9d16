"""Arguments of a tool call that are no JSON: what Porter gets of them, and that the conversation continues."""

import json

import pytest

from portico.domain.errors import ModelReported
from portico.porter.models.model import (
    ModelEvent,
    ModelText,
    ModelToolResult,
    RequestRetry,
    ResponseFinished,
    ToolCallReady,
    ToolMessage,
)
from portico.porter.models.remote_model import RetryPolicy
from tests.porter.models.wires import HELLO, KINDS, scripted
from tests.support.model_endpoint import Answer, Call, Say

with_raw_arguments = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "google"])
"""Google sends objects, and gives an answer up itself when a model wrote none."""

BROKEN = Answer(Call("read", '{"path": "a.py'))


def finished(events: list[ModelEvent]) -> ResponseFinished:
    last = events[-1]
    assert isinstance(last, ResponseFinished)
    return last


@with_raw_arguments
async def test_arguments_that_are_no_json_arrive_as_they_are(kind: str) -> None:
    async with scripted(kind, BROKEN) as it:
        events = await it.ask()
    (ready,) = [event.call for event in events if isinstance(event, ToolCallReady)]
    assert ready.arguments == '{"path": "a.py'


@with_raw_arguments
async def test_a_history_with_broken_arguments_can_be_sent_again(kind: str) -> None:
    async with scripted(kind, BROKEN, Answer(Say("Sorry."))) as it:
        answer = finished(await it.ask()).message
        said = ModelToolResult("call_1", "read", (ModelText("the arguments are no JSON"),), failed=True)
        events = await it.ask(HELLO, answer, ToolMessage((said,)))
        sent = json.dumps(it.endpoint.requests[-1].body)
    assert finished(events).message.text == "Sorry."
    assert "malformed_arguments" in sent
    assert "the arguments are no JSON" in sent


async def test_an_answer_that_google_gives_up_for_its_call_is_asked_for_again() -> None:
    async with scripted("google", BROKEN, Answer(Say("Sorry."))) as it:
        events = await it.ask()
    (notice,) = [event for event in events if isinstance(event, RequestRetry)]
    assert "MALFORMED_FUNCTION_CALL" in notice.reason
    assert finished(events).message.text == "Sorry."


async def test_an_answer_that_is_given_up_each_time_is_an_error_with_something_to_do() -> None:
    async with scripted("google", BROKEN, BROKEN, policy=RetryPolicy(attempts=2)) as it:
        with pytest.raises(ModelReported, match="ended its answer early") as failure:
            await it.ask()
    assert "Try again" in str(failure.value.suggestion)
