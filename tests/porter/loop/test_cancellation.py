"""Cancelled turns: at any moment, the history that is kept can be continued."""

import asyncio
from pathlib import Path

import pytest

from portico.porter.models.model import AssistantMessage, Message, ToolMessage
from portico.porter.transcript import CompactionEntry, MessageEntry, TranscriptStore
from tests.porter.client import connected
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls


def kept(state: Path, session: str) -> list[Message]:
    """The messages in the transcript, exactly as they were written."""
    transcript = TranscriptStore(state).find(session)
    assert transcript is not None
    messages: list[Message] = []
    for entry in transcript.read():
        if isinstance(entry, MessageEntry):
            messages.append(entry.message)
        elif isinstance(entry, CompactionEntry):
            messages = list(entry.messages)
    return messages


def assert_complete(messages: list[Message]) -> None:
    """Each call has its result in the very next message, in order."""
    for number, message in enumerate(messages):
        if isinstance(message, AssistantMessage) and message.calls:
            answer = messages[number + 1]
            assert isinstance(answer, ToolMessage)
            assert [one.call_id for one in answer.results] == [one.id for one in message.calls]


@pytest.mark.parametrize("moment", range(2, 34))
async def test_a_stop_after_any_message_leaves_a_complete_history(
    state: Path, folder: Path, moment: int
) -> None:
    (folder / "a.txt").write_text("one\n")
    script = [
        calls(call("read", path="a.txt"), call("list"), call("glob", pattern="*"), text="I look."),
        calls(call("edit", path="a.txt", edits=[{"old": "one", "new": "two"}]), call("read", path="a.txt")),
        calls(call("delegate", title="t", task="look")),
        calls(call("grep", pattern="two")),
        Say("Found."),
        Say("Done."),
    ]
    model = ScriptedModel(script)
    async with connected(state, setup_of=model.setup(), terminals=False) as client:
        session = await client.open(folder)
        async with client.turn(session, "go") as turn:
            heard = asyncio.create_task(client.until(lambda: len(client.heard) >= moment))
            await asyncio.wait({heard, turn}, return_when=asyncio.FIRST_COMPLETED)
            heard.cancel()
            client.end.cancel(session)
            assert await turn in ("cancelled", "end_turn")
        messages = kept(state, session)
        assert_complete(messages)
        unfinished = [one for one in client.calls if client.statuses(one)[-1] not in ("completed", "failed")]
        assert unfinished == []
        model._steps[:] = [Say("Going on.")]
        assert await client.prompt(session, "go on") == "end_turn"
    assert_complete(list(model.requests[-1].messages))
    assert list(model.requests[-1].messages[: len(messages) - 1]) == messages[: len(messages) - 1]
