"""History of a model: after any course of events, one that a provider accepts."""

from hypothesis import given
from hypothesis import strategies as st

from portico.porter.history import INTERRUPTED, MessageHistory, well_formed
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    ModelText,
    ModelThinking,
    ModelToolCall,
    ModelToolResult,
    ToolMessage,
    UserMessage,
)
from portico.porter.transcript import AnyEntry

READ = ModelToolCall("c1", "read", "{}")
LIST = ModelToolCall("c2", "list", "{}")
PARTS: list[ModelText | ModelThinking | ModelToolCall] = [ModelText("a"), READ, LIST]


def said(text: str) -> UserMessage:
    return UserMessage((ModelText(text),))


def result(call: ModelToolCall, text: str = "ok") -> ModelToolResult:
    return ModelToolResult(call.id, call.name, (ModelText(text),))


def test_calls_that_nobody_answered_are_answered_as_interrupted() -> None:
    messages = well_formed([said("go"), AssistantMessage((READ, LIST)), ToolMessage((result(LIST),))])
    last = messages[-1]
    assert isinstance(last, ToolMessage)
    assert [one.call_id for one in last.results] == ["c1", "c2"]
    assert [one.parts for one in last.results] == [(ModelText(INTERRUPTED),), (ModelText("ok"),)]
    assert isinstance(well_formed([said("go"), AssistantMessage((READ,))])[-1], ToolMessage)


def test_prompts_in_a_row_are_one_and_empty_answers_none() -> None:
    messages = well_formed(
        [said("one"), AssistantMessage(()), said("two"), AssistantMessage((ModelText("hi"),))]
    )
    assert messages == (
        UserMessage((ModelText("one"), ModelText("two"))),
        AssistantMessage((ModelText("hi"),)),
    )


def test_results_that_answer_no_call_are_left_out() -> None:
    assert well_formed([said("go"), ToolMessage((result(READ),))]) == (said("go"),)


MESSAGES = st.lists(
    st.one_of(
        st.text(max_size=3).map(said),
        st.lists(st.sampled_from(PARTS), max_size=3, unique=True).map(
            lambda parts: AssistantMessage(tuple(parts))
        ),
        st.lists(st.sampled_from([result(READ), result(LIST)]), max_size=2).map(
            lambda results: ToolMessage(tuple(results))
        ),
    ),
    max_size=12,
)


@given(MESSAGES)
def test_every_history_is_one_that_providers_accept(messages: list[Message]) -> None:
    formed = well_formed(messages)
    assert well_formed(formed) == formed
    for before, after in zip((None, *formed), (*formed, None), strict=True):
        assert not (isinstance(before, UserMessage) and isinstance(after, UserMessage))
        calls = before.calls if isinstance(before, AssistantMessage) else ()
        answered = [one.call_id for one in after.results] if isinstance(after, ToolMessage) else []
        assert answered == [call.id for call in calls]


@given(MESSAGES, MESSAGES)
def test_what_is_kept_is_what_is_remembered(before: list[Message], after: list[Message]) -> None:
    kept: list[AnyEntry] = []
    history = MessageHistory(kept.append)
    for message in before:
        history.add(message)
    history.compact(history.messages[:3])
    for message in after:
        history.add(message)
    again = MessageHistory()
    again.restore(kept)
    assert again.messages == history.messages
