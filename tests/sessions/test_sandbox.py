"""The sandbox of an agent in the log and at the doors."""

from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.domain.drafts import SessionDraft
from portico.domain.errors import PermissionDenied
from portico.domain.events import ErrorReported, Event, Notice, StateChanged
from portico.domain.values import SandboxStatus
from portico.doors.api.session_messages import to_detail, to_summary
from portico.doors.terminal.input.chat_status import ChatStatus
from portico.sessions.ports import AgentSpec
from portico.sessions.session_list import SessionList
from portico.testing.memory_agent import MemoryAgentProcess
from tests.sessions.support import FakeAgent, world

CONFINED = SandboxStatus(level="workspace", backend="bubblewrap")
UNCONFINED = SandboxStatus(note="No sandbox works here.")


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> acp.PromptResponse:
    return acp.PromptResponse(stop_reason="end_turn")


def sandboxes(events: list[Event]) -> list[SandboxStatus | None]:
    changes = [event.payload for event in events if isinstance(event.payload, StateChanged)]
    return [change.agent_session.sandbox for change in changes if change.agent_session is not None]


async def test_the_log_tells_it_with_each_start_of_the_agent(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        host.agents.sandbox = CONFINED
        await host.prompt()
        host.agents.sandbox = None
        await host.lose_agent()
        await host.prompt()
        assert sandboxes(await host.events()) == [CONFINED, None]


async def test_who_cannot_be_confined_is_told_of_once(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        host.agents.sandbox = UNCONFINED
        await host.prompt()
        await host.lose_agent()
        await host.prompt()
        events = await host.events()
        assert sandboxes(events) == [UNCONFINED, UNCONFINED]
        told = [event.payload for event in events if isinstance(event.payload, Notice)]
        assert [notice.text for notice in told if notice.text == UNCONFINED.note] == [UNCONFINED.note]


async def test_doors_show_it_while_the_agent_runs(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        host.agents.sandbox = CONFINED
        await host.prompt()
        listing = SessionList(host.service, host.store, host.clock)
        (listed,) = await listing.page(workspace=None, search="", before=None, limit=1)
        view = await host.service.view(host.session_id)
        for summary in (to_summary(listed), to_detail(view, SessionDraft()).summary):
            assert summary is not None
            assert summary.sandbox is not None
            assert (summary.sandbox.level, summary.sandbox.backend) == ("workspace", "bubblewrap")
        status = ChatStatus(agent="fake", session_id="s", workspace="/w")
        for event in await host.events():
            status = status.after(event)
        assert "sandbox: workspace" in status.toolbar(200)


async def test_a_turn_whose_agent_must_not_start_unconfined_fails_with_what_to_do(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:

        async def refuse(spec: AgentSpec, workspace: Path, **_: object) -> MemoryAgentProcess:
            raise PermissionDenied("A sandbox is required.", suggestion="See: portico doctor")

        host.agents.launch = refuse  # type: ignore[method-assign]
        (error,) = [
            event.payload for event in await host.prompt() if isinstance(event.payload, ErrorReported)
        ]
        assert (error.code, error.message) == ("PERMISSION_DENIED", "A sandbox is required.")
        assert msgspec.to_builtins(error)["details"]["suggestion"] == "See: portico doctor"


async def test_an_agent_that_dies_in_a_sandbox_leaves_word_of_what_may_help(tmp_path: Path) -> None:
    async def die(agent: FakeAgent, request: acp.PromptRequest) -> None:
        assert agent.end is not None
        await agent.end.close()

    async with world(die, tmp_path) as host:
        host.agents.sandbox = CONFINED
        (error,) = [
            event.payload for event in await host.prompt() if isinstance(event.payload, ErrorReported)
        ]
        assert "sandbox.write" in (error.details.suggestion or "")
