"""Agents that run commands and write files through the host without telling of it."""

from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.events import AnyPayload, ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.values import DiffPart, TerminalOutput, TerminalPart
from portico.sessions.content.tool_calls import TurnToolCalls
from portico.testing.clock import ManualClock
from tests.support.program import Portico

INPUT = Raw(b'{"command":"make"}')


def ledger() -> TurnToolCalls:
    return TurnToolCalls(ManualClock())


def ended(code: int = 0) -> TerminalOutput:
    return TerminalOutput(terminal_id="t", ended=True, exit_code=code)


def kinds(payloads: list[AnyPayload]) -> list[str]:
    return [payload.kind for payload in payloads]


class TestCommands:
    async def test_one_that_no_tool_call_names_is_a_card_with_its_words_and_its_end(self) -> None:
        tools = ledger()
        (started,) = tools.ran("t", "make", INPUT)
        assert isinstance(started, ToolStarted)
        assert (started.title, started.tool_kind, started.input) == ("make", "execute", INPUT)
        assert started.content == (TerminalPart(terminal_id="t"),)
        assert list(tools.settled("t")) == []
        printed = [*tools.hear(TerminalOutput(terminal_id="t", text="x")), *tools.hear(ended(2))]
        assert {one.tool_id for one in printed} == {started.tool_id}
        (completed,) = tools.settled("t")
        assert (completed.tool_id, completed.success) == (started.tool_id, False)
        assert [*tools.settled("t"), *tools.leftovers()] == []

    async def test_one_that_nobody_waits_for_ends_with_the_turn(self) -> None:
        tools = ledger()
        list(tools.ran("t", "make", INPUT))
        list(tools.hear(ended()))
        (completed,) = tools.leftovers()
        assert isinstance(completed, ToolCompleted)
        assert completed.success

    async def test_one_that_an_open_tool_call_names_is_shown_there_only(self) -> None:
        for told in ({"command": "make"}, {"command": ["sh", "-c", "make"]}, {"deep": {"cmd": "make"}}):
            tools = ledger()
            list(tools.take(acp.ToolCall(tool_call_id="c", title="Build it", raw_input=told)))
            assert list(tools.ran("t", "make", INPUT)) == []
            (shown,) = tools.hear(TerminalOutput(terminal_id="t", text="x"))
            assert shown.tool_id == "c"

    async def test_the_only_open_call_that_runs_something_gets_its_words(self) -> None:
        tools = ledger()
        list(tools.take(acp.ToolCall(tool_call_id="c", title="List files", kind="execute")))
        (words,) = tools.ran("t", "rm -r src", INPUT)
        assert isinstance(words, ToolUpdated)
        assert (words.tool_id, words.terminal and words.terminal.text) == ("c", "$ rm -r src\n")
        (second,) = tools.ran("u", "rm -r docs", INPUT)
        assert isinstance(second, ToolStarted)

    async def test_a_tool_call_that_is_told_of_later_takes_up_the_card(self) -> None:
        for told in (
            acp.ToolCall(tool_call_id="c", title="Build", content=[acp.Terminal(terminal_id="t")]),
            acp.ToolCall(tool_call_id="c", title="make"),
        ):
            tools = ledger()
            list(tools.ran("t", "make", INPUT))
            list(tools.hear(ended()))
            (updated,) = tools.take(told)
            assert isinstance(updated, ToolUpdated)
            assert updated.tool_id == "t"
            assert list(tools.settled("t")) == []
            done = list(tools.take(acp.ToolCallProgress(tool_call_id="c", status="completed")))
            assert kinds(done) == ["tool_completed"]
            assert list(tools.leftovers()) == []
            assert tools.count == 1

    async def test_another_command_does_not_go_to_a_card_that_was_taken_up(self) -> None:
        tools = ledger()
        list(tools.ran("t", "make", INPUT))
        list(tools.take(acp.ToolCall(tool_call_id="c", title="make")))
        (other,) = tools.take(acp.ToolCall(tool_call_id="d", title="make"))
        assert isinstance(other, ToolStarted)
        assert other.tool_id == "d"


def test_every_unasked_command_and_write_is_in_the_stream(portico: Portico) -> None:
    (portico.workspace / "a.txt").write_text("old\n")
    create = {"sessionId": "$session", "command": "echo", "args": ["hello"]}
    steps = [
        {"request": {"method": "terminal/create", "params": create}},
        {"write": {"path": "a.txt", "content": "new\n"}},
        {"write": {"path": "b.txt", "content": "fresh\n"}},
    ]
    stream = portico.exec(steps, "--allow", "all").stream
    command, *writes = stream.all("tool_started")
    assert (command["title"], command["toolKind"]) == ("echo hello", "execute")
    assert command["input"] == {"command": "echo", "args": ["hello"]}
    assert [one["title"] for one in writes] == [
        f"Write {portico.workspace / name}" for name in ("a.txt", "b.txt")
    ]
    diffs = [one["content"][0] for one in writes]
    assert [(one.get("oldText"), one["newText"]) for one in diffs] == [("old\n", "new\n"), (None, "fresh\n")]
    completed = {one["toolId"] for one in stream.all("tool_completed")}
    assert completed >= {one["toolId"] for one in writes}


def test_a_write_that_a_tool_call_names_has_no_second_card(portico: Portico) -> None:
    call = {"id": "c1", "title": "Edit", "kind": "edit", "statuses": ["in_progress"]}
    named = {**call, "locations": [{"path": str(portico.workspace / "a.txt")}]}
    steps = [{"tool": named}, {"write": {"path": "a.txt", "content": "x"}}]
    stream = portico.exec(steps, "--allow", "all").stream
    assert [one["toolId"] for one in stream.all("tool_started")] == ["c1"]


def test_a_command_that_the_agent_shows_itself_has_no_second_card(portico: Portico) -> None:
    stream = portico.exec([{"run": {"command": "echo", "args": ["hello"]}}], "--allow", "all").stream
    assert [one["title"] for one in stream.all("tool_started")] == ["echo hello"]
    assert len(stream.all("tool_completed")) == 1


async def test_a_long_text_is_not_told_whole() -> None:
    started, _ = ledger().wrote("/w/a.txt", "y", "x" * 300_000)
    assert isinstance(started, ToolStarted)
    assert started.content == (DiffPart(path="/w/a.txt", old_text=None, new_text="(300,000 characters)"),)
