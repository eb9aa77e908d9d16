"""The turn queue: each prompt is sent once, also if its caller leaves or fails meanwhile."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.errors import InvalidInput, SessionBusy, SessionNotFound, StoreFailed
from portico.domain.events import Event, PromptSubmitted, TurnEnded
from portico.domain.turns import TurnState
from portico.sessions.leases import session_lease_name
from portico.sessions.turn import TurnPrompt
from portico.testing.store import MemoryStore
from tests.sessions.dispatching import Doors, Patient, SlowDesks, doors
from tests.sessions.support import SPEC, FakeAgent


async def answer_at_once(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("done")


def ended(updates: Sequence[Event | QueuedPrompt]) -> list[TurnState]:
    return [
        update.payload.state
        for update in updates
        if isinstance(update, Event) and isinstance(update.payload, TurnEnded)
    ]


class TestSending:
    async def test_a_caller_gets_its_turn_from_the_prompt_to_the_end(self, tmp_path: Path) -> None:
        async with doors(answer_at_once, tmp_path) as door:
            updates = await door.within(door.all_of(door.sending("hello")))
            first, last = updates[0], updates[-1]
            assert isinstance(first, Event)
            assert isinstance(first.payload, PromptSubmitted)
            assert isinstance(last, Event)
            assert last == (await door.host.events())[-1]
            assert ended(updates) == [TurnState.COMPLETED]

    async def test_of_two_at_once_one_is_sent_and_the_other_is_told_that_it_was_not(
        self, tmp_path: Path
    ) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            calls = [door.send("one"), door.send("two")]
            await door.until_heard("one")
            patient.go_on()
            first, second = await door.within(asyncio.gather(*calls, return_exceptions=True))
            assert isinstance(second, SessionBusy)
            assert isinstance(first, list)
            assert ended(first) == [TurnState.COMPLETED]
            assert await door.sent() == ["one"]

    async def test_a_turn_goes_on_when_its_caller_leaves_before_the_prompt_is_in_the_log(
        self, tmp_path: Path
    ) -> None:
        writing, go_on = asyncio.Event(), asyncio.Event()

        async def hold(events: Sequence[Event]) -> None:
            writing.set()
            await go_on.wait()

        async with doors(answer_at_once, tmp_path) as door:
            door.host.store.before_append = hold
            call = door.send("hello")
            await writing.wait()
            call.cancel()
            await asyncio.wait((call,))
            go_on.set()
            await door.until_idle()
            assert (await door.sent(), door.heard) == (["hello"], ["hello"])

    async def test_nothing_is_sent_when_the_log_cannot_be_written(self, tmp_path: Path) -> None:
        async def full(events: Sequence[Event]) -> None:
            raise StoreFailed("the disk is full")

        async with doors(answer_at_once, tmp_path) as door:
            door.host.store.before_append = full
            with pytest.raises(StoreFailed):
                await door.within(door.all_of(door.sending("hello")))
            door.host.store.before_append = None
            await door.within(door.all_of(door.sending("again")))
            assert (await door.sent(), door.heard) == (["again"], ["again"])

    async def test_a_caller_is_told_when_the_end_of_its_turn_cannot_be_written(self, tmp_path: Path) -> None:
        async def full(events: object) -> None:
            raise StoreFailed("the disk is full")

        async def fill(agent: FakeAgent, request: acp.PromptRequest) -> None:
            door.host.store.before_append = full
            agent.say("words")

        async with doors(fill, tmp_path) as door:
            with pytest.raises(StoreFailed, match="full"):
                await door.within(door.all_of(door.sending("hello")))
            door.host.store.before_append = None
            assert await door.sent() == ["hello"]

    async def test_a_prompt_while_the_agent_is_still_being_started_uses_that_one(
        self, tmp_path: Path
    ) -> None:
        async with doors(answer_at_once, tmp_path) as door:
            gate, asked = asyncio.Event(), asyncio.Event()

            async def wait() -> None:
                asked.set()
                await gate.wait()

            door.host.agent.on_new = wait
            door.turn_queue.start_agent_ahead(door.session_id)
            await asked.wait()
            call = door.send("hello")
            await door.host.until_state(TurnState.STARTING)
            await door.host.clock.advance(1)
            gate.set()
            await door.within(asyncio.wait_for(call, 5))
            assert door.host.agent.methods.count("session/new") == 1

    @pytest.mark.parametrize("queue", [False, True])
    async def test_an_empty_prompt_is_refused(self, tmp_path: Path, queue: bool) -> None:
        async with doors(answer_at_once, tmp_path) as door:
            with pytest.raises(InvalidInput, match="empty"):
                await anext(door.sending("  ", queue=queue))
            assert await door.line() == []

    async def test_a_session_that_another_process_has_is_not_taken_from_it(self, tmp_path: Path) -> None:
        store = MemoryStore()
        async with (
            doors(answer_at_once, tmp_path, store=store) as there,
            doors(answer_at_once, tmp_path, store=store) as here,
        ):
            stream = here.turn_queue.send(there.session_id, TurnPrompt(text="hello"), queue=True)
            with pytest.raises(SessionBusy, match="another Portico process"):
                await anext(stream)


class TestTheLine:
    async def test_prompts_wait_for_each_other_and_go_in_order(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            two, three = door.send("two", queue=True), door.send("three", queue=True)
            await door.within(_until_line(door, ["two", "three"]))
            patient.go_on(3)
            for call in (two, three):
                updates = await door.within(asyncio.wait_for(call, 5))
                assert isinstance(updates[0], QueuedPrompt)
                assert ended(updates) == [TurnState.COMPLETED]
            assert door.heard == await door.sent() == ["one", "two", "three"]
            assert await door.line() == []

    async def test_a_turn_of_the_session_itself_leaves_queued_prompts_alone(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            await door.queued("two")
            session = door.host.service.session(door.session_id)
            session.stop()
            await door.until_idle()
            patient.go_on()
            await door.within(session.prompt(TurnPrompt(text="by itself")))
            await door.until_idle()
            assert await door.line() == ["two"]
            assert door.heard == ["one", "by itself"]

    async def test_a_line_goes_on_when_turns_end_faster_than_prompts_leave_it(self, tmp_path: Path) -> None:
        store = SlowDesks()
        patient = Patient()
        async with doors(patient, tmp_path, store=store) as door:
            door.send("one")
            await door.until_heard("one")
            for text in ("two", "three", "four"):
                await door.queued(text)
            store.slow = True
            patient.go_on(4)
            await door.until_heard("one", "two", "three", "four")
            await door.until_idle()
            assert await door.sent() == ["one", "two", "three", "four"]
            assert await door.line() == []

    async def test_a_waiting_prompt_that_two_doors_send_at_once_is_sent_once(self, tmp_path: Path) -> None:
        store = SlowDesks()
        patient = Patient()
        async with doors(patient, tmp_path, store=store) as door:
            door.send("one")
            await door.until_heard("one")
            two = await door.queued("two")
            door.host.service.session(door.session_id).stop()
            await door.until_idle()
            store.slow = True
            patient.go_on(2)
            calls = [
                asyncio.create_task(door.all_of(door.turn_queue.send_queued(door.session_id, two.prompt_id)))
                for _ in range(2)
            ]
            first, second = await door.within(asyncio.gather(*calls, return_exceptions=True))
            assert isinstance(first, list)
            assert isinstance(second, InvalidInput)
            await door.until_idle()
            with pytest.raises(InvalidInput, match="no longer queued"):
                await anext(door.turn_queue.send_queued(door.session_id, two.prompt_id))
            assert await door.sent() == ["one", "two"]

    async def test_a_prompt_whose_sender_leaves_in_the_middle_is_sent_once(self, tmp_path: Path) -> None:
        writing, go_on = asyncio.Event(), asyncio.Event()

        async def hold(events: Sequence[Event]) -> None:
            if any(isinstance(event.payload, PromptSubmitted) for event in events):
                writing.set()
                await go_on.wait()

        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            two = await door.queued("two")
            door.host.service.session(door.session_id).stop()
            await door.until_idle()
            door.host.store.before_append = hold
            call = asyncio.create_task(
                door.all_of(door.turn_queue.send_queued(door.session_id, two.prompt_id))
            )
            await writing.wait()
            call.cancel()
            await asyncio.wait((call,))
            go_on.set()
            patient.go_on(2)
            await door.until_idle()
            assert (await door.sent(), await door.line()) == (["one", "two"], [])

    async def test_a_stop_leaves_the_line_standing_until_the_person_sends_again(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            await door.queued("two")
            door.host.service.session(door.session_id).stop()
            await door.until_idle()
            assert (await door.sent(), await door.line()) == (["one"], ["two"])
            patient.go_on(2)
            await door.within(door.all_of(door.sending("again", queue=True)))
            await door.until_idle()
            assert await door.sent() == ["one", "again", "two"]

    async def test_what_is_said_right_after_a_stop_is_sent_when_the_turn_has_ended(
        self, tmp_path: Path
    ) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            await door.queued("before")
            door.host.service.session(door.session_id).stop()
            call = door.send("after", queue=True)
            await door.until_heard("one", "after")
            assert await door.line() == ["before"]
            patient.go_on(2)
            await door.within(call)
            await door.until_idle()
            assert (await door.sent(), await door.line()) == (["one", "after", "before"], [])

    async def test_a_crash_leaves_the_line_standing(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            await door.queued("two")
            await door.host.lose_agent()
            await door.until_idle()
            assert (await door.sent(), await door.line()) == (["one"], ["two"])
            patient.go_on(2)
            await door.within(door.turn_queue.resume(door.session_id))
            await door.until_idle()
            assert await door.sent() == ["one", "two"]

    async def test_a_prompt_that_is_taken_out_is_not_sent_and_its_caller_is_let_go(
        self, tmp_path: Path
    ) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            call = door.send("two", queue=True)
            await door.within(_until_line(door, ["two"]))
            (waiting,) = (await door.drafts.get(door.session_id)).queue
            await door.turn_queue.remove(door.session_id, waiting.prompt_id)
            assert await door.within(asyncio.wait_for(call, 5)) == [waiting]
            patient.go_on(2)
            await door.until_idle()
            assert await door.sent() == ["one"]

    async def test_a_prompt_waits_for_another_session_in_its_folder(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            other = await door.host.service.start(tmp_path, SPEC)
            busy = asyncio.create_task(door.all_of(door.turn_queue.send(other, TurnPrompt(text="other"))))
            await door.until_heard("other")
            with pytest.raises(SessionBusy):
                await door.within(door.all_of(door.sending("mine")))
            call = door.send("mine", queue=True)
            await door.within(_until_line(door, ["mine"]))
            patient.go_on(2)
            assert ended(await door.within(asyncio.wait_for(call, 5))) == [TurnState.COMPLETED]
            await busy
            assert door.heard == ["other", "mine"]

    async def test_a_prompt_that_waits_for_its_folder_can_still_be_taken_out(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            other = await door.host.service.start(tmp_path, SPEC)
            busy = asyncio.create_task(door.all_of(door.turn_queue.send(other, TurnPrompt(text="other"))))
            await door.until_heard("other")
            waiting = await door.queued("mine")
            await door.host.clock.advance(1)
            await door.turn_queue.remove(door.session_id, waiting.prompt_id)
            await door.until_idle()
            patient.go_on(2)
            await door.within(asyncio.wait_for(busy, 5))
            assert (await door.sent(), await door.line()) == ([], [])

    async def test_a_prompt_that_could_not_be_taken_out_of_the_line_is_not_sent_again(
        self, tmp_path: Path
    ) -> None:
        store = SlowDesks()
        patient = Patient()
        async with doors(patient, tmp_path, store=store) as door:
            door.send("one")
            await door.until_heard("one")
            for text in ("two", "three"):
                await door.queued(text)
            store.broken = True
            patient.go_on(4)
            await door.until_heard("one", "two", "three")
            await door.until_idle()
            await door.within(door.all_of(door.sending("four")))
            await door.until_idle()
            assert await door.sent() == ["one", "two", "three", "four"]


class TestEnding:
    async def test_closing_interrupts_the_turn_and_keeps_the_line(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            await door.queued("two")
            await door.turn_queue.close()
            assert (await door.host.service.show(door.session_id)).state is TurnState.INTERRUPTED
            assert (await door.sent(), await door.line()) == (["one"], ["two"])
            with pytest.raises(SessionBusy, match="shutting down"):
                await anext(door.sending("late"))

    async def test_a_turn_that_ends_while_all_is_closed_starts_nothing_new(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            door.send("one")
            await door.until_heard("one")
            await door.queued("two")
            patient.go_on(2)
            await door.turn_queue.close()
            assert not door.turn_queue.has_turn(door.session_id)
            assert "two" not in await door.sent()

    async def test_a_session_in_the_middle_of_everything_can_be_deleted(self, tmp_path: Path) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door:
            running = door.send("one")
            await door.until_heard("one")
            waiting = door.send("two", queue=True)
            await door.within(_until_line(door, ["two"]))
            watching = asyncio.create_task(_count(door))
            await door.within(door.turn_queue.delete(door.session_id))
            assert ended(await door.within(asyncio.wait_for(running, 5))) == [TurnState.CANCELED]
            assert len(await door.within(asyncio.wait_for(waiting, 5))) == 1
            assert await door.within(asyncio.wait_for(watching, 5)) > 0
            assert await door.host.store.summary(door.session_id) is None
            assert await door.host.store.draft(door.session_id) == SessionDraft()
            with pytest.raises(SessionNotFound):
                await anext(door.sending("three"))

    async def test_what_lets_go_of_a_session_is_not_left_half_done_by_whoever_asked_for_it(
        self, tmp_path: Path
    ) -> None:
        ending, go_on = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            ending.set()
            await go_on.wait()

        async with doors(answer_at_once, tmp_path) as door:
            door.host.agent.capabilities = acp.AgentCapabilities(
                session_capabilities=acp.SessionCapabilities(close=acp.SessionCloseCapabilities())
            )
            await door.within(door.all_of(door.sending("one")))
            door.host.agent.on_end = wait
            letting_go = asyncio.create_task(door.turn_queue.release(door.session_id))
            await ending.wait()
            letting_go.cancel()
            await asyncio.wait((letting_go,))
            closing = asyncio.create_task(door.turn_queue.close())
            go_on.set()
            await door.within(closing)
            assert await door.host.store.lease_holder(session_lease_name(door.session_id)) is None
            assert door.host.agents.launched[0].stopped_with_grace is not None


async def _until_line(door: Doors, texts: list[str]) -> None:
    async for desk in door.drafts.watch(door.session_id):
        if [one.text for one in desk.queue] == texts:
            return


async def _count(door: Doors) -> int:
    return len([event async for event in door.host.service.watch(door.session_id, after_seq=0)])
