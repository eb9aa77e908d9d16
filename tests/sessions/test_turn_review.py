"""Review events of a turn, in every review mode."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from portico.acp import _schema as acp
from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.events import (
    AnyPayload,
    CheckpointCreated,
    ErrorReported,
    Notice,
    ProposalUpdated,
    SessionStarted,
    TurnEnded,
)
from portico.domain.ids import SessionId
from portico.domain.notice_codes import CHANGED_OUTSIDE_REVIEW
from portico.domain.reviews import ReviewMode
from portico.domain.turns import TurnState
from portico.domain.values import SandboxStatus
from portico.rpc.streams import ByteStream
from portico.sessions.turn import TurnPrompt
from portico.testing.reviews import MemoryReview
from tests.sessions.support import SPEC, FakeAgent, World, world

KEPT = CheckpointCreated(checkpoint_id="c1", label="hello", moment="before_turn")
PROPOSED = ProposalUpdated(proposal_id="p1", revision=1, status="open", origin="turn")
FULL_DISK = InvalidInput("The disk is full.", suggestion="Make room.")
UNFORESEEN = "Internal error: OSError: [Errno 28] No space left on device"


async def answer(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("done")


async def stop_when_told(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("working")
    await agent.canceled.wait()


async def reviewed(host: World) -> MemoryReview:
    await host.start()
    return await host.reviews.open(host.session_id, host.folder, "direct")


async def test_the_way_back_is_kept_before_the_agent_hears_the_prompt(tmp_path: Path) -> None:
    heard: list[int] = []

    async def count(agent: FakeAgent, request: acp.PromptRequest) -> None:
        heard.append(len(review.labels))

    async with world(count, tmp_path) as host:
        review = await reviewed(host)
        review.before, review.after = [KEPT], [PROPOSED]
        made = [event.payload for event in await host.prompt("hello")]
    assert (heard, review.labels) == ([1], ["hello"])
    (ended,) = (payload for payload in made if isinstance(payload, TurnEnded))
    assert made.index(KEPT) < made.index(PROPOSED) < made.index(ended)


async def test_a_direct_turn_goes_on_without_a_checkpoint_and_says_so(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        (await reviewed(host)).refusal = FULL_DISK
        made = [event.payload for event in await host.prompt()]
    warnings = [one for one in made if isinstance(one, Notice) and one.level == "warning"]
    assert [one.text for one in warnings] == [
        "No checkpoint was taken before this turn. The disk is full.",
        "The changes of this turn could not be collected. The disk is full.",
    ]
    assert {one.details for one in warnings} == {"Make room."}
    assert host.agent.prompts


async def test_a_turn_that_must_be_reviewed_does_not_begin_without_its_place(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        host.session_id = await host.service.start(tmp_path, SPEC, mode="proposal")
        (await host.reviews.open(host.session_id, tmp_path, "proposal")).refusal = FULL_DISK
        await host.prompt()
        assert (await host.service.show(host.session_id)).state is TurnState.FAILED
    assert host.agent.prompts == []


@pytest.mark.parametrize("mode", ["direct", "proposal"])
async def test_a_review_that_breaks_in_a_way_nobody_foresaw_costs_its_turn_and_not_the_session(
    tmp_path: Path, mode: ReviewMode
) -> None:
    async with world(answer, tmp_path) as host:
        host.session_id = await host.service.start(tmp_path, SPEC, mode=mode)
        review = await host.reviews.open(host.session_id, tmp_path, mode)
        review.refusal = OSError(28, "No space left on device")
        made = [event.payload for event in await host.prompt()]
        assert [one.message for one in made if isinstance(one, ErrorReported)] == [UNFORESEEN]
        assert [one.text for one in made if isinstance(one, Notice)] == [
            f"The changes of this turn could not be collected. {UNFORESEEN}"
        ]
        assert (await host.service.show(host.session_id)).state is TurnState.FAILED
        review.refusal = None
        await host.prompt("again")
        assert (await host.service.show(host.session_id)).state is TurnState.COMPLETED


async def test_no_host_is_kept_from_starting_by_what_a_dead_turn_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def salvage(session_id: SessionId, workspace: Path) -> Sequence[AnyPayload]:
        raise OSError(28, "No space left on device")

    async with world(stop_when_told, tmp_path) as host:
        await host.start()
        turn = host.prompting()
        await host.until_state(TurnState.STREAMING)
        host.store.forget_leases()
        monkeypatch.setattr(host.reviews, "salvage", salvage)
        assert await host.service.recover() == [host.session_id]
        (notice,) = [event.payload for event in await host.events() if isinstance(event.payload, Notice)]
        assert notice.text == f"The changes of the interrupted turn could not be collected. {UNFORESEEN}"
        turn.cancel()
        await asyncio.gather(turn, return_exceptions=True)


OUTSIDE = Notice(level="warning", text="These files changed.", code=CHANGED_OUTSIDE_REVIEW)


@pytest.mark.parametrize(
    ("mode", "reads_only", "noted"),
    [
        ("direct", True, True),
        ("proposal", False, True),
        ("worktree", False, True),
        ("direct", False, False),
        ("branch", False, False),
    ],
)
async def test_files_that_a_turn_must_not_touch_are_compared_around_it(
    tmp_path: Path, mode: ReviewMode, reads_only: bool, noted: bool
) -> None:
    async with world(answer, tmp_path) as host:
        host.reviews.outside = [OUTSIDE]
        host.session_id = await host.service.start(tmp_path, SPEC, mode=mode, reads_only=reads_only)
        made = [event.payload for event in await host.prompt("hello")]
    assert (OUTSIDE in made) is noted
    assert (host.session_id in host.reviews.noted) is noted


async def test_files_are_noted_before_the_agent_is_started(tmp_path: Path) -> None:
    noted_at_start: list[SessionId] = []

    async def start(stream: ByteStream) -> None:
        noted_at_start.extend(host.reviews.noted)
        await host.agent(stream)

    async with world(answer, tmp_path) as host:
        host.agents.behaviour = start
        host.session_id = await host.service.start(tmp_path, SPEC, reads_only=True)
        await host.prompt("hello")
    assert noted_at_start == [host.session_id]


async def test_what_an_agent_changed_before_it_crashed_or_was_stopped_is_told(tmp_path: Path) -> None:
    async def crash(agent: FakeAgent, request: acp.PromptRequest) -> None:
        assert agent.end is not None
        await agent.end.close()

    for deed in (crash, stop_when_told):
        async with world(deed, tmp_path) as host:
            host.reviews.outside = [OUTSIDE]
            host.session_id = await host.service.start(tmp_path, SPEC, reads_only=True)
            turn = host.prompting()
            if deed is stop_when_told:
                await host.until_state(TurnState.STREAMING)
                host.service.session(host.session_id).stop()
            await asyncio.gather(turn, return_exceptions=True)
            assert OUTSIDE in [event.payload for event in await host.events()]


@pytest.mark.parametrize("in_force", [True, False])
async def test_nothing_is_compared_for_an_agent_that_a_sandbox_keeps_out(
    tmp_path: Path, in_force: bool
) -> None:
    async with world(answer, tmp_path, confined=lambda *_: True) as host:
        host.agents.sandbox = SandboxStatus(level="workspace" if in_force else "none")
        host.session_id = await host.service.start(tmp_path, SPEC, reads_only=True)
        await host.prompt("hello")
    assert (host.session_id in host.reviews.noted) is not in_force


@pytest.mark.parametrize("in_force", [True, False])
async def test_the_repository_is_compared_around_a_confined_turn_in_a_worktree(
    tmp_path: Path, in_force: bool
) -> None:
    async with world(answer, tmp_path, confined=lambda *_: True) as host:
        host.agents.sandbox = SandboxStatus(level="workspace" if in_force else "none")
        host.reviews.outside = [OUTSIDE]
        host.session_id = await host.service.start(tmp_path, SPEC, mode="worktree")
        await host.prompt("hello")
        assert [event.payload for event in await host.events()].count(OUTSIDE) == 1
    assert host.reviews.git_noted == [host.session_id]
    assert (host.session_id in host.reviews.noted) is not in_force, "All files are, if no sandbox came of it."


async def test_what_a_stopped_turn_changed_is_shown_too(tmp_path: Path) -> None:
    async with world(stop_when_told, tmp_path) as host:
        (await reviewed(host)).after = [PROPOSED]
        turn = host.prompting()
        await host.until_state(TurnState.STREAMING)
        host.service.session(host.session_id).stop()
        await turn
        assert PROPOSED in [event.payload for event in await host.events()]


async def test_an_agent_does_not_hear_a_prompt_that_was_stopped_while_the_way_back_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping, kept = asyncio.Event(), asyncio.Event()

    async def begin_turn(label: str) -> Sequence[AnyPayload]:
        keeping.set()
        await kept.wait()
        return ()

    async with world(answer, tmp_path) as host, asyncio.timeout(10):
        monkeypatch.setattr(await reviewed(host), "begin_turn", begin_turn)
        turn = host.prompting()
        await keeping.wait()
        host.service.session(host.session_id).stop()
        await host.agent.canceled.wait()
        kept.set()
        await turn
        (ended,) = [one.payload for one in await host.events() if isinstance(one.payload, TurnEnded)]
    assert (ended.stop_reason, host.agent.prompts) == ("cancelled", [])


@pytest.mark.parametrize("mode", ["proposal", "worktree"])
async def test_sessions_with_a_tree_of_their_own_work_side_by_side(tmp_path: Path, mode: ReviewMode) -> None:
    async with world(stop_when_told, tmp_path) as host:
        await host.start()
        writing = host.prompting()
        await host.until_state(TurnState.STREAMING)
        host.session_id = await host.service.start(tmp_path, SPEC, mode=mode)
        host.agent.talking_in = "a2"
        beside = host.prompting()
        await host.until_state(TurnState.STREAMING)
        host.service.session(host.session_id).stop()
        await beside
        assert not writing.done()
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)


async def test_the_agent_is_told_where_it_works_and_for_what(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    async with world(answer, tmp_path) as host:
        host.reviews.folders = {"proposal": scratch}
        host.session_id = await host.service.start(tmp_path, SPEC, mode="proposal")
        await host.prompt()
    (opened,) = host.agent.openings
    assert opened.cwd == str(scratch)
    assert opened.meta == {
        "portico": {"session": host.session_id, "workspace": str(tmp_path), "mode": "proposal"}
    }


async def test_the_mode_can_be_changed_between_turns_and_is_remembered(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        await host.start()
        await host.prompt()
        await host.service.session(host.session_id).set_mode("worktree")
        assert (await host.service.show(host.session_id)).mode == "worktree"
        last = (await host.events())[-1].payload
        assert isinstance(last, SessionStarted)
        assert (last.mode, last.continued) == ("worktree", True)
        await host.prompt("again")
        assert len(host.agent.prompts) == 2


async def test_the_mode_stays_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    async with world(stop_when_told, tmp_path) as host:
        await host.start()
        turn = host.prompting()
        await host.until_state(TurnState.STREAMING)
        with pytest.raises(SessionBusy):
            await host.service.session(host.session_id).set_mode("proposal")
        host.service.session(host.session_id).stop()
        await turn


async def test_what_a_person_does_is_written_down_also_for_a_session_that_is_not_open(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        await host.prompt()
        await host.service.release(host.session_id)
        await host.service.record(host.session_id, PROPOSED)
        assert (await host.events())[-1].payload == PROPOSED
        assert await host.store.verify() == []


async def test_what_was_kept_for_a_session_goes_with_it(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        await host.start()
        await host.service.delete(host.session_id)
        assert host.reviews.forgotten == [host.session_id]


async def test_a_session_that_still_proposes_is_deleted_only_when_that_is_said(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        await host.prompt()
        host.reviews.at_stake = InvalidInput("Two files would be lost.")
        with pytest.raises(InvalidInput, match="Two files would be lost"):
            await host.service.delete(host.session_id)
        assert host.reviews.forgotten == []
        await host.prompt("The session is as it was.")
        await host.service.delete(host.session_id, discard_proposals=True)
        assert host.reviews.forgotten == [host.session_id]


async def test_a_mode_that_is_refused_leaves_no_word_of_it_in_the_log(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        await host.prompt()
        before = await host.events()
        host.reviews.refusal = InvalidInput("The session still proposes something.")
        with pytest.raises(InvalidInput, match="still proposes"):
            await host.service.session(host.session_id).set_mode("worktree")
        assert await host.events() == before
        assert (await host.service.show(host.session_id)).mode == "direct"
        await host.prompt("go on")
        assert len(host.agent.prompts) == 2


async def test_a_prompt_to_a_reader_needs_no_way_back(tmp_path: Path) -> None:
    async with world(answer, tmp_path) as host:
        host.session_id = await host.service.start(tmp_path, SPEC, reads_only=True)
        await host.service.session(host.session_id).prompt(TurnPrompt(text="look"))
        assert host.reviews.opened == {}
