"""Events as state and actions: terminals, questions, errors and interrupted turns."""

from typing import Any

import msgspec

from portico.domain import codecs
from portico.domain.errors import ErrorCode
from portico.domain.events import (
    AnyPayload,
    ErrorReported,
    Event,
    Notice,
    PromptSubmitted,
    QuestionAnswered,
    QuestionAsked,
    SessionStarted,
    StateChanged,
    ToolCompleted,
    ToolStarted,
    ToolUpdated,
    TurnEnded,
)
from portico.domain.ids import SessionId, TurnId
from portico.domain.turns import TurnState
from portico.domain.values import (
    DiffPart,
    OptionChoice,
    QuestionField,
    TerminalOutput,
    TerminalPart,
    TextGrowth,
    TextPart,
)
from portico.doors.ahp import _schema as ahp
from portico.doors.ahp.questions import read_answer
from portico.doors.ahp.session_projection import SessionProjection

CHAT, TERMINAL = "ahp-chat:/s", "ahp-terminal:/s/term1"


class Log:
    """A session that takes one event after another."""

    def __init__(self) -> None:
        self.state = SessionProjection("s", "fake:/s")
        self.seq = 0
        self.take(
            SessionStarted(workspace="/w", agent="fake", continued=False, mode="direct", portico_version="1")
        )

    def take(self, *payloads: AnyPayload) -> list[tuple[str, str]]:
        """Channel and kind of each action."""
        found = []
        for payload in payloads:
            self.seq += 1
            event = Event(
                session_id=SessionId("s"),
                seq=self.seq,
                turn_id=TurnId("t1"),
                at=self.seq * 1000,
                payload=payload,
            )
            found += [(channel, plain(action)["type"]) for channel, action in self.state.take(event)]
        return found

    def begin(self) -> None:
        self.take(PromptSubmitted(text="go"))

    def part(self) -> Any:
        """The last part of the turn in progress."""
        return plain(self.state.state(CHAT))["activeTurn"]["responseParts"][-1]


def plain(value: object) -> Any:
    return msgspec.to_builtins(value)


def test_the_output_of_a_command_is_a_terminal_to_read() -> None:
    log = Log()
    log.begin()
    log.take(ToolStarted(tool_id="c", title="ls", tool_kind="execute", status="pending"))
    shown = log.take(
        ToolUpdated(tool_id="c", content=(TerminalPart(terminal_id="term1"),)),
        ToolUpdated(tool_id="c", terminal=TerminalOutput(terminal_id="term1", text="a\n")),
        ToolUpdated(
            tool_id="c", terminal=TerminalOutput(terminal_id="term1", text="b\n", exit_code=0, ended=True)
        ),
    )
    assert shown == [
        (CHAT, "chat/toolCallContentChanged"),
        (TERMINAL, "terminal/data"),
        (TERMINAL, "terminal/data"),
        (TERMINAL, "terminal/exited"),
    ]
    assert log.part()["toolCall"]["content"][0]["resource"] == TERMINAL
    terminal = plain(log.state.state(TERMINAL))
    assert terminal["content"] == [{"type": "unclassified", "value": "a\nb\n"}]
    assert terminal["lifecycle"] == {"status": "exited", "exitCode": 0}
    assert log.state.state("ahp-terminal:/s/other") is None


