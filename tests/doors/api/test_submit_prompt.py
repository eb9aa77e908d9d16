"""SubmitPrompt: returns once a prompt is in the log or in the queue; its turn goes on without the caller."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from connectrpc.code import Code
from connectrpc.errors import ConnectError

from portico.api.v1 import agent_pb as pb
from portico.api.v1.events_pb import TurnState
from portico.domain.errors import InvalidInput, SessionBusy, SessionNotFound
from tests.doors.api.test_calls import NOBODY, Calls, asks, calls

NO = "no"


async def submit(door: Calls, **fields: Any) -> Any:
    request = pb.SubmitPromptRequest(**{"session_id": door.session_id, **fields})
    return (await door.service.submit_prompt(request, NOBODY)).outcome


async def deny(door: Calls) -> None:
    detail = await door.until(lambda detail: bool(detail.permissions))
    decision = pb.PermissionDecision(request_id=detail.permissions[0].request_id, option_id=NO)
    await door.submit("permission_decisions", pb.PermissionDecisions(decisions=[decision]))


def is_completed(detail: pb.SessionDetail) -> bool:
    return detail.summary is not None and detail.summary.state is TurnState.COMPLETED


async def test_a_turn_goes_on_after_its_prompt_was_accepted(tmp_path: Path) -> None:
    async with calls(asks("a"), tmp_path) as door:
        await door.start()
        accepted = await submit(door, text="go")
        assert accepted.field == "event"
        assert accepted.value.payload.value.text == "go"
        assert accepted.value.turn_id
        await deny(door)
        await door.until(is_completed)


async def test_a_prompt_for_a_busy_session_is_refused_or_queued(tmp_path: Path) -> None:
    async with calls(asks("a"), tmp_path) as door:
        await door.start()
        first = await submit(door, text="one")
        await door.until(lambda detail: bool(detail.permissions))
        with pytest.raises(SessionBusy):
            await submit(door, text="two")
        queued = await submit(door, text="two", when_busy=pb.WhenBusy.QUEUE)
        assert queued.field == "queued"
        assert queued.value.text == "two"
        await deny(door)
        detail = await door.until(lambda detail: detail.desk is not None and not detail.desk.queue)
        await deny(door)
        detail = await door.until(is_completed)
        assert detail.summary is not None
        assert detail.summary.last_seq > first.value.seq


async def test_a_queued_prompt_is_sent_by_its_id(tmp_path: Path) -> None:
    async with calls(asks("a"), tmp_path) as door:
        await door.start()
        await submit(door, text="one")
        await door.until(lambda detail: bool(detail.permissions))
        queued = await submit(door, text="two", when_busy=pb.WhenBusy.QUEUE)
        # After a stop the queue stands still until the person sends again.
        await door.service.stop_turn(pb.StopTurnRequest(session_id=door.session_id), NOBODY)
        await door.until(
            lambda detail: detail.summary is not None and detail.summary.state is TurnState.CANCELED
        )
        sent = await submit(door, queued_prompt_id=queued.value.prompt_id)
        assert sent.value.payload.value.prompt_id == queued.value.prompt_id
        with pytest.raises(InvalidInput):
            await submit(door, queued_prompt_id=queued.value.prompt_id)


async def test_a_queued_prompt_is_changed_moved_and_sent_in_place_of_the_turn(tmp_path: Path) -> None:
    async with calls(asks("a", "b"), tmp_path) as door:
        await door.start()
        await submit(door, text="one")
        await door.until(lambda detail: bool(detail.permissions))
        two, three = [await submit(door, text=text, when_busy=pb.WhenBusy.QUEUE) for text in ("two", "three")]
        await door.submit("queue_change", pb.QueueChange(prompt_id=three.value.prompt_id, text="drei"))
        await door.submit("queue_change", pb.QueueChange(prompt_id=three.value.prompt_id, place=0))
        detail = await door.detail()
        assert detail.desk is not None
        assert [queued.text for queued in detail.desk.queue] == ["drei", "two"]
        with pytest.raises(InvalidInput, match="empty"):
            await door.submit("queue_change", pb.QueueChange(prompt_id=two.value.prompt_id, text=" "))
        sent = await submit(door, queued_prompt_id=three.value.prompt_id)
        assert sent.value.payload.value.text == "drei"
        with pytest.raises(InvalidInput, match="no longer queued"):
            await door.submit("queue_change", pb.QueueChange(prompt_id=three.value.prompt_id, text="x"))


async def test_what_invoke_refuses_is_refused(tmp_path: Path) -> None:
    async with calls(asks(), tmp_path) as door:
        with pytest.raises(InvalidInput):
            await submit(door, text="go")
        with pytest.raises(SessionNotFound):
            await submit(door, session_id="nothing", text="go")
        await door.start()
        with pytest.raises(InvalidInput):
            await submit(door, text="")
        with pytest.raises(InvalidInput):
            await submit(door, text="go", attachments=[pb.Attachment(name="x")])
        summary = (await door.detail()).summary
        assert summary is not None
        assert summary.is_new


async def test_a_server_that_stops_says_that_it_is_unavailable(tmp_path: Path) -> None:
    closing = asyncio.Event()
    async with calls(asks(), tmp_path, closing) as door:
        await door.start()
        closing.set()
        with pytest.raises(ConnectError) as refused:
            await submit(door, text="go")
        assert refused.value.code is Code.UNAVAILABLE
        assert not refused.value.details
