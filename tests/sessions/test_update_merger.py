"""Updates that arrive in pieces are merged into the events that a person expects."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain import codecs
from portico.domain.events import Event, Notice, PlanUpdated
from tests.sessions.support import FakeAgent, World, kinds, world

Say = Callable[[FakeAgent], None]


def compaction(status: str, **fields: Any) -> acp.CompactionUpdate:
    return acp.CompactionUpdate(compaction_id="c1", status=status, **fields)


def chunk(words: str) -> acp.CompactionSummaryChunk:
    return acp.CompactionSummaryChunk(compaction_id="c1", content=acp.TextContent(text=words))


def usage(used: int) -> acp.UsageUpdate:
    return acp.UsageUpdate(used=used, size=200_000)


async def hear(folder: Path, *updates: acp.SessionUpdate) -> list[Event]:
    """A turn in which the agent says this, one update after another."""

    async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
        for update in updates:
            agent.update(update)

    async with world(answer, folder) as host:
        return await host.prompt()


def notices(events: list[Event]) -> list[Notice]:
    return [event.payload for event in events if isinstance(event.payload, Notice)]


def plans(events: list[Event]) -> list[list[tuple[str, str]]]:
    return [
        [(entry.content, entry.status) for entry in event.payload.entries]
        for event in events
        if isinstance(event.payload, PlanUpdated)
    ]


class TestCompaction:
    async def test_its_summary_and_its_effect_are_one_notice(self, tmp_path: Path) -> None:
        turn = await hear(
            tmp_path,
            usage(120_000),
            compaction("in_progress"),
            chunk("We fixed "),
            chunk("the parser."),
            compaction("completed"),
            usage(30_500),
            acp.AgentMessageChunk(content=acp.TextContent(text="On we go.")),
        )
        (notice,) = notices(turn)
        assert notice.text == "The agent compacted the conversation: 120k → 30.5k tokens."
        assert notice.details == "We fixed the parser."
        assert (notice.level, notice.source) == ("info", "agent")
        assert kinds(turn).index("notice") < kinds(turn).index("text_delta")
        assert isinstance(notice.raw, Raw)
        raw = codecs.decode_json(notice.raw)
        assert (raw["sessionUpdate"], raw["compactionId"], raw["status"]) == (
            "compaction_update",
            "c1",
            "completed",
        )
        assert [block["text"] for block in raw["summary"]] == ["We fixed ", "the parser."]

    async def test_the_new_size_may_come_before_the_end(self, tmp_path: Path) -> None:
        turn = await hear(
            tmp_path, usage(120_000), compaction("in_progress"), usage(30_000), compaction("completed")
        )
        assert [notice.text for notice in notices(turn)] == [
            "The agent compacted the conversation: 120k → 30k tokens."
        ]

    async def test_an_agent_that_counts_nothing_is_believed(self, tmp_path: Path) -> None:
        summary: list[acp.ContentBlock] = [acp.TextContent(text="All of it.")]
        turn = await hear(tmp_path, chunk("draft"), compaction("completed", summary=summary))
        (notice,) = notices(turn)
        assert (notice.text, notice.details) == ("The agent compacted the conversation.", "All of it.")

    async def test_one_that_failed_says_why(self, tmp_path: Path) -> None:
        turn = await hear(tmp_path, compaction("in_progress"), compaction("failed", error="out of memory"))
        (notice,) = notices(turn)
        assert notice.level == "warning"
        assert notice.text == "The agent could not compact the conversation: out of memory"

    async def test_one_that_is_not_over_when_the_turn_is_is_told_all_the_same(self, tmp_path: Path) -> None:
        turn = await hear(tmp_path, usage(9), compaction("in_progress"), chunk("half a summ"))
        (notice,) = notices(turn)
        assert (notice.text, notice.details) == (
            "The agent began to compact the conversation.",
            "half a summ",
        )
        assert kinds(turn).index("notice") < kinds(turn).index("turn_ended")

    async def test_a_flood_of_pieces_is_not_kept_in_memory(self, tmp_path: Path) -> None:
        turn = await hear(tmp_path, *(chunk("x" * 1000) for _ in range(1000)))
        told = notices(turn)
        assert 1 < len(told) < 20
        assert sum(len(notice.details or "") for notice in told) == 1_000_000


class TestPlans:
    async def test_plans_with_names_are_one_list_of_steps(self, tmp_path: Path) -> None:
        def entry(content: str, status: acp.PlanEntryStatus) -> acp.PlanEntry:
            return acp.PlanEntry(content=content, priority="medium", status=status)

        turn = await hear(
            tmp_path,
            acp.PlanUpdate(plan=acp.PlanItems(plan_id="a", entries=[entry("look", "in_progress")])),
            acp.PlanUpdate(plan=acp.PlanItems(plan_id="b", entries=[entry("write", "pending")])),
            acp.PlanUpdate(plan=acp.PlanItems(plan_id="a", entries=[entry("look", "completed")])),
            acp.PlanRemoved(plan_id="b"),
            acp.PlanRemoved(plan_id="a"),
        )
        assert plans(turn) == [
            [("look", "in_progress")],
            [("look", "in_progress"), ("write", "pending")],
            [("look", "completed"), ("write", "pending")],
            [("look", "completed")],
            [],
        ]
        removed = [event.payload for event in turn if isinstance(event.payload, PlanUpdated)][-1]
        assert isinstance(removed.raw, Raw)
        assert codecs.decode_json(removed.raw) == {"sessionUpdate": "plan_removed", "planId": "a"}
        assert notices(turn) == []

    async def test_a_plan_in_markdown_shows_its_steps(self, tmp_path: Path) -> None:
        page = "# Plan\n\nFirst some words.\n\n- [x] look\n* [ ] think\n1. write\n"
        turn = await hear(tmp_path, acp.PlanUpdate(plan=acp.PlanMarkdown(plan_id="a", content=page)))
        assert plans(turn) == [[("look", "completed"), ("think", "pending"), ("write", "pending")]]
        (plan,) = [event.payload for event in turn if isinstance(event.payload, PlanUpdated)]
        assert isinstance(plan.raw, Raw)
        assert codecs.decode_json(plan.raw)["plan"]["content"] == page

    async def test_a_plan_of_prose_or_in_a_file_is_named(self, tmp_path: Path) -> None:
        turn = await hear(
            tmp_path,
            acp.PlanUpdate(plan=acp.PlanMarkdown(plan_id="a", content="# Do it well\n\nSlowly.")),
            acp.PlanUpdate(plan=acp.PlanFile(plan_id="a", uri="file:///w/plans/next.md")),
            acp.PlanUpdate(plan=acp.PlanMarkdown(plan_id="a", content="\n")),
        )
        assert [[words for words, _ in plan] for plan in plans(turn)] == [
            ["Do it well"],
            ["The plan is in next.md"],
            [],
        ]


class TestSubagents:
    async def test_they_are_called_by_name_and_say_what_they_do(self, tmp_path: Path) -> None:
        failed = acp.StateUpdate(state="idle", error=acp.Error(code=1, message="Out of ideas."))
        turn = await hear(
            tmp_path,
            acp.SubagentUpdate(session_id="s1", title="Scout", description="Finds the files"),
            acp.SubagentUpdate(session_id="s1", state=acp.StateUpdate(state="running")),
            acp.SubagentUpdate(session_id="s1", state=failed),
        )
        told = notices(turn)
        assert [notice.text for notice in told] == [
            "The subagent “Scout” was started.",
            "The subagent “Scout” is at work.",
            "The subagent “Scout” failed: Out of ideas.",
        ]
        assert told[0].details == "Finds the files"
        assert told[2].level == "warning"
        assert all(isinstance(notice.raw, Raw) for notice in told)

    async def test_a_message_between_them_is_one_notice(self, tmp_path: Path) -> None:
        def piece(message: str, words: str) -> acp.SessionMessageChunk:
            return acp.SessionMessageChunk(message_id=message, content=acp.TextContent(text=words))

        turn = await hear(
            tmp_path,
            acp.SubagentUpdate(session_id="s1", title="Scout"),
            piece("m1", "Look in "),
            acp.SessionMessage(message_id="m1", recipient_session_id="s1"),
            piece("m1", "src."),
            piece("m2", "Found it."),
            acp.SessionMessage(message_id="m2", sender_session_id="s1"),
            acp.AgentMessageChunk(content=acp.TextContent(text="Thanks.")),
        )
        told = [(notice.text, notice.details) for notice in notices(turn)[1:]]
        assert told == [
            ("A message to “Scout” inside the agent.", "Look in src."),
            ("A message from “Scout” inside the agent.", "Found it."),
        ]


async def test_what_comes_in_pieces_between_two_turns_is_told_when_the_session_closes(tmp_path: Path) -> None:
    async def echo(agent: FakeAgent, request: acp.PromptRequest) -> None:
        agent.say("hi")

    async with world(echo, tmp_path) as host:
        await host.prompt()
        host.agent.update(compaction("in_progress"))
        host.agent.update(chunk("quietly"))
        await _flush(host)
        session_id = host.session_id
        await host.service.close()
        events = await host.store.read(session_id, after_seq=0, limit=1000)
    assert [notice.details for notice in notices(events)] == ["quietly"]


async def _flush(host: World) -> None:
    """Let what the agent has said be heard: a title is written down at once."""
    host.agent.update(acp.SessionInfoUpdate(title="heard"))
    await host.until(lambda payload: payload.kind == "title_updated")
