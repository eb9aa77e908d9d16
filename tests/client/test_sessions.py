"""Sessions of a real server, used through the public client."""

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import Raw

from portico.client import (
    Client,
    Event,
    InvalidInput,
    Notice,
    PermissionRequested,
    PermissionResolved,
    PorticoError,
    QuestionAnswered,
    QuestionAsked,
    ServerLost,
    Session,
    SessionBusy,
    SessionNotFound,
    SessionStarted,
    TextDelta,
    TodoItem,
    TodosUpdated,
    TurnEnded,
    connect,
)
from tests.support.program import Portico
from tests.support.serving import Server, detach

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the server's fixture is POSIX")

PEERS = Path(__file__).parents[1] / "peers"
SECONDS = 60
T = TypeVar("T")


@pytest.fixture
def server(portico: Portico) -> Iterator[Portico]:
    words = shlex.split(portico.agent)
    portico.settings({"agent": "scripted", "agents": {"scripted": {"command": words[0], "args": words[1:]}}})
    found = Server(portico)
    detach(portico)
    yield portico
    found.end()


def connected(portico: Portico, work: Callable[[Client], Awaitable[T]]) -> T:
    async def run() -> T:
        async with asyncio.timeout(SECONDS), connect(environ=portico.environ()) as client:
            return await work(client)

    return asyncio.run(run())


def text_of(events: list[Event]) -> str:
    return "".join(event.payload.text for event in events if isinstance(event.payload, TextDelta))


def test_a_prompt_yields_the_events_of_its_turn(server: Portico) -> None:
    async def work(client: Client) -> tuple[Session, list[Event]]:
        session = await client.start_session(server.workspace)
        return session, [event async for event in session.prompt("say hello")]

    session, events = connected(server, work)
    assert session.summary.workspace == str(server.workspace)
    assert text_of(events) == "hello"
    ended = [event.payload for event in events if isinstance(event.payload, TurnEnded)]
    assert [one.stop_reason for one in ended] == ["end_turn"]
    assert [event.seq for event in events] == list(range(events[0].seq, events[-1].seq + 1))


def test_sessions_are_listed_found_watched_and_deleted(server: Portico) -> None:
    async def work(client: Client) -> None:
        first = await client.start_session(server.workspace)
        _ = [event async for event in first.prompt("say one")]
        assert [one.id for one in await client.list_sessions(server.workspace)] == [first.id]
        assert await client.list_sessions(server.workspace / "other") == []
        again = await client.get_session(first.id)
        assert again.summary == await first.refresh()
        seen = []
        async for event in again.watch():
            seen.append(event)
            if event.seq == again.summary.last_seq:
                break
        assert isinstance(seen[0].payload, SessionStarted)
        assert text_of(seen) == "one"
        await client.delete_session(first.id)
        with pytest.raises(SessionNotFound):
            await first.refresh()

    connected(server, work)


def test_permission_requests_and_questions_are_answered(server: Portico) -> None:
    steps = [
        {"permission": {"title": "first", "options": ["allow_once", "reject_once"]}},
        {"permission": {"title": "second", "options": ["allow_once", "reject_once"]}},
        {"elicit": {"message": "Your name?", "fields": {"name": {"type": "string"}}}},
    ]

    async def work(client: Client) -> list[Event]:
        session = await client.start_session(server.workspace)
        events = []
        async for event in session.prompt(json.dumps(steps)):
            events.append(event)
            match event.payload:
                case PermissionRequested(title="first") as request:
                    with pytest.raises(InvalidInput, match='Unknown option "maybe"'):
                        await session.decide(request, "maybe")
                    await session.decide(request, "allow_once")
                case PermissionRequested() as request:
                    await session.decide(request, None)
                case QuestionAsked() as question:
                    await session.answer(question, {"name": "Ada"})
                case _:
                    pass
        return events

    events = connected(server, work)
    resolved = [event.payload for event in events if isinstance(event.payload, PermissionResolved)]
    assert [(one.outcome, one.by) for one in resolved] == [("allowed", "person"), ("denied", "person")]
    answered = [event.payload for event in events if isinstance(event.payload, QuestionAnswered)]
    assert [one.content for one in answered] == [{"name": "Ada"}]


def test_a_second_prompt_is_refused_or_waits_for_the_first(server: Portico) -> None:
    async def work(client: Client) -> None:
        session = await client.start_session(server.workspace)
        first = asyncio.create_task(collect(session.prompt("say busy\nwait go")))
        await text_seen(session)
        with pytest.raises(SessionBusy):
            _ = [event async for event in session.prompt("say refused")]
        second = asyncio.create_task(collect(session.prompt("say second", wait=True)))
        (Path(server.workspace) / "go").touch()
        assert text_of(await first) == "busy"
        assert text_of(await second) == "second"

    connected(server, work)


def test_a_turn_is_stopped(server: Portico) -> None:
    async def work(client: Client) -> None:
        session = await client.start_session(server.workspace)
        assert not await session.stop()
        running = asyncio.create_task(collect(session.prompt("say busy\nhang")))
        await text_seen(session)
        assert await session.stop()
        ended = [event.payload for event in await running if isinstance(event.payload, TurnEnded)]
        assert [one.stop_reason for one in ended] == ["cancelled"]

    connected(server, work)


