"""Tool calls and the terminals they show."""

from portico.acp import _schema as acp
from portico.domain.events import ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.values import TerminalOutput
from portico.sessions.content.tool_calls import MAX_TERMINAL_CHARACTERS, TurnToolCalls
from portico.testing.clock import ManualClock


def shows(terminal_id: str) -> acp.ToolCall:
    return acp.ToolCall(tool_call_id="c1", title="make", content=[acp.Terminal(terminal_id=terminal_id)])


async def test_output_that_comes_before_its_tool_call_is_shown_with_it() -> None:
    ledger = TurnToolCalls(ManualClock())
    assert list(ledger.hear(TerminalOutput(terminal_id="t", text="early"))) == []
    started, shown = ledger.take(shows("t"))
    assert isinstance(started, ToolStarted)
    assert shown == ToolUpdated(tool_id="c1", terminal=TerminalOutput(terminal_id="t", text="early"))


async def test_a_flood_before_its_tool_call_is_shown_with_it_as_far_as_it_is_kept() -> None:
    ledger = TurnToolCalls(ManualClock())
    early = [TerminalOutput(terminal_id="t", text="x" * 300_000) for _ in range(10)]
    assert [update for output in early for update in ledger.hear(output)] == []
    shown = [one for one in ledger.take(shows("t")) if isinstance(one, ToolUpdated)]
    assert {one.tool_id for one in shown} == {"c1"}
    assert sum(len(one.terminal.text) for one in shown if one.terminal) == MAX_TERMINAL_CHARACTERS
    assert list(ledger.leftovers()) == []


async def test_a_command_that_ends_before_its_tool_shows_it_is_shown_by_that_tool() -> None:
    ledger = TurnToolCalls(ManualClock())
    early = list(ledger.hear(TerminalOutput(terminal_id="t", text="quick", ended=True, exit_code=0)))
    claimed = [one for one in ledger.take(shows("t")) if isinstance(one, ToolUpdated)]
    assert early == []
    assert [(one.tool_id, one.terminal and one.terminal.text) for one in claimed] == [("c1", "quick")]
    assert list(ledger.leftovers()) == []


async def test_output_of_a_terminal_that_nothing_shows_is_kept_under_its_own_name() -> None:
    ledger = TurnToolCalls(ManualClock())
    list(ledger.hear(TerminalOutput(terminal_id="t", text="a")))
    list(ledger.hear(TerminalOutput(terminal_id="t", ended=True, exit_code=0)))
    kept = list(ledger.leftovers())
    assert [update.tool_id for update in kept] == ["t", "t"]


async def test_a_command_that_floods_is_cut_and_ends_with_how_much_was_left_out() -> None:
    ledger = TurnToolCalls(ManualClock())
    list(ledger.take(shows("t")))
    flood = [TerminalOutput(terminal_id="t", text="x" * 300_000) for _ in range(10)]
    updates = [update for output in flood for update in ledger.hear(output)]
    updates += ledger.hear(TerminalOutput(terminal_id="t", ended=True, exit_code=0))
    outputs = [update.terminal for update in updates if update.terminal is not None]
    assert sum(len(output.text) for output in outputs) == MAX_TERMINAL_CHARACTERS
    assert outputs[-1].left_out == 3_000_000 - MAX_TERMINAL_CHARACTERS


async def test_a_call_that_starts_finished_is_started_and_completed() -> None:
    ledger = TurnToolCalls(ManualClock())
    started, completed = ledger.take(acp.ToolCall(tool_call_id="c", title="t", status="failed"))
    assert isinstance(started, ToolStarted)
    assert isinstance(completed, ToolCompleted)
    assert not completed.success


async def test_a_question_about_a_known_call_says_what_the_call_is() -> None:
    ledger = TurnToolCalls(ManualClock())
    list(ledger.take(acp.ToolCall(tool_call_id="c", title="rm -r build", kind="execute")))
    whole = ledger.complete(acp.ToolCallUpdate(tool_call_id="c"))
    assert (whole.title, whole.kind) == ("rm -r build", "execute")


async def test_a_tool_that_only_reads_is_told_as_such() -> None:
    ledger = TurnToolCalls(ManualClock())
    [plain] = ledger.take(acp.ToolCall(tool_call_id="c1", title="add"))
    [reads] = ledger.take(acp.ToolCall(tool_call_id="c2", title="look", meta={"portico": {"readOnly": True}}))
    assert isinstance(plain, ToolStarted)
    assert isinstance(reads, ToolStarted)
    assert (plain.read_only, reads.read_only) == (False, True)