def test_a_question_is_asked_with_its_fields_and_answered_once() -> None:
    log = Log()
    log.begin()
    choices = (OptionChoice(value="r", name="Red"), OptionChoice(value="b", name="Blue"))
    fields = (
        QuestionField(name="colour", type="choice", choices=choices, required=True),
        QuestionField(name="count", type="integer", minimum=1, maximum=5, default=2),
        QuestionField(name="tags", type="choices", choices=choices),
        QuestionField(name="sure", type="boolean", default=True),
        QuestionField(name="key", type="string", secret=True),
    )
    asked = log.take(QuestionAsked(request_id="q1", message="Which?", mode="form", fields=fields))
    assert ("fake:/s", "session/inputNeededSet") in asked
    assert plain(log.state.state(CHAT))["status"] == 24
    questions = log.part()["request"]["questions"]
    assert [one["kind"] for one in questions] == [
        "single-select",
        "integer",
        "multi-select",
        "boolean",
        "text",
    ]
    assert (questions[1]["min"], questions[1]["defaultValue"], questions[4]["format"]) == (1, 2.0, "password")

    said = {
        "type": "chat/inputCompleted",
        "requestId": "q1",
        "response": "accept",
        "answers": {
            "colour": {"state": "submitted", "value": {"kind": "selected", "value": "r"}},
            "count": {"state": "submitted", "value": {"kind": "number", "value": 3.0}},
            "tags": {"state": "submitted", "value": {"kind": "selected-many", "value": ["r", "b"]}},
            "sure": {"state": "skipped"},
            "key": {"state": "draft", "value": {"kind": "text", "value": "half"}},
        },
    }
    answer = read_answer(codecs.convert(said, ahp.ChatInputCompletedAction))
    assert (answer.action, answer.content) == ("accept", {"colour": "r", "count": 3, "tags": ("r", "b")})
    assert isinstance(answer.content["count"], int)

    done = log.take(QuestionAnswered(request_id="q1", action="accept", by="person", content={"colour": "r"}))
    assert done[:2] == [(CHAT, "chat/inputCompleted"), ("fake:/s", "session/inputNeededRemoved")]
    assert log.take(QuestionAnswered(request_id="q1", action="accept", by="person")) == []


def test_changes_of_a_tool_call_have_both_sides() -> None:
    log = Log()
    log.begin()
    log.take(ToolStarted(tool_id="e", title="Edit", tool_kind="edit", status="pending"))
    diff = DiffPart(path="/w/a.txt", old_text="old", new_text="new")
    log.take(ToolUpdated(tool_id="e", title="Edit a.txt", content=(TextPart(text="see"), diff)))
    content = log.part()["toolCall"]["content"]
    assert content[1]["after"]["uri"] == "file:///w/a.txt"
    log.take(ToolCompleted(tool_id="e", success=True, duration_ms=1))
    assert log.take(ToolUpdated(tool_id="e", grown=TextGrowth(text="late"))) == []
    assert log.state.turns.text_of("e", "1", "before") == "old"
    assert log.state.turns.text_of("e", "1", "after") == "new"
    for wrong in (("e", "0", "after"), ("e", "9", "after"), ("x", "1", "after"), ("e", "-1", "after")):
        assert log.state.turns.text_of(*wrong) is None


def test_a_turn_that_fails_or_is_interrupted_ends_with_its_error() -> None:
    log = Log()
    log.begin()
    log.take(
        Notice(level="info", text="Starting over."),
        ErrorReported(code=ErrorCode.AGENT_CRASHED, message="It is gone.", recoverable=True),
    )
    failed = TurnEnded(state=TurnState.FAILED, stop_reason="error", duration_ms=1, tools_used=0)
    assert log.take(failed)[0] == (CHAT, "chat/error")
    log.begin()
    interrupted = StateChanged(state=TurnState.INTERRUPTED, previous=TurnState.RUNNING)
    assert log.take(interrupted)[0] == (CHAT, "chat/error")
    log.begin()
    first, second = (turn["responseParts"] for turn in plain(log.state.state(CHAT))["turns"])
    assert [part["kind"] for part in first] == ["systemNotification", "error"]
    assert first[1]["error"] == {"errorType": "AGENT_CRASHED", "message": "It is gone."}
    assert second[0]["error"]["errorType"] == "interrupted"
    # A prompt after a turn whose end was never written.
    assert log.take(PromptSubmitted(text="again"))[:2] == [(CHAT, "chat/error"), (CHAT, "chat/turnStarted")]