def test_a_proposal_is_applied_in_part_undone_and_discarded(server: Portico) -> None:
    steps = [
        {"write": {"path": "$cwd/a.txt", "content": "1\n"}},
        {"write": {"path": "$cwd/b.txt", "content": "2\n"}},
    ]
    workspace = Path(server.workspace)

    async def work(client: Client) -> None:
        session = await client.start_session(workspace, mode="proposal")
        text = json.dumps(steps).replace("$cwd", str(workspace))
        async for event in session.prompt(text):
            if isinstance(event.payload, PermissionRequested):
                await session.decide(event.payload, "allow_once")
        (proposal,) = await session.proposals()
        assert [file.path for file in proposal.files] == ["a.txt", "b.txt"]
        report = await session.apply(proposal, paths=["a.txt"])
        assert report.conflicted == ()
        assert (workspace / "a.txt").read_text() == "1\n"
        assert not (workspace / "b.txt").exists()
        assert (await session.undo(proposal.proposal_id)).undone
        assert not (workspace / "a.txt").exists()
        (proposal,) = await session.proposals()
        assert (await session.discard(proposal)).status == "discarded"
        assert await session.proposals() == []

    connected(server, work)


def test_extension_methods_of_a_foreign_agent_are_called_and_its_notifications_heard(server: Portico) -> None:
    peer = [str(PEERS / "sdk_agent.py"), str(server.home / "peer")]
    setting = {"command": sys.executable, "args": peer}
    server.settings({"agent": "peer", "agents": {"peer": setting}})

    async def work(client: Client) -> list[tuple[str | None, object]]:
        session = await client.start_session(server.workspace)
        answer = await session.call_extension("_peer/weather", {"place": "Oslo"})
        assert answer == {"place": "Oslo", "weather": "fair"}
        await session.notify_extension("_peer/note", {"text": "rain"})
        with pytest.raises(PorticoError, match="Method not found"):
            await session.call_extension("_peer/unknown")
        for name in ("session/prompt", "_portico/todos", "_proxy/successor"):
            with pytest.raises(InvalidInput, match=name):
                await session.call_extension(name)
        heard: list[tuple[str | None, object]] = []
        async for event in session.watch():
            if isinstance(event.payload, Notice) and isinstance(event.payload.raw, Raw):
                heard.append((event.payload.code, json.loads(bytes(event.payload.raw))))
            if len(heard) == 2:
                return heard
        raise AssertionError("the session ended")

    (asked, place), (note, text) = connected(server, work)
    assert (asked, note) == ("_peer/asked", "_peer/heard")
    assert isinstance(place, dict)
    assert isinstance(text, dict)
    assert place["place"] == "Oslo"
    assert (text["method"], text["text"]) == ("peer/note", "rain")
    assert place["sessionId"] == text["sessionId"]


def test_without_a_server_it_says_how_to_start_one(portico: Portico) -> None:
    async def run() -> None:
        async with connect(environ=portico.environ()):
            raise AssertionError("there is no server")

    with pytest.raises(ServerLost, match="No Portico server is running") as raised:
        asyncio.run(run())
    assert raised.value.suggestion == "Start one with: portico serve --detach"


def test_a_server_is_started_on_request_and_stays(portico: Portico) -> None:
    found = Server(portico)

    async def run() -> int:
        async with asyncio.timeout(SECONDS), connect(start=True, environ=portico.environ()) as client:
            return len(await client.list_sessions())

    try:
        assert asyncio.run(run()) == 0
        assert portico.run("status", "--api").api["running"]
        assert asyncio.run(run()) == 0
    finally:
        found.end()


async def text_seen(session: Session) -> None:
    """Wait until the agent has said something."""
    async with aclosing(session.watch()) as events:
        async for event in events:
            if isinstance(event.payload, TextDelta):
                return


async def collect(events: AsyncIterator[Event]) -> list[Event]:
    return [event async for event in events]


def test_components_are_switched_for_one_session(server: Portico) -> None:
    async def work(client: Client) -> list[str]:
        session = await client.start_session(server.workspace)
        await session.switch_components(on=["memory"], off=["skills"])
        found = {one.name: one for one in await session.components()}
        with pytest.raises(InvalidInput, match='Unknown component "nosuch"'):
            await session.switch_components(on=["nosuch"])
        return [f"{found[name].state} ({found[name].reason})" for name in ("memory", "skills", "editor")]

    assert connected(server, work) == ["on (this session)", "off (this session)", "on (default)"]


def test_a_server_of_another_home_is_joined_by_its_address_and_token_file(
    server: Portico, tmp_path: Path
) -> None:
    found = Server(server)
    elsewhere = {"PORTICO_HOME": str(tmp_path / "another home")}

    async def join() -> list[str]:
        async with (
            asyncio.timeout(SECONDS),
            connect(url=found.url, token_file=found.token_file, environ=elsewhere) as client,
        ):
            session = await client.start_session(server.workspace)
            await session.write_todos([TodoItem(todo_id="1", content="Mend the sails")])
            return [
                event.payload.todos[0].content
                async for event in session.prompt("say hello")
                if isinstance(event.payload, TodosUpdated)
            ] + [one.id for one in await client.list_sessions()]

    assert len(asyncio.run(join())) == 1
    assert not (tmp_path / "another home").exists()


def test_a_token_that_is_wrong_or_missing_is_told(server: Portico, tmp_path: Path) -> None:
    wrong = tmp_path / "token"
    wrong.write_text("guessed")

    async def join(**more: object) -> None:
        async with asyncio.timeout(SECONDS), connect(url=Server(server).url, **more) as client:  # type: ignore[arg-type]
            await client.list_sessions()

    with pytest.raises(PorticoError):
        asyncio.run(join(token_file=wrong))
    with pytest.raises(InvalidInput, match="cannot be read"):
        asyncio.run(join(token_file=tmp_path / "none"))
    with pytest.raises(InvalidInput, match="both url and token_file"):
        asyncio.run(join())
