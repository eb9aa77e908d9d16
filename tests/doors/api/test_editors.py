"""Editor windows at the door: every request and every answer crosses whole, and what is missing is said."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from portico.api.fields import one_of
from portico.api.v1 import agent_pb as pb
from portico.domain import windows
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.doors.api.window_calls import WindowCalls, read_window_answer, to_window_update


def asked(question: windows.WindowAction) -> Any:
    """A request as the window reads it."""
    request = windows.WindowRequest(request_id="r1", session_id=SessionId("s1"), question=question)
    sent = pb.AttachEditorResponse.from_binary(to_window_update(request).to_binary())
    assert sent.update is not None
    told: Any = sent.update.value
    assert (sent.update.field, told.request_id, told.session_id) == ("request", "r1", "s1")
    return told.request


def replied(field: str, value: object) -> windows.WindowResult:
    reply = pb.EditorReply(request_id="r1", result=one_of(field, value))
    return read_window_answer(pb.EditorReply.from_binary(reply.to_binary()))


def test_requests_say_everything_that_was_asked() -> None:
    read = asked(windows.ReadBuffer(path="/w/a"))
    assert (read.field, read.value.path) == ("read_buffer", "/w/a")
    edits = (
        windows.WindowEdit(path="/w/a", expected="", content="new"),
        windows.WindowEdit(path="/w/b", expected=None, content=""),
        windows.WindowEdit(path="/w/c", expected="old", content=None),
    )
    edit = asked(windows.ApplyEdits(label="Fix it", files=edits))
    assert (edit.field, edit.value.label) == ("apply_edits", "Fix it")
    # What must not be there is told apart from what must be empty.
    assert [
        (one.path, *(getattr(one, name) if one.has_field(name) else None for name in ("expected", "content")))
        for one in edit.value.files
    ] == [
        ("/w/a", "", "new"),
        ("/w/b", None, ""),
        ("/w/c", "old", None),
    ]
    lookup = asked(windows.CodeLookup(kind="references", path="/w/a", line=3, column=7, query="q"))
    assert (lookup.field, lookup.value.kind) == ("lookup", pb.EditorLookupKind.REFERENCES)
    assert (lookup.value.path, lookup.value.line, lookup.value.column, lookup.value.query) == (
        "/w/a",
        3,
        7,
        "q",
    )
    command = asked(windows.TerminalCommand(command="x", cwd="/w", title="t"))
    assert command.field == "dispatch_command"
    assert (command.value.command, command.value.cwd, command.value.title) == ("x", "/w", "t")


def test_the_other_things_a_window_is_told() -> None:
    heartbeat, attached, cancelled = (
        to_window_update(one).update
        for one in (
            None,
            windows.WindowAttached(editor_id="e1"),
            windows.WindowRequestCancelled(request_id="r1"),
        )
    )
    assert heartbeat is not None
    assert heartbeat.field == "heartbeat"
    assert attached is not None
    assert attached.value == pb.EditorAttached(editor_id="e1")
    assert cancelled is not None
    assert cancelled.value == pb.EditorRequestCancelled(request_id="r1")


def test_answers_say_everything_that_the_window_said() -> None:
    assert replied("buffer", pb.BufferText(text="")) == windows.BufferText(text="")
    assert replied("buffer", pb.BufferText()) == windows.BufferText(text=None)
    assert replied("edits", pb.EditsApplied(applied=False, changed=["/w/a"])) == windows.WindowEditResult(
        applied=False, changed=("/w/a",)
    )
    assert replied("failure", "No.") == windows.WindowFailure(message="No.")
    dispatched = pb.CommandDispatched(sent=True, terminal="zsh", message="m")
    assert replied("command", dispatched) == windows.TerminalCommandResult(
        sent=True, terminal="zsh", message="m"
    )
    place = {"path": "/w/a", "line": 1, "column": 2, "end_line": 3, "end_column": 4}
    words = {"name": "n", "detail": "d", "text": "t"}
    problem = {"path": "/w/a", "line": 1, "column": 2, "message": "m", "source": "s"}
    found = pb.EditorFindings(
        places=[pb.FoundPlace(**place, **words)],  # type: ignore[arg-type]
        problems=[
            pb.FoundProblem(**problem, severity=severity)  # type: ignore[arg-type]
            for severity in pb.ProblemSeverity
        ],
        words="w",
    )
    assert replied("findings", found) == windows.CodeLookupResult(
        places=(windows.CodeLocation(**place, **words),),  # type: ignore[arg-type]
        problems=tuple(
            windows.CodeProblem(**problem, severity=severity)  # type: ignore[arg-type]
            for severity in ("information", "error", "warning", "information", "hint")
        ),
        words="w",
    )


def test_an_answer_without_a_result_is_refused() -> None:
    with pytest.raises(InvalidInput, match="result is required"):
        read_window_answer(pb.EditorReply(request_id="r1"))


async def test_where_no_window_can_be_lent_that_is_said() -> None:
    door = WindowCalls(None, asyncio.Event())
    async with aclosing(door.attach(pb.AttachEditorRequest())) as updates:
        with pytest.raises(InvalidInput, match="does not support attached editors"):
            await anext(updates)
    with pytest.raises(InvalidInput, match="does not support attached editors"):
        door.take(pb.EditorState(editor_id="e1"))
