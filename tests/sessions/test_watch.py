"""Watching a session, wherever it is written: each event once, in order."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import InvalidInput, SessionNotFound
from portico.domain.events import Event, TodosUpdated
from portico.domain.ids import SessionId
from portico.domain.values import TodoItem
from portico.sessions.log import watch
from portico.sessions.log.journal import RECENT_EVENTS
from portico.testing.store import MemoryStore
from tests.sessions.dispatching import Doors, doors
from tests.sessions.support import SPEC, FakeAgent


async def answer_at_once(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("done")


class Watcher:
    """Takes down the numbers of a session's events as one process is told them."""

    def __init__(self, door: Doors, session_id: SessionId, after_seq: int = 0) -> None:
        self._door = door
        self._session_id = session_id
        self._after_seq = after_seq
        self.seen: list[int] = []
        self.ended = False

    async def __aenter__(self) -> "Watcher":
        self._task = asyncio.create_task(self._read())
        await self._door.host.clock.advance(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def look(self) -> list[int]:
        await self._door.host.clock.advance(2 * watch.LOOK_SECONDS)
        return self.seen

    async def _read(self) -> None:
        async for event in self._door.host.service.watch(self._session_id, after_seq=self._after_seq):
            self.seen.append(event.seq)
        self.ended = True


async def numbers(door: Doors, session_id: SessionId) -> list[int]:
    return [event.seq for event in await door.host.store.read(session_id, after_seq=0, limit=10_000)]


async def write(door: Doors, session_id: SessionId, times: int = 1) -> None:
    for place in range(times):
        await door.host.service.record(
            session_id, TodosUpdated(todos=(TodoItem(todo_id=str(place), content="go"),))
        )


async def test_a_session_that_wanders_between_processes_is_watched_without_a_gap(tmp_path: Path) -> None:
    store = MemoryStore()
    async with (
        doors(answer_at_once, tmp_path, store=store) as there,
        doors(answer_at_once, tmp_path, store=store) as here,
    ):
        name = there.session_id
        await write(there, name, 2)
        async with Watcher(here, name) as watcher, Watcher(here, name, after_seq=3) as later:
            for _ in range(3):
                await write(there, name)
                assert await watcher.look() == await numbers(there, name)
                await there.turn_queue.release(name)
                await here.turn_queue.open(name)
                await write(here, name)
                assert await watcher.look() == await numbers(here, name)
                await here.turn_queue.release(name)
                await there.turn_queue.open(name)
            assert later.seen == watcher.seen[3:]


async def test_a_watcher_that_reads_slowly_gets_everything_from_the_log(tmp_path: Path) -> None:
    async with doors(answer_at_once, tmp_path) as door:
        stream = door.host.service.watch(door.session_id, after_seq=0)
        seen = [(await anext(stream)).seq]
        await write(door, door.session_id, 3 * RECENT_EVENTS)
        last = (await numbers(door, door.session_id))[-1]
        while seen[-1] < last:
            seen.append((await anext(stream)).seq)
        assert seen == await numbers(door, door.session_id)
        await stream.aclose()


async def test_a_session_that_is_deleted_here_or_elsewhere_ends_its_watchers(tmp_path: Path) -> None:
    store = MemoryStore()
    async with (
        doors(answer_at_once, tmp_path, store=store) as there,
        doors(answer_at_once, tmp_path, store=store) as here,
    ):
        for door in (there, here):
            name = await door.host.service.start(tmp_path, SPEC)
            async with Watcher(here, name) as watcher:
                await door.host.service.delete(name)
                await watcher.look()
                assert (watcher.seen, watcher.ended) == ([1], True)


async def test_closing_the_host_ends_watchers_of_sessions_here_and_elsewhere(tmp_path: Path) -> None:
    store = MemoryStore()
    async with (
        doors(answer_at_once, tmp_path, store=store) as there,
        doors(answer_at_once, tmp_path, store=store) as here,
        Watcher(here, here.session_id) as one,
        Watcher(here, there.session_id) as two,
    ):
        await here.host.service.close()
        await two.look()
        assert one.ended
        assert two.ended


async def test_whoever_knows_more_than_the_log_has_is_told_to_read_it_again(tmp_path: Path) -> None:
    store = MemoryStore()
    async with (
        doors(answer_at_once, tmp_path, store=store) as there,
        doors(answer_at_once, tmp_path, store=store) as here,
    ):
        for door in (there, here):
            last = (await numbers(door, door.session_id))[-1]
            with pytest.raises(
                InvalidInput, match=f"ends at event {last}, before event {last + 1}"
            ) as refused:
                async with asyncio.timeout(10):
                    await anext(here.host.service.watch(door.session_id, after_seq=last + 1))
            assert "Read" in str(refused.value.suggestion)
            async with Watcher(here, door.session_id, after_seq=last) as watcher:
                await write(door, door.session_id)
                assert await watcher.look() == [last + 1]


async def test_what_the_log_has_and_the_writer_is_just_about_to_know_can_be_asked_for(tmp_path: Path) -> None:
    written, go_on = asyncio.Event(), asyncio.Event()

    class SlowToTell(MemoryStore):
        async def append(self, events: Sequence[Event], *, durable: bool) -> None:
            await super().append(events, durable=durable)
            written.set()
            await go_on.wait()

    go_on.set()
    async with doors(answer_at_once, tmp_path, store=SlowToTell()) as door:
        written.clear()
        go_on.clear()
        writing = asyncio.create_task(write(door, door.session_id))
        await written.wait()
        last = (await numbers(door, door.session_id))[-1]
        async with Watcher(door, door.session_id, after_seq=last) as watcher:
            go_on.set()
            await writing
            await write(door, door.session_id)
            assert await watcher.look() == [last + 1]


async def test_a_session_that_there_is_not_cannot_be_watched(tmp_path: Path) -> None:
    async with doors(answer_at_once, tmp_path) as door:
        with pytest.raises(SessionNotFound):
            await anext(door.host.service.watch(SessionId("nothing"), after_seq=0))


async def test_a_writer_that_is_ended_in_the_middle_of_a_write_knows_what_it_wrote(tmp_path: Path) -> None:
    writing, go_on = asyncio.Event(), asyncio.Event()

    async def hold(events: object) -> None:
        writing.set()
        await go_on.wait()

    async with doors(answer_at_once, tmp_path) as door:
        door.host.store.before_append = hold
        cut_off = asyncio.create_task(write(door, door.session_id))
        await writing.wait()
        cut_off.cancel()
        go_on.set()
        await asyncio.wait((cut_off,))
        door.host.store.before_append = None
        await write(door, door.session_id)
        assert await numbers(door, door.session_id) == [1, 2, 3]
