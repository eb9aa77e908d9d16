"""/run runs a command in the client's terminal, once it is allowed."""

import asyncio
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.rpc.messages import ConnectionLost
from tests.porter.client import Client, allow_for_session, connected, reject


async def test_a_command_runs_in_a_terminal_inside_the_tool_call(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, "/run pwd; echo done >&2") == "end_turn"
    [call] = client.calls
    assert (call.kind, call.title) == ("execute", "pwd; echo done >&2")
    assert call.raw_input == {"command": "pwd; echo done >&2", "cwd": str(folder)}
    assert client.statuses(call) == ["pending", "in_progress", "completed"]
    assert client.content(call) == [schema.Terminal(terminal_id="terminal-1")]
    terminal = client.terminals["terminal-1"]
    assert terminal.output.decode() == f"{folder}\ndone\n"
    assert terminal.released
    assert client.text == "`pwd; echo done >&2` ended with exit code 0."


async def test_a_command_that_fails_is_a_failed_call_with_its_exit_code(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, "/run exit 3") == "end_turn"
    assert client.statuses(client.calls[0])[-1] == "failed"
    assert client.text == "`exit 3` ended with exit code 3."


async def test_a_command_that_a_signal_ended_says_which(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/run kill -TERM $$")
    assert client.text == "`kill -TERM $$` ended with signal SIGTERM."


async def test_a_refused_command_does_not_run(client: Client, folder: Path) -> None:
    client.answer = reject
    session = await client.open(folder)
    assert await client.prompt(session, "/run touch made") == "end_turn"
    assert client.text == "`touch made` was not run."
    assert client.terminals == {}
    assert not (folder / "made").exists()
    assert client.statuses(client.calls[0]) == ["pending", "failed"]


async def test_allowing_for_the_session_covers_that_very_command_only(client: Client, folder: Path) -> None:
    client.answer = allow_for_session
    session = await client.open(folder)
    await client.prompt(session, "/run true")
    await client.prompt(session, "/run true")
    assert len(client.questions) == 1
    assert client.questions[0].options[1].name == "Allow “true” for this session"
    await client.prompt(session, "/run true; true")
    assert len(client.questions) == 2


async def test_what_was_allowed_does_not_cover_a_command_that_only_looks_like_it(
    client: Client, folder: Path
) -> None:
    client.answer = allow_for_session
    session = await client.open(folder)
    await client.prompt(session, "/run echo a touch made")
    assert await client.prompt(session, "/run echo a\ntouch made") == "end_turn"
    assert len(client.questions) == 2


async def test_a_stopped_command_is_killed_with_all_it_started(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    async with client.turn(session, "/run sleep 1000 & sleep 1000; echo never") as turn:
        await client.until(lambda: any(isinstance(part, schema.Terminal) for part in _shown(client)))
        client.end.cancel(session)
        assert await turn == "cancelled"
    terminal = client.terminals["terminal-1"]
    assert await terminal.end() == (None, "SIGKILL")
    assert (terminal.killed, terminal.released) == (True, True)
    [call] = client.calls
    assert client.statuses(call)[-1] == "failed"
    assert "Stopped." in str(client.content(call))
    assert client.text == ""


async def test_a_second_stop_does_no_harm(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    async with client.turn(session, "/run sleep 1000") as turn:
        await client.until(lambda: any(isinstance(part, schema.Terminal) for part in _shown(client)))
        client.end.cancel(session)
        client.end.cancel(session)
        assert await turn == "cancelled"
    assert client.terminals["terminal-1"].released
    client.end.cancel(session)
    assert await client.prompt(session, "/help") == "end_turn"


async def test_a_terminal_that_comes_too_late_is_killed_all_the_same(client: Client, folder: Path) -> None:
    """The turn is stopped while the client is still starting the command."""
    session = await client.open(folder)
    client.hold_terminals.clear()
    async with client.turn(session, "/run sleep 1000") as turn:
        await client.until(lambda: bool(client.calls) and "in_progress" in client.statuses(client.calls[0]))
        client.end.cancel(session)
        await client.end.list_sessions(schema.ListSessionsRequest())
        client.end.cancel(session)
        await client.end.list_sessions(schema.ListSessionsRequest())
        client.hold_terminals.set()
        assert await turn == "cancelled"
    terminal = client.terminals["terminal-1"]
    assert await terminal.end() == (None, "SIGKILL")
    assert (terminal.killed, terminal.released) == (True, True)


async def test_a_prompt_request_that_is_cancelled_stops_the_command(client: Client, folder: Path) -> None:
    """Not the turn but the request itself, as JSON-RPC allows."""
    session = await client.open(folder)
    async with client.turn(session, "/run sleep 1000") as turn:
        await client.until(lambda: any(isinstance(part, schema.Terminal) for part in _shown(client)))
        turn.cancel()
        await client.until(lambda: client.statuses(client.calls[0])[-1] == "failed")
    assert await client.terminals["terminal-1"].end() == (None, "SIGKILL")
    assert await client.prompt(session, "/help") == "end_turn"


async def test_the_end_of_the_connection_is_the_end_of_the_turn(state: Path, folder: Path) -> None:
    async with connected(state) as client:
        session = await client.open(folder)
        client.hold_questions.clear()
        prompting = asyncio.ensure_future(client.prompt(session, "/run true"))
        await client.until(lambda: bool(client.questions))
    with pytest.raises(ConnectionLost):
        await prompting


@pytest.mark.parametrize("argument", ["", "  "])
async def test_no_command_is_answered_with_the_usage(client: Client, folder: Path, argument: str) -> None:
    session = await client.open(folder)
    await client.prompt(session, f"/run {argument}")
    assert "Usage: `/run <command>`" in client.text


def _shown(client: Client) -> list[schema.ToolCallContent]:
    return [part for call in client.calls for part in client.content(call)]
