"""A session that another agent continues: the summary, the marks in both logs, and what the agent is told."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import SessionBusy
from portico.domain.events import AnyPayload, Event, Notice, TextDelta
from portico.domain.ids import SessionId
from portico.domain.notice_codes import CONTINUED_FROM, CONTINUED_WITH
from portico.sessions.cleanup import LINGER_SECONDS, LOOK_SECONDS, SessionCleanup
from portico.sessions.drafts import Drafts
from portico.sessions.log.hand_off import FIRST_DRAFT
from portico.sessions.ports import AgentSpec
from portico.sessions.turn import TurnPrompt
from portico.sessions.turn_queue import TurnQueue
from portico.testing.store import MemoryStore
from tests.sessions.support import SPEC, FakeAgent, World, world

OTHER = AgentSpec(name="other", command=("other",))


async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say(" | ".join(block.text for block in request.prompt if isinstance(block, acp.TextContent)))


async def log(host: World, session_id: SessionId) -> list[AnyPayload]:
    return [event.payload for event in await events_of(host, session_id)]


async def events_of(host: World, session_id: SessionId) -> list[Event]:
    return await host.store.read(session_id, after_seq=0, limit=1000)


def mark(payloads: list[AnyPayload], code: str) -> Notice:
    (found,) = [one for one in payloads if isinstance(one, Notice) and one.code == code]
    return found


async def say(host: World, session_id: SessionId, words: str) -> str:
    await host.service.session(session_id).prompt(TurnPrompt(text=words))
    return [one.text for one in await log(host, session_id) if isinstance(one, TextDelta)][-1]


async def test_both_timelines_show_the_hand_off(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt("fix the parser")
        continued = await host.service.hand_off(host.session_id, OTHER)
        old, new = mark(await log(host, host.session_id), CONTINUED_WITH), await log(host, continued)
        assert (old.text, old.other_session_id) == ("Continued with other.", continued)
        begun = mark(new, CONTINUED_FROM)
        assert begun.other_session_id == host.session_id
        assert begun.text.startswith("Continued from “fix the parser” (fake). It works in the same folder;")
        assert "changes are written directly" in begun.text
        summary = await host.service.show(continued)
        assert (summary.title, summary.agent, summary.workspace) == ("fix the parser", "other", str(tmp_path))
        assert (await host.store.draft(continued)).draft == FIRST_DRAFT


class KilledStore(MemoryStore):
    """A store whose process dies before the mark of the old session is written."""

    killed = False

    async def append(self, events: Sequence[Event], *, durable: bool) -> None:
        marks = [
            one for one in events if isinstance(one.payload, Notice) and one.payload.code == CONTINUED_WITH
        ]
        if not (self.killed and marks):
            await super().append(events, durable=durable)


@pytest.mark.parametrize("opens", ["old", "new"])
async def test_a_kill_in_the_middle_is_repaired_when_either_session_is_next_opened(
    tmp_path: Path, opens: str
) -> None:
    store = KilledStore()
    async with world(echo, tmp_path, store=store) as host:
        await host.prompt("fix the parser")
        await host.service.release(host.session_id)
        store.killed = True
        continued = await host.service.hand_off(host.session_id, OTHER)
        await host.service.release(continued)
        store.killed = False
        assert not any(isinstance(one, Notice) for one in await log(host, host.session_id))
        for _ in range(2):  # The second time there is nothing to repair.
            if opens == "old":
                await host.service.reopen(host.session_id, SPEC)
                await host.service.release(host.session_id)
            else:
                await host.service.reopen(continued, OTHER)
                await host.service.release(continued)
        assert mark(await log(host, host.session_id), CONTINUED_WITH).other_session_id == continued


async def test_a_fork_of_the_continuation_adds_no_mark(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt("fix the parser")
        continued = await host.service.hand_off(host.session_id, OTHER)
        forked = await host.service.fork(continued)
        await host.service.release(host.session_id)
        await host.service.release(continued)
        await host.service.reopen(forked, OTHER)
        await host.service.reopen(host.session_id, SPEC)
        assert mark(await log(host, host.session_id), CONTINUED_WITH).other_session_id == continued


async def test_the_first_prompt_brings_the_summary_and_later_ones_do_not(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt("fix the parser")
        continued = await host.service.hand_off(host.session_id, OTHER)
        first = await say(host, continued, "go on")
        assert "> fix the parser" in first
        assert first.endswith("| go on")
        assert await say(host, continued, "and now") == "and now"


async def test_the_summary_is_still_sent_after_the_process_was_killed_before_the_first_prompt(
    tmp_path: Path,
) -> None:
    async with world(echo, tmp_path, capabilities=acp.AgentCapabilities(load_session=True)) as host:
        await host.prompt("fix the parser")
        continued = await host.service.hand_off(host.session_id, OTHER)
        await host.service.session(continued).connect()
        await host.service.release(continued)
        await host.service.reopen(continued, OTHER)
        assert "> fix the parser" in await say(host, continued, "go on")


async def test_an_agent_that_forgets_the_continuation_gets_the_summary_again(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt("fix the parser")
        continued = await host.service.hand_off(host.session_id, OTHER)
        await say(host, continued, "go on")
        await host.service.release(continued)
        await host.service.reopen(continued, OTHER)
        told = await say(host, continued, "what was it?")
        assert "<hand-off>" in told
        assert "Person: go on" in told


async def test_a_hand_off_back_tells_what_both_did(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt("fix the parser")
        there = await host.service.hand_off(host.session_id, OTHER)
        await say(host, there, "add a test")
        back = await host.service.hand_off(there, AgentSpec(name="third", command=("third",)))
        told = await say(host, back, "finish it")
        assert "> add a test" in told
        assert "## Before that session" in told
        assert "fix the parser" in told


async def test_a_session_in_a_turn_is_not_handed_off(tmp_path: Path) -> None:
    async def wait(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.say("waiting")
        await agent.canceled.wait()

    async with world(wait, tmp_path) as host:
        await host.start()
        turn = host.prompting("work")
        await host.until(lambda payload: isinstance(payload, TextDelta))
        with pytest.raises(SessionBusy, match="middle of a turn"):
            await host.service.hand_off(host.session_id, OTHER)
        assert len(await host.store.summaries(limit=10)) == 1
        host.service.session(host.session_id).stop()
        await turn


async def test_a_continuation_without_a_prompt_is_not_cleaned_up_as_empty(tmp_path: Path) -> None:
    async with world(echo, tmp_path) as host:
        await host.prompt("fix the parser")
        continued = await host.service.hand_off(host.session_id, OTHER)
        drafts = Drafts(host.store, host.clock)
        await drafts.write_draft(continued, "", "page")

        async def find_agent(_: object) -> AgentSpec:
            return OTHER

        queue = TurnQueue(host.service, drafts, find_agent)
        cleanup = SessionCleanup(host.service, queue, drafts, host.store, host.clock)
        with cleanup.watching(continued):
            pass
        running = asyncio.create_task(cleanup.run())
        for _ in range(6):
            await host.clock.advance(max(LINGER_SECONDS, LOOK_SECONDS))
        running.cancel()
        assert await host.store.summary(continued) is not None
        await queue.close()
