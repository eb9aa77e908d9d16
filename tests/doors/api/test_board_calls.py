"""The calls over all sessions: the board moves a session from working to asking to done, and costs are told."""

from pathlib import Path

from portico.acp import _schema as acp
from portico.api.v1 import agent_pb as pb
from tests.doors.api.test_calls import NOBODY, Calls, asks, calls
from tests.sessions.support import FakeAgent


async def priced(agent: FakeAgent, request: acp.PromptRequest) -> None:
    agent.say("Looking.\n\nFound it in harbour.py.\n")
    agent.update(acp.UsageUpdate(used=10, size=100, cost=acp.Cost(amount=0.25, currency="USD")))


async def card(door: Calls) -> pb.BoardCard:
    """The first card that a watcher of the board gets."""
    stream = door.service.watch_board(pb.WatchBoardRequest(), NOBODY)
    async for response in stream:
        assert response.change is not None
        if response.change.field == "changed":
            await stream.aclose()  # type: ignore[attr-defined]
            return response.change.value
    raise AssertionError("the board ended")


async def test_a_session_that_is_done_has_its_last_line_and_its_cost(tmp_path: Path) -> None:
    async with calls(priced, tmp_path) as door:
        await door.start()
        await door.invoke(text="Where?")
        found = await card(door)
        assert (found.group.name, found.last_line, found.cost) == ("DONE", "Found it in harbour.py.", 0.25)
        assert found.summary is not None
        assert found.summary.session_id == door.session_id


async def test_a_session_that_asks_can_be_answered_from_the_board(tmp_path: Path) -> None:
    async with calls(asks("Delete it"), tmp_path) as door:
        await door.start()
        turn = door.invoke(text="go")
        await door.until(lambda detail: len(detail.permissions) == 1)
        found = await card(door)
        assert found.group.name == "ASKING"
        (request,) = found.permissions
        assert (found.last_line, request.title) == ("Delete it", "Delete it")
        decision = pb.PermissionDecision(request_id=request.request_id, option_id="no")
        await door.submit("permission_decisions", pb.PermissionDecisions(decisions=[decision]))
        await turn
        assert (await card(door)).group.name == "DONE"


async def test_a_session_without_a_prompt_is_not_on_the_board(tmp_path: Path) -> None:
    async with calls(priced, tmp_path) as door:
        await door.start()
        begun = await door.start()
        assert begun.summary is not None
        await door.invoke(text="hello")
        found = await card(door)
        assert found.summary is not None
        assert found.summary.session_id == begun.summary.session_id


async def test_costs_are_told_by_group(tmp_path: Path) -> None:
    async with calls(priced, tmp_path) as door:
        await door.start()
        await door.invoke(text="one")
        await door.host.clock.advance(1)
        await door.start()
        await door.invoke(text="two")
        by_session = await door.service.get_costs(pb.GetCostsRequest(by=pb.CostGrouping.SESSION), NOBODY)
        assert sorted(one.title for one in by_session.totals) == ["one", "two"]
        assert [(one.cost, one.sessions) for one in by_session.whole] == [(0.5, 2)]
        by_day = await door.service.get_costs(pb.GetCostsRequest(), NOBODY)
        assert [one.cost for one in by_day.totals] == [0.5]
