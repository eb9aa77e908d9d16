"""The view of a session without its timeline."""

import asyncio
from pathlib import Path

from portico.acp import _schema as acp
from portico.domain.events import PermissionRequested, TodosUpdated
from portico.domain.values import TodoItem
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.session_view import AcceptedContent
from portico.testing.store import MemoryStore
from tests.sessions.dispatching import doors
from tests.sessions.support import SPEC, FakeAgent, world


async def ask(agent: FakeAgent, request: acp.PromptRequest) -> None:
    assert agent.end is not None
    await agent.end.request_permission(
        acp.RequestPermissionRequest(
            session_id=request.session_id,
            tool_call=acp.ToolCallUpdate(tool_call_id="c1", title="rm -r build", kind="execute"),
            options=[acp.PermissionOption(option_id="yes", name="Yes", kind="allow_once")],
        )
    )


async def test_what_waits_for_an_answer_is_shown_until_it_has_one(tmp_path: Path) -> None:
    async with doors(ask, tmp_path) as door:
        call = door.send("go")
        await door.host.until(lambda payload: isinstance(payload, PermissionRequested))
        view = await door.host.service.view(door.session_id)
        assert [one.title for one in view.permissions] == ["rm -r build"]
        assert door.host.service.session(door.session_id).open_requests == 1
        (waiting,) = view.permissions
        door.host.service.session(door.session_id).decide(
            waiting.request_id, PermissionReply(option_id="yes", by="person")
        )
        await door.within(asyncio.wait_for(call, 5))
        assert (await door.host.service.view(door.session_id)).permissions == ()
        assert door.host.service.session(door.session_id).open_requests == 0


async def test_how_things_stand_is_shown_also_of_a_session_that_is_not_open(tmp_path: Path) -> None:
    store = MemoryStore()
    todo = TodoItem(todo_id="1", content="think")
    async with doors(ask, tmp_path, store=store) as door:
        await door.host.service.record(door.session_id, TodosUpdated(todos=(todo,)))
    async with world(ask, tmp_path, store=store) as host:
        view = await host.service.view(door.session_id)
        assert view.standing == (TodosUpdated(todos=(todo,)),)
        assert (view.open_elsewhere, view.takes, view.can_fork) == (False, AcceptedContent(), False)


async def test_a_session_that_another_process_has_is_shown_as_such(tmp_path: Path) -> None:
    store = MemoryStore()
    async with doors(ask, tmp_path, store=store) as there, world(ask, tmp_path, store=store) as host:
        assert (await host.service.view(there.session_id)).open_elsewhere
        assert not (await there.host.service.view(there.session_id)).open_elsewhere


async def test_what_the_agent_takes_is_shown_while_it_runs(tmp_path: Path) -> None:
    able = acp.AgentCapabilities(prompt_capabilities=acp.PromptCapabilities(image=True))
    async with world(ask, tmp_path, capabilities=able) as host:
        await host.start()
        assert (await host.service.view(host.session_id)).takes == AcceptedContent()
        await host.service.session(host.session_id).connect()
        assert (await host.service.view(host.session_id)).takes == AcceptedContent(image=True)


async def test_a_session_that_is_just_being_opened_here_is_not_called_open_elsewhere(tmp_path: Path) -> None:
    async with world(ask, tmp_path) as host:
        session_id = await host.start()
        await host.service.release(session_id)
        writing, go_on = asyncio.Event(), asyncio.Event()

        async def hold(_: object) -> None:
            writing.set()
            await go_on.wait()

        host.store.before_append = hold
        reopening = asyncio.create_task(host.service.reopen(session_id, SPEC))
        await asyncio.wait_for(writing.wait(), 5)
        assert not (await host.service.view(session_id)).open_elsewhere
        host.store.before_append = None
        go_on.set()
        await asyncio.wait_for(reopening, 5)
