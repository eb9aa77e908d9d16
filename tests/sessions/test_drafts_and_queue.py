"""Drafts and queued prompts: stored before they are announced, and announced in order."""

import asyncio
from pathlib import Path

import pytest

from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.sessions.drafts import MAX_DRAFT_CHARACTERS, MAX_QUEUE, Drafts
from tests.sessions.dispatching import SlowDesks
from tests.sessions.support import FakeAgent, World, world


async def silent(agent: FakeAgent, request: object) -> None:
    """No question is asked here."""


def desks_of(host: World) -> Drafts:
    return Drafts(host.store, host.clock)


async def test_a_draft_is_there_for_every_door_and_after_a_restart(tmp_path: Path) -> None:
    async with world(silent, tmp_path) as host:
        session_id = await host.start()
        written = await desks_of(host).write_draft(session_id, "half a thou", "page-1")
        assert await desks_of(host).get(session_id) == written
        assert (written.draft, written.client_id) == ("half a thou", "page-1")


async def test_two_doors_that_write_at_once_leave_one_whole_draft_and_the_line_alone(tmp_path: Path) -> None:
    store = SlowDesks()
    store.slow = True
    async with world(silent, tmp_path, store=store) as host:
        session_id = await host.start()
        desks = desks_of(host)
        await asyncio.gather(
            desks.write_draft(session_id, "one", "page-1"),
            desks.enqueue(session_id, QueuedPrompt(prompt_id="a", text="first")),
            desks.write_draft(session_id, "two", "page-2"),
            desks.enqueue(session_id, QueuedPrompt(prompt_id="b", text="second")),
        )
        desk = await desks.get(session_id)
        assert (desk.draft, desk.client_id) == ("two", "page-2")
        assert [one.text for one in desk.queue] == ["first", "second"]


async def test_revisions_grow_even_when_a_desk_was_cleared_or_the_server_is_another_one(
    tmp_path: Path,
) -> None:
    async with world(silent, tmp_path) as host:
        session_id = await host.start()
        desks = desks_of(host)
        seen = [(await desks.get(session_id)).revision]
        for text in ("a", "", "b", ""):
            await desks.write_draft(session_id, text, "page")
            seen.append((await desks.get(session_id)).revision)
        await host.clock.advance(1)
        seen.append((await desks_of(host).get(session_id)).revision)
        assert seen == sorted(set(seen))


async def test_a_watcher_is_told_of_each_change_and_of_the_last_one_if_it_is_slow(tmp_path: Path) -> None:
    async with world(silent, tmp_path) as host:
        session_id = await host.start()
        desks = desks_of(host)
        watching = desks.watch(session_id)
        assert (await anext(watching)).draft == ""
        upcoming = asyncio.ensure_future(anext(watching))
        await desks.write_draft(session_id, "a", "page")
        async with asyncio.timeout(5):
            assert (await upcoming).draft == "a"
            for text in ("ab", "abc"):
                await desks.write_draft(session_id, text, "page")
            assert (await anext(watching)).draft == "abc"
        await watching.aclose()


async def test_what_is_too_long_or_too_many_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    async with world(silent, tmp_path) as host:
        session_id = await host.start()
        desks = desks_of(host)
        with pytest.raises(InvalidInput, match="characters"):
            await desks.write_draft(session_id, "x" * (MAX_DRAFT_CHARACTERS + 1), "page")
        for place in range(MAX_QUEUE):
            await desks.enqueue(session_id, QueuedPrompt(prompt_id=str(place), text="go"))
        with pytest.raises(InvalidInput, match="queued already"):
            await desks.enqueue(session_id, QueuedPrompt(prompt_id="more", text="go"))
        assert len((await desks.get(session_id)).queue) == MAX_QUEUE


async def test_a_draft_that_comes_after_its_session_was_deleted_leaves_nothing(tmp_path: Path) -> None:
    async with world(silent, tmp_path) as host:
        session_id = await host.start()
        await host.service.delete(session_id)
        await desks_of(host).write_draft(session_id, "too late", "page")
        assert await host.store.drafted() == frozenset[SessionId]()
        assert await host.store.draft(session_id) == SessionDraft()
