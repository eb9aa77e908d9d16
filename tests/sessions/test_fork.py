"""Forks of a session: the same conversation, continued independently."""

import asyncio
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import InvalidInput, SessionBusy, SessionNotFound
from portico.domain.events import Event, Notice, PromptSubmitted, SessionStarted, StateChanged, TextDelta
from portico.domain.ids import SessionId
from portico.domain.turns import TurnState
from portico.domain.values import AgentSession
from portico.rpc.messages import RpcError
from portico.sessions.log.fork import BranchPoint, PromptVersion
from portico.sessions.turn import TurnPrompt
from tests.sessions.support import SPEC, FakeAgent, World, kinds, world

FORKS = acp.AgentCapabilities(
    load_session=True,
    session_capabilities=acp.SessionCapabilities(fork=acp.SessionForkCapabilities()),
)


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    block = request.prompt[-1]
    assert isinstance(block, acp.TextContent)
    agent.say(f"{request.session_id}: {block.text}")


async def hi(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("hi")


async def fork_of(host: World) -> SessionId:
    forked = await host.service.fork(host.session_id)
    await host.service.reopen(forked, SPEC)
    return forked


async def log(host: World, session_id: SessionId) -> list[Event]:
    return await host.store.read(session_id, after_seq=0, limit=1000)


def said(events: list[Event]) -> list[str]:
    return [event.payload.text for event in events if isinstance(event.payload, TextDelta)]


def reached(events: list[Event]) -> list[AgentSession]:
    return [
        event.payload.agent_session
        for event in events
        if isinstance(event.payload, StateChanged) and event.payload.agent_session is not None
    ]


def notices(events: list[Event]) -> list[str]:
    return [event.payload.text for event in events if isinstance(event.payload, Notice)]


def details(events: list[Event]) -> list[str | None]:
    return [event.payload.details for event in events if isinstance(event.payload, Notice)]


async def test_a_fork_begins_with_all_that_was_said_and_goes_its_own_way(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.prompt("one")
        before = await host.events()
        forked = await fork_of(host)
        copied = await log(host, forked)
        assert [event.payload for event in copied[: len(before)]] == [event.payload for event in before]
        mark = copied[len(before)].payload
        assert isinstance(mark, SessionStarted)
        assert mark.forked_from is not None
        assert mark.forked_from.session_id == host.session_id
        await host.service.session(forked).prompt(TurnPrompt(text="there"))
        await host.prompt("here")
        assert said(await log(host, forked)) == ["a1: one", "f2: there"]
        assert said(await host.events()) == ["a1: one", "a1: here"]
        assert [event.turn_id for event in await log(host, forked) if event.kind == "prompt_submitted"] == [
            "t1",
            "t2",
        ]


async def test_an_agent_that_can_forks_its_own_session_and_is_told_nothing_again(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.prompt("one")
        forked = await fork_of(host)
        await host.service.session(forked).prompt(TurnPrompt(text="two"))
        assert "session/fork a1" in host.agent.methods
        assert host.agent.prompts[-1].prompt == [acp.TextContent(text="two")]
        events = await log(host, forked)
        assert reached(events)[-1] == AgentSession(agent_session_id="f2", attached_by="fork")
        assert any("forked its own session" in text for text in notices(events))


async def test_an_agent_that_cannot_is_given_a_summary_with_the_first_prompt(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=acp.AgentCapabilities(load_session=True)) as host:
        await host.prompt("remember the milk")
        forked = await fork_of(host)
        await host.service.session(forked).connect()
        await host.service.session(forked).prompt(TurnPrompt(text="what was it?"))
        summary, words = host.agent.prompts[-1].prompt
        assert isinstance(summary, acp.TextContent)
        assert "remember the milk" in summary.text
        assert "what was it?" not in summary.text
        assert words == acp.TextContent(text="what was it?")
        events = await log(host, forked)
        assert reached(events)[-1].attached_by == "replay"
        assert any("could not fork its own session" in text for text in notices(events))


async def test_the_summary_stands_beside_the_words_where_the_agent_takes_that(tmp_path: Path) -> None:
    """So that a prompt which is a command is still one."""
    takes = acp.PromptCapabilities(embedded_context=True)
    async with world(hi, tmp_path, capabilities=acp.AgentCapabilities(prompt_capabilities=takes)) as host:
        await host.prompt("remember the milk")
        forked = await fork_of(host)
        await host.service.session(forked).prompt(TurnPrompt(text="/test"))
        words, summary = host.agent.prompts[-1].prompt
        assert words == acp.TextContent(text="/test")
        assert isinstance(summary, acp.EmbeddedResource)
        assert "remember the milk" in (summary.resource.text or "")


async def test_a_summary_that_was_never_sent_is_still_owed_by_a_later_host(tmp_path: Path) -> None:
    capabilities = acp.AgentCapabilities(load_session=True)
    async with world(echo, tmp_path, capabilities=capabilities) as host:
        await host.prompt("remember the milk")
        forked = await fork_of(host)
        await host.service.session(forked).connect()
        await host.service.close()
        store = host.store
    async with world(echo, tmp_path, capabilities=capabilities, store=store) as later:
        await later.service.reopen(forked, SPEC)
        for words in ("what was it?", "and now?"):
            await later.service.session(forked).prompt(TurnPrompt(text=words))
        first, second = later.agent.prompts
        assert later.agent.methods.count("session/load") == 1
        assert isinstance(first.prompt[0], acp.TextContent)
        assert "remember the milk" in first.prompt[0].text
        assert second.prompt == [acp.TextContent(text="and now?")]


async def test_a_refused_fork_is_told_and_the_summary_helps(tmp_path: Path) -> None:
    async def refuse(way: str, session_id: str) -> None:
        raise RpcError(-32603, f"no {way} today")

    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.prompt("remember the milk")
        host.agent.on_reopen = refuse
        forked = await fork_of(host)
        await host.service.session(forked).prompt(TurnPrompt(text="go on"))
        assert len(host.agent.prompts[-1].prompt) == 2
        events = await log(host, forked)
        assert "The agent refused session/fork: no fork today" in details(events)
        assert not any("session/" in text for text in notices(events))


async def test_a_fork_never_knows_what_was_said_after_it(tmp_path: Path) -> None:
    """The agent's own session has moved on since, so it is not what the fork is a copy of."""
    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.prompt("one")
        forked = await host.service.fork(host.session_id)
        await host.prompt("a secret of the first")
        await host.service.reopen(forked, SPEC)
        await host.service.session(forked).prompt(TurnPrompt(text="two"))
        assert "session/fork a1" not in host.agent.methods
        summary = host.agent.prompts[-1].prompt[0]
        assert isinstance(summary, acp.TextContent)
        assert "one" in summary.text
        assert "secret" not in summary.text


async def test_a_fork_stays_a_fork_when_its_first_turn_fails(tmp_path: Path) -> None:
    async def die_at_once(way: str, session_id: str) -> None:
        assert host.agent.end is not None
        host.agent.on_reopen = None
        await host.agent.end.close()

    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.prompt("one")
        forked = await fork_of(host)
        host.agent.on_reopen = die_at_once
        await host.service.session(forked).prompt(TurnPrompt(text="two"))
        await host.service.session(forked).prompt(TurnPrompt(text="three"))
        assert host.agent.methods.count("session/fork a1") == 2
        assert reached(await log(host, forked))[-1].attached_by == "fork"


async def test_a_forked_session_comes_back_as_itself(tmp_path: Path) -> None:
    async def retell(way: str, session_id: str) -> None:
        host.agent.talking_in = session_id
        host.agent.say("hi")

    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.prompt("one")
        forked = await fork_of(host)
        await host.service.session(forked).prompt(TurnPrompt(text="two"))
        await host.lose_agent()
        host.agent.on_reopen = retell
        await host.service.session(forked).prompt(TurnPrompt(text="three"))
        assert reached(await log(host, forked))[-1] == AgentSession(
            agent_session_id="f2", attached_by="load", replayed_updates=1
        )


async def test_a_session_in_the_middle_of_a_turn_is_not_forked(tmp_path: Path) -> None:
    async def hold(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.say("…")
        await go.wait()

    go = asyncio.Event()
    async with world(hold, tmp_path) as host:
        await host.start()
        turn = host.prompting()
        await host.until_state(TurnState.STREAMING)
        with pytest.raises(SessionBusy, match="middle of a turn"):
            await host.service.fork(host.session_id)
        go.set()
        await turn
        assert await host.service.fork(host.session_id)


async def test_a_session_that_was_never_prompted_forks_into_a_new_one(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.start()
        forked = await fork_of(host)
        await host.service.session(forked).prompt(TurnPrompt(text="first"))
        events = await log(host, forked)
        assert reached(events)[-1].attached_by == "new"
        assert kinds(events)[:2] == ["session_started", "session_started"]
        assert len(host.agent.prompts[-1].prompt) == 1


async def test_there_is_no_fork_of_nothing(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        with pytest.raises(SessionNotFound):
            await host.service.fork(SessionId("nobody"))


async def test_an_edited_prompt_branches_off_and_every_version_stays_reachable(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=FORKS) as host:
        for words in ("one", "two", "three"):
            await host.prompt(words)
        sent = [event.seq for event in await host.events() if event.kind == "prompt_submitted"]
        second = sent[1]

        branch = await host.service.branch(host.session_id, second)
        await host.service.reopen(branch, SPEC)
        await host.service.session(branch).prompt(TurnPrompt(text="deux"))
        assert prompts(await log(host, branch)) == ["one", "deux"]
        summary = host.agent.prompts[-1].prompt[0]
        assert isinstance(summary, acp.TextContent)
        assert "one" in summary.text
        assert "two" not in summary.text
        assert "session/fork a1" not in host.agent.methods
        assert prompts(await host.events()) == ["one", "two", "three"]

        # A version is edited again at the same place, and a branch has places of its own.
        edited = [event.seq for event in await log(host, branch) if event.kind == "prompt_submitted"][-1]
        again = await host.service.branch(branch, edited)
        await host.service.reopen(again, SPEC)
        await host.service.session(again).prompt(TurnPrompt(text="zwei"))
        await host.service.session(again).prompt(TurnPrompt(text="drei"))
        *_, later = [event.seq for event in await log(host, again) if event.kind == "prompt_submitted"]
        deeper = await host.service.branch(again, later)
        origin = host.session_id
        versions = (PromptVersion(origin, second), *sorted_versions((branch, edited), (again, edited)))
        assert await host.service.branches(origin) == [BranchPoint(versions, 0)]
        assert (await host.service.branches(branch))[0].versions == versions
        outer = (await host.service.branches(again))[0]
        assert outer.versions[outer.current].session_id == again
        inner = (PromptVersion(again, later), PromptVersion(deeper, 0))
        assert await host.service.branches(again) == [outer, BranchPoint(inner, 0)]
        assert await host.service.branches(deeper) == [outer, BranchPoint(inner, 1)]

        # Without its source a branch is whole, and the others still know of each other.
        await host.service.delete(origin)
        assert (await host.service.branches(branch))[0].versions == versions[1:]
        assert prompts(await log(host, branch)) == ["one", "deux"]


def sorted_versions(*found: tuple[SessionId, int]) -> list[PromptVersion]:
    return [PromptVersion(*one) for one in sorted(found)]


async def test_the_first_prompt_is_edited_into_a_session_without_a_past(tmp_path: Path) -> None:
    async with world(echo, tmp_path, capabilities=FORKS) as host:
        await host.prompt("one")
        (first,) = [event.seq for event in await host.events() if event.kind == "prompt_submitted"]
        branch = await host.service.branch(host.session_id, first)
        await host.service.reopen(branch, SPEC)
        await host.service.session(branch).prompt(TurnPrompt(text="uno"))
        assert host.agent.prompts[-1].prompt == [acp.TextContent(text="uno")]
        assert (await host.service.show(branch)).title == "uno"
        with pytest.raises(InvalidInput, match="is not a prompt"):
            await host.service.branch(host.session_id, first + 1)
        with pytest.raises(InvalidInput, match="is not a prompt"):
            await host.service.branch(host.session_id, 9_999)


def prompts(events: list[Event]) -> list[str]:
    return [event.payload.text for event in events if isinstance(event.payload, PromptSubmitted)]
