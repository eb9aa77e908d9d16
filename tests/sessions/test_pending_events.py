"""Events for a session reach its log in order, whether or not the session is open."""

from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import InvalidInput
from portico.domain.events import AnyPayload, EditorReplied, EditorRequested, Notice
from portico.sessions.idle_session import idle_session
from portico.sessions.registry import MAX_PENDING
from tests.sessions.support import SPEC, FakeAgent, World, world

NOTICE = Notice(level="info", text="then this")


def asked(number: int = 1) -> EditorRequested:
    return EditorRequested(request_id=f"r{number}", editor="VS Code", title="Read a.txt")


async def told(here: World, *kinds: type[AnyPayload]) -> list[AnyPayload]:
    return [event.payload for event in await here.events() if isinstance(event.payload, kinds)]


async def test_a_note_comes_into_the_turn_that_is_under_way_without_being_waited_for(tmp_path: Path) -> None:
    async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.say("before")
        here.service.pending_events.add(here.session_id, asked())
        here.service.pending_events.add(here.session_id, EditorReplied(request_id="r1", done=True))
        agent.say("after")

    async with world(answer, tmp_path) as here:
        events = await here.prompt()
        (turn,) = {event.turn_id for event in events}
        assert [event.kind for event in events if event.kind.startswith("editor")] == [
            "editor_requested",
            "editor_replied",
        ]
        assert turn is not None


async def closed(here: World) -> None:
    await here.start()
    await here.service.release(here.session_id)


async def nothing(agent: FakeAgent, request: acp.PromptRequest) -> None:
    """Answer nothing."""


async def test_a_note_on_a_session_that_nobody_has_open_is_written_by_whoever_decides_on_it(
    tmp_path: Path,
) -> None:
    async with world(nothing, tmp_path) as here:
        await closed(here)
        async with idle_session(here.service, here.ports, here.session_id, writes_tree=True) as record:
            here.service.pending_events.add(here.session_id, asked())
            await record(NOTICE)
            here.service.pending_events.add(here.session_id, asked(2))
        assert await told(here, EditorRequested, Notice) == [asked(), NOTICE, asked(2)]


async def test_a_note_is_written_also_when_what_was_decided_fails(tmp_path: Path) -> None:
    async with world(nothing, tmp_path) as here:
        await closed(here)

        async def decide() -> None:
            async with idle_session(here.service, here.ports, here.session_id, writes_tree=False):
                here.service.pending_events.add(here.session_id, asked())
                raise InvalidInput("It did not work.")

        with pytest.raises(InvalidInput):
            await decide()
        assert await told(here, EditorRequested) == [asked()]


async def test_a_note_that_came_too_late_waits_for_the_next_opening(tmp_path: Path) -> None:
    async with world(nothing, tmp_path) as here:
        await closed(here)
        for number in range(MAX_PENDING + 5):
            here.service.pending_events.add(here.session_id, asked(number))
        await here.service.reopen(here.session_id, SPEC)
        await here.service.record(here.session_id, NOTICE)
        notes = await told(here, EditorRequested)
        assert notes == [asked(number) for number in range(5, MAX_PENDING + 5)]


async def test_notes_on_a_session_go_with_it(tmp_path: Path) -> None:
    async with world(nothing, tmp_path) as here:
        await closed(here)
        here.service.pending_events.add(here.session_id, asked())
        await here.service.delete(here.session_id)
        assert here.service.pending_events.take(here.session_id) == ()
