"""Components that one session switches: kept with it, in its chain from the next prompt on, and never beyond trust."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.app.host import Host, open_host
from portico.chains.component_registry import ComponentSwitches
from portico.chains.component_status import ChainComponents
from portico.chains.options import NO_CHAIN_OPTIONS, ChainOptions, ChainParts
from portico.components.component import Component, ComponentContext
from portico.conductor.proxy import Proxy
from portico.domain.components import ComponentStatus, SessionComponents
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.sessions.turn import TurnPrompt
from portico.testing.memory_agent import MemoryAgentLauncher
from tests.chains.support import planned, registry
from tests.sessions.support import SPEC, FakeAgent

ALL = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "workspace" / ".portico").mkdir(parents=True)
    (tmp_path / "home" / "config").mkdir(parents=True)
    return {"PORTICO_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


def write_settings(folder: Path, **settings: Any) -> None:
    (folder / "settings.json").write_text(json.dumps(settings))


async def quiet(_agent: FakeAgent, _request: acp.PromptRequest) -> None:
    return


class Sessions:
    """A host with an agent in memory that knows which MCP servers it was given."""

    def __init__(self, host: Host, agent: FakeAgent) -> None:
        self.host = host
        self.agent = agent

    async def prompt(self, session_id: SessionId) -> None:
        async with asyncio.timeout(20):
            await self.host.service.session(session_id).prompt(TurnPrompt(text="hello"))

    async def switch(self, session_id: SessionId, **change: tuple[str, ...]) -> None:
        await self.host.service.session(session_id).switch_components(SessionComponents(**change))

    async def status(self, session_id: SessionId, name: str) -> ComponentStatus:
        (found,) = [one for one in await self.host.service.components(session_id) if one.name == name]
        return found

    @property
    def servers(self) -> list[str]:
        """The servers of the session that the agent opened last."""
        return [one.name for one in self.agent.openings[-1].mcp_servers]


@asynccontextmanager
async def sessions(
    environ: dict[str, str], options: ChainOptions = NO_CHAIN_OPTIONS
) -> AsyncIterator[Sessions]:
    agent = FakeAgent(quiet)
    async with open_host(environ, options, MemoryAgentLauncher(agent)) as host:
        yield Sessions(host, agent)


async def test_the_next_prompt_has_the_component_and_a_resumed_session_too(
    environ: dict[str, str], workspace: Path
) -> None:
    async with sessions(environ) as here:
        session_id = await here.host.service.start(workspace, SPEC)
        await here.prompt(session_id)
        assert "portico-memory" not in here.servers
        await here.switch(session_id, on=("memory",))
        assert len(here.agent.openings) == 1, "the agent is not disturbed before it is needed"
        await here.prompt(session_id)
        assert "portico-memory" in here.servers
        await here.prompt(session_id)
        assert len(here.agent.openings) == 2, "nothing changed since"
        status = await here.status(session_id, "memory")
        assert (status.state, status.reason) == ("on", "this session")
        other = await here.host.service.start(workspace, SPEC)
        await here.prompt(other)
        assert "portico-memory" not in here.servers, "another session is not affected"
        fork = await here.host.service.fork(session_id)
        assert (await here.host.service.show(fork)).components.on == ("memory",)
    async with sessions(environ) as later:
        await later.host.service.reopen(session_id, SPEC)
        await later.prompt(session_id)
        assert "portico-memory" in later.servers
        await later.switch(session_id, off=("memory",))
        assert (await later.host.service.show(session_id)).components == SessionComponents()
        await later.prompt(session_id)
        assert "portico-memory" not in later.servers


async def test_switching_in_a_turn_leaves_the_turn_alone(environ: dict[str, str], workspace: Path) -> None:
    asked, answered = asyncio.Event(), asyncio.Event()

    async def slow(_agent: FakeAgent, _request: acp.PromptRequest) -> None:
        asked.set()
        await answered.wait()

    async with sessions(environ) as here:
        here.agent.answer = slow
        session_id = await here.host.service.start(workspace, SPEC)
        turn = asyncio.create_task(here.prompt(session_id))
        await asked.wait()
        await here.switch(session_id, on=("memory",))
        answered.set()
        await turn
        assert "portico-memory" not in here.servers
        await here.prompt(session_id)
        assert "portico-memory" in here.servers


async def test_changes_that_arrive_together_are_all_kept(environ: dict[str, str], workspace: Path) -> None:
    async with sessions(environ) as here:
        session_id = await here.host.service.start(workspace, SPEC)
        await asyncio.gather(
            here.switch(session_id, on=("memory",)), here.switch(session_id, off=("skills", "build"))
        )
        chosen = (await here.host.service.show(session_id)).components
    assert (chosen.on, set(chosen.off)) == (("memory",), {"skills", "build"})


async def test_a_choice_that_the_settings_make_anyway_is_not_kept(
    environ: dict[str, str], workspace: Path, tmp_path: Path
) -> None:
    write_settings(tmp_path / "home" / "config", components={"memory": True})
    components = ChainComponents(ChainParts(environ, registry(environ)))
    off = await components.switch(workspace, SessionComponents(), SessionComponents(off=("tools",)))
    assert off == SessionComponents(off=("tools",))
    assert await components.switch(workspace, off, SessionComponents(on=("tools",))) == SessionComponents()


async def test_a_flag_of_the_command_goes_before_the_session(
    environ: dict[str, str], workspace: Path
) -> None:
    flags = ChainOptions(components=ComponentSwitches(off=("tools",)))
    components = ChainComponents(ChainParts(environ, registry(environ), flags))
    with pytest.raises(InvalidInput, match='"tools" is switched by a flag'):
        await components.switch(workspace, SessionComponents(), SessionComponents(on=("tools",)))
    (tools,) = [
        one
        for one in await components.statuses(workspace, SessionComponents(on=("tools",)))
        if one.name == "tools"
    ]
    assert (tools.state, tools.reason, tools.fixed) == ("off", "--no-component", True)
    with pytest.raises(InvalidInput, match='Unknown component "nosuch"'):
        await components.switch(workspace, SessionComponents(), SessionComponents(on=("nosuch",)))


async def test_a_session_cannot_switch_on_what_an_untrusted_folder_names(
    environ: dict[str, str], workspace: Path, tmp_path: Path
) -> None:
    write_settings(workspace / ".portico", proxies={"evil": {"command": "/bin/false"}})
    parts = ChainParts(environ, registry(environ))
    components, wanted = ChainComponents(parts), SessionComponents(on=("evil",))
    with pytest.raises(InvalidInput, match='Unknown component "evil"'):
        await components.switch(workspace, SessionComponents(), wanted)
    write_settings(tmp_path / "home" / "config", trustedWorkspaces=[str(workspace)])
    assert await components.switch(workspace, SessionComponents(), wanted) == wanted
    write_settings(tmp_path / "home" / "config")
    (evil,) = [one for one in await components.statuses(workspace, wanted) if one.name == "evil"]
    assert (evil.state, evil.reason) == ("failed", "chosen for this session, and no longer available")
    async with planned(parts, workspace, wanted) as chain:
        await chain.greet(ALL, {})
        await chain.open_session(workspace)
    assert "evil" not in chain.names, "the session opens without it"


async def test_a_session_cannot_switch_on_the_component_of_a_package_that_is_not_trusted(
    environ: dict[str, str], workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "packages" / "weather-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: weather\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[portico.components]\nweather = nosuch_module:Weather\n")
    monkeypatch.syspath_prepend(tmp_path / "packages")
    components = ChainComponents(ChainParts(environ, registry(environ)))
    with pytest.raises(InvalidInput, match='the package weather is not in "trustedPackages"'):
        await components.switch(workspace, SessionComponents(), SessionComponents(on=("weather",)))


class Broken(Component):
    name = "tools"
    summary = "a tool"
    planned = 0

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        Broken.planned += 1
        if Broken.planned == 1:
            raise OSError("no such device")
        return []


async def test_a_component_that_the_chain_left_out_is_told_as_failed_until_it_works(
    environ: dict[str, str], workspace: Path
) -> None:
    parts = ChainParts(environ, registry(environ, Broken))
    components = ChainComponents(parts)

    async def tools() -> tuple[str, str]:
        (found,) = [one for one in await components.statuses(workspace) if one.name == "tools"]
        return found.state, found.reason

    async with planned(parts, workspace) as chain:
        await chain.greet(ALL, {})
        await chain.open_session(workspace)
        assert await tools() == ("failed", "OSError: no such device")
        await chain.open_session(workspace)
        assert await tools() == ("on", "default")
