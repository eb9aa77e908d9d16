"""The list of sessions while they change: updates are prompt, throttled and complete."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.drafts import QueuedPrompt
from portico.domain.events import TodosUpdated
from portico.sessions import session_list
from portico.sessions.session_list import (
    BUSY_SECONDS,
    LOOK_SECONDS,
    RemovedSession,
    SessionList,
    SessionListEntry,
)
from tests.sessions.dispatching import Doors, doors
from tests.sessions.support import SPEC, FakeAgent


async def answer_at_once(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("done")


class Watcher:
    """Takes down what a watcher of the list is told."""

    def __init__(self, door: Doors, workspace: str | None = None) -> None:
        self._door = door
        host = door.host
        self._stream: AsyncGenerator[SessionListEntry | RemovedSession] = SessionList(
            host.service, host.store, host.clock
        ).watch(workspace=workspace)
        self.told: list[SessionListEntry | RemovedSession] = []

    async def __aenter__(self) -> "Watcher":
        self._task = asyncio.create_task(self._read())
        await self._door.host.clock.advance(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def look(self, seconds: float = LOOK_SECONDS) -> list[SessionListEntry | RemovedSession]:
        """Next changes that it receives."""
        self.told.clear()
        await self._door.host.clock.advance(seconds)
        return list(self.told)

    async def _read(self) -> None:
        async for change in self._stream:
            self.told.append(change)


async def test_a_watcher_is_told_what_there_is_and_then_what_changes(tmp_path: Path) -> None:
    async with doors(answer_at_once, tmp_path) as door, Watcher(door) as watcher:
        (first,) = watcher.told
        assert isinstance(first, SessionListEntry)
        assert (first.summary.session_id, first.drafted, first.waiting) == (door.session_id, False, 0)
        assert await watcher.look(60) == []
        await door.drafts.write_draft(door.session_id, "hm", "page")
        (drafted,) = await watcher.look()
        assert isinstance(drafted, SessionListEntry)
        assert (drafted.drafted, drafted.queued) == (True, 0)
        await door.drafts.write_draft(door.session_id, "", "page")
        await watcher.look()
        await door.drafts.enqueue(door.session_id, QueuedPrompt(prompt_id="next", text="go on"))
        (in_line,) = await watcher.look()
        assert isinstance(in_line, SessionListEntry)
        assert (in_line.drafted, in_line.queued) == (False, 1)
        other = await door.host.service.start(tmp_path, SPEC)
        (started,) = await watcher.look()
        assert isinstance(started, SessionListEntry)
        assert started.summary.session_id == other
        await door.host.service.delete(other)
        assert await watcher.look() == [RemovedSession(other)]


async def test_one_that_streams_is_told_now_and_then_and_in_the_end_as_it_is(tmp_path: Path) -> None:
    async with doors(answer_at_once, tmp_path) as door, Watcher(door) as watcher:
        told = 0
        for _ in range(20):
            await door.host.service.record(door.session_id, TodosUpdated(todos=()))
            told += len(await watcher.look())
        assert told <= 20 * LOOK_SECONDS / BUSY_SECONDS + 1
        (last,) = await watcher.look(BUSY_SECONDS + LOOK_SECONDS)
        assert isinstance(last, SessionListEntry)
        assert last.summary == await door.host.store.summary(door.session_id)
        assert await watcher.look(60) == []


async def test_a_deleted_one_is_told_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_list, "MOST_WATCHED", 3)
    async with doors(answer_at_once, tmp_path) as door:
        others = []
        for _ in range(4):
            await door.host.clock.advance(1)
            others.append(await door.host.service.start(tmp_path, SPEC))
        async with Watcher(door) as watcher:
            assert len(watcher.told) == 3
            await door.host.service.delete(others[-1])
            assert RemovedSession(others[-1]) in await watcher.look()
            await door.host.clock.advance(1)
            fresh = await door.host.service.start(tmp_path, SPEC)
            (started,) = await watcher.look()
            assert isinstance(started, SessionListEntry)
            assert started.summary.session_id == fresh


async def test_only_the_folder_that_was_asked_for_is_told(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with doors(answer_at_once, tmp_path) as door, Watcher(door, str(elsewhere)) as watcher:
        assert watcher.told == []
        there = await door.host.service.start(elsewhere, SPEC)
        (started,) = await watcher.look()
        assert isinstance(started, SessionListEntry)
        assert started.summary.session_id == there


async def test_pages_follow_each_other_and_searches_find_words(tmp_path: Path) -> None:
    async with doors(answer_at_once, tmp_path) as door:
        sessions = SessionList(door.host.service, door.host.store, door.host.clock)
        await door.within(door.all_of(door.sending("paint the bike shed")))
        for _ in range(4):
            await door.host.clock.advance(1)
            await door.host.service.start(tmp_path, SPEC)
        whole = await sessions.page(workspace=None, search="", before=None, limit=10)
        first = await sessions.page(workspace=None, search="", before=None, limit=2)
        rest = await sessions.page(workspace=None, search="", before=first[-1].summary.session_id, limit=10)
        assert first + rest == whole
        found = await sessions.page(workspace=None, search="SHED paint", before=None, limit=10)
        assert [one.summary.session_id for one in found] == [door.session_id]
