"""Background cleanup: idle agents end, empty sessions go, queued prompts of a crashed process stay unsent."""

import asyncio
from contextlib import suppress
from pathlib import Path

from portico.acp import _schema as acp
from portico.domain.drafts import QueuedPrompt
from portico.domain.events import PromptSubmitted, TodosUpdated
from portico.domain.values import TodoItem
from portico.sessions.cleanup import IDLE_SECONDS, LINGER_SECONDS, LOOK_SECONDS
from portico.sessions.leases import session_lease_name
from portico.testing.store import MemoryStore
from tests.sessions.dispatching import Doors, Patient, doors
from tests.sessions.support import FakeAgent, kinds


async def answer_at_once(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("done")


class Keeping:
    """Keeps house for as long as the block lasts."""

    def __init__(self, door: Doors) -> None:
        self._door = door

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._door.cleanup.run())

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


async def held(door: Doors) -> bool:
    return await door.host.store.lease_holder(session_lease_name(door.session_id)) is not None


class TestIdleSessions:
    async def test_one_that_nobody_watches_lets_go_of_its_agent_and_its_lease_and_comes_back(
        self, tmp_path: Path
    ) -> None:
        async with doors(answer_at_once, tmp_path) as door, Keeping(door):
            await door.within(door.all_of(door.sending("one")))
            await door.host.clock.advance(IDLE_SECONDS - LOOK_SECONDS)
            assert await held(door)
            await door.host.clock.advance(3 * LOOK_SECONDS)
            assert not await held(door)
            assert door.host.agents.launched[0].stopped_with_grace is not None
            await door.within(door.all_of(door.sending("two")))
            assert await door.sent() == ["one", "two"]
            assert kinds(await door.host.events()).count("session_started") == 2

    async def test_one_that_is_watched_or_busy_keeps_it_and_is_idle_from_then_on(
        self, tmp_path: Path
    ) -> None:
        patient = Patient()
        async with doors(patient, tmp_path) as door, Keeping(door):
            call = door.send("one")
            await door.until_heard("one")
            await door.host.clock.advance(IDLE_SECONDS / 2)
            with door.cleanup.watching(door.session_id):
                patient.go_on()
                await door.within(asyncio.wait_for(call, 5))
                await door.host.clock.advance(2 * IDLE_SECONDS)
                assert await held(door)
            await door.host.clock.advance(IDLE_SECONDS / 2)
            assert await held(door)
            await door.host.clock.advance(IDLE_SECONDS)
            assert not await held(door)

    async def test_whoever_reads_on_meanwhile_misses_nothing_and_reads_nothing_twice(
        self, tmp_path: Path
    ) -> None:
        async with doors(answer_at_once, tmp_path) as door, Keeping(door):
            seen: list[int] = []

            async def read() -> None:
                async for event in door.host.service.watch(door.session_id, after_seq=0):
                    seen.append(event.seq)  # noqa: PERF401 - looked at while it grows

            reading = asyncio.create_task(read())
            for text in ("one", "two", "three"):
                await door.within(door.all_of(door.sending(text)))
                await door.host.clock.advance(IDLE_SECONDS + 2 * LOOK_SECONDS)
                assert not await held(door)
            await door.host.clock.advance(1)
            assert seen == [event.seq for event in await door.host.events()]
            reading.cancel()


class TestEmptySessions:
    async def test_one_that_was_left_with_nothing_in_it_is_deleted_after_a_while(
        self, tmp_path: Path
    ) -> None:
        async with doors(answer_at_once, tmp_path) as door, Keeping(door):
            with door.cleanup.watching(door.session_id):
                await door.host.clock.advance(2 * LINGER_SECONDS)
            await door.host.clock.advance(LINGER_SECONDS / 2)
            with door.cleanup.watching(door.session_id):
                await door.host.clock.advance(LINGER_SECONDS)
            assert await door.host.store.summary(door.session_id) is not None
            await door.host.clock.advance(LINGER_SECONDS + LOOK_SECONDS)
            assert await door.host.store.summary(door.session_id) is None
            assert not await held(door)

    async def test_one_with_a_draft_a_todo_or_a_prompt_stays(self, tmp_path: Path) -> None:
        for what in ("draft", "todo", "prompt"):
            async with doors(answer_at_once, tmp_path) as door, Keeping(door):
                with door.cleanup.watching(door.session_id):
                    if what == "draft":
                        await door.drafts.write_draft(door.session_id, "hm", "page")
                    elif what == "todo":
                        await door.host.service.record(
                            door.session_id,
                            TodosUpdated(todos=(TodoItem(todo_id="1", content="think"),)),
                        )
                    else:
                        await door.within(door.all_of(door.sending("one")))
                await door.host.clock.advance(LINGER_SECONDS * 2)
                assert await door.host.store.summary(door.session_id) is not None, what

    async def test_one_that_a_program_started_and_never_watched_waits_for_it(self, tmp_path: Path) -> None:
        async with doors(answer_at_once, tmp_path) as door, Keeping(door):
            await door.host.clock.advance(IDLE_SECONDS * 2)
            assert await door.host.store.summary(door.session_id) is not None

    async def test_those_of_the_server_before_go_unless_somebody_comes_back_or_has_them(
        self, tmp_path: Path
    ) -> None:
        store = MemoryStore()
        async with doors(answer_at_once, tmp_path, store=store) as before:
            left = before.session_id
        async with doors(answer_at_once, tmp_path, store=store) as before:
            returned = before.session_id
        async with (
            doors(answer_at_once, tmp_path, store=store) as elsewhere,
            doors(answer_at_once, tmp_path, store=store) as door,
        ):
            await door.cleanup.begin()
            async with Keeping(door):
                with door.cleanup.watching(returned):
                    await door.host.clock.advance(LINGER_SECONDS + LOOK_SECONDS)
                    assert await store.summary(left) is None
                    assert await store.summary(returned) is not None
                    assert await store.summary(elsewhere.session_id) is not None


class TestAfterACrash:
    async def test_a_prompt_that_is_in_the_log_and_in_the_line_is_not_sent_again(
        self, tmp_path: Path
    ) -> None:
        async with doors(answer_at_once, tmp_path) as door:
            await door.within(door.all_of(door.sending("one")))
            for prompt_id, text in (("a", "sent"), ("b", "not sent")):
                queued = QueuedPrompt(prompt_id=prompt_id, text=text, after_seq=2)
                await door.drafts.enqueue(door.session_id, queued)
            await door.host.prompt("sent", prompt_id="a")
            await door.cleanup.begin()
            assert await door.line() == ["not sent"]
            sent = [event for event in await door.host.events() if isinstance(event.payload, PromptSubmitted)]
            assert len(sent) == 2
