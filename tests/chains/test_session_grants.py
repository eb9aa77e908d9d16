"""Permissions for a session apply in every chain of the session's agent, and in no other session."""

import asyncio
from pathlib import Path

from portico.acp import _schema as acp
from portico.app.host import Host, open_host
from portico.domain.events import PermissionRequested, PermissionResolved
from portico.domain.ids import SessionId
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.turn import TurnPrompt
from portico.testing.memory_agent import MemoryAgentLauncher
from tests.sessions.support import SPEC, FakeAgent

YES = PermissionReply(option_id="yes", by="person", scope="session")


async def run_the_tests(agent: FakeAgent, request: acp.PromptRequest) -> None:
    assert agent.end is not None
    call = acp.ToolCallUpdate(
        tool_call_id="t1", kind="execute", title="pytest", raw_input={"command": "pytest"}
    )
    options = [acp.PermissionOption(option_id="yes", name="Yes", kind="allow_once")]
    await agent.end.request_permission(
        acp.RequestPermissionRequest(session_id=request.session_id, tool_call=call, options=options)
    )


class Asked:
    """A host whose agent asks whether it may run the tests, in every turn."""

    def __init__(self, host: Host, workspace: Path) -> None:
        self.host = host
        self.workspace = workspace

    async def start(self) -> SessionId:
        return await self.host.service.start(self.workspace, SPEC)

    async def prompt(self, session_id: SessionId) -> str:
        """Decider in this turn: a person is present, and allows requests for the whole session."""
        last_seq = (await self.host.service.show(session_id)).last_seq
        turn = asyncio.create_task(self.host.service.session(session_id).prompt(TurnPrompt(text="test it")))
        async for event in self.host.service.watch(session_id, after_seq=last_seq):
            if isinstance(event.payload, PermissionRequested) and await self._is_open(session_id):
                self.host.service.session(session_id).decide(event.payload.request_id, YES)
            if isinstance(event.payload, PermissionResolved):
                assert event.payload.outcome == "allowed"
                await turn
                return event.payload.by
        raise AssertionError("the turn asked for nothing")

    async def _is_open(self, session_id: SessionId) -> bool:
        return bool((await self.host.service.view(session_id)).permissions)


async def test_a_session_that_released_or_lost_its_agent_is_not_asked_again(tmp_path: Path) -> None:
    environ = {"PORTICO_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    (tmp_path / "workspace").mkdir()
    agent = FakeAgent(run_the_tests)
    async with (
        asyncio.timeout(60),
        open_host(environ, agents=MemoryAgentLauncher(agent)) as host,
    ):
        here = Asked(host, tmp_path / "workspace")
        session_id = await here.start()
        assert await here.prompt(session_id) == "person"
        assert await here.prompt(session_id) == "policy"
        await host.service.release(session_id)
        await host.service.reopen(session_id, SPEC)
        assert await here.prompt(session_id) == "policy"
        assert agent.end is not None
        await agent.end.close()
        assert await here.prompt(session_id) == "policy", "nor after the agent has died"
        assert len(agent.openings) == 3, "the agent was started again each time"
        other = await here.start()
        assert await here.prompt(other) == "person", "another session has no part in it"
        fork = await host.service.fork(session_id)
        await host.service.reopen(fork, SPEC)
        assert await here.prompt(fork) == "person", "nor has a fork"
