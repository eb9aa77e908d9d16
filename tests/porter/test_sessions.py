"""Sessions as a client opens, lists, loads and closes them, also after Porter was restarted or killed."""

import asyncio
import os
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.porter.session_methods import PAGE
from portico.porter.transcript import SessionHeader, TranscriptStore, iso_time
from portico.rpc.messages import INVALID_PARAMS, INVALID_REQUEST, RpcError
from tests.porter.client import Client, connected

NOT_FOUND = -32002


async def load(client: Client, session_id: str, folder: Path) -> None:
    await client.end.load_session(
        schema.LoadSessionRequest(session_id=session_id, cwd=str(folder), mcp_servers=[])
    )


async def listed(client: Client, cwd: Path | None = None) -> list[schema.SessionInfo]:
    request = schema.ListSessionsRequest(cwd=None if cwd is None else str(cwd))
    return (await client.end.list_sessions(request)).sessions


def transcript_of(state: Path, session_id: str) -> Path:
    return state / "porter" / f"{session_id}.jsonl"


@pytest.mark.parametrize("asked", [0, 1, 2, 65535])
async def test_porter_answers_initialize_with_the_one_version_it_knows(client: Client, asked: int) -> None:
    answer = await client.end.initialize(schema.InitializeRequest(protocol_version=asked))
    assert answer.protocol_version == 1
    assert answer.agent_info is not None
    assert answer.agent_info.name == "porter"
    capabilities = answer.agent_capabilities
    assert capabilities.load_session
    assert capabilities.prompt_capabilities == schema.PromptCapabilities(image=True, embedded_context=True)
    sessions = capabilities.session_capabilities
    assert None not in (sessions.list, sessions.resume, sessions.close, sessions.delete)


async def test_a_new_session_announces_every_command_with_its_purpose_and_hint(
    client: Client, folder: Path
) -> None:
    await client.open(folder)
    await client.until(lambda: bool(client.heard))
    [update] = client.updates(schema.AvailableCommandsUpdate)
    commands = {command.name: command for command in update.available_commands}
    assert " ".join(commands) == "help search read explain changes write edit fix test run todo plan"
    assert all(command.description for command in commands.values())
    assert commands["search"].input.hint == "<text or /regex/> [path]"


async def test_a_relative_folder_is_refused_as_bad_parameters(client: Client, folder: Path) -> None:
    with pytest.raises(RpcError, match="absolute path") as caught:
        await client.open(Path("some/where"))
    assert caught.value.code == INVALID_PARAMS
    with pytest.raises(RpcError, match="additionalDirectories") as caught:
        await client.open(folder, Path("else/where"))
    assert caught.value.code == INVALID_PARAMS


async def test_a_folder_that_is_not_there_is_refused_as_bad_parameters(client: Client, folder: Path) -> None:
    with pytest.raises(RpcError, match="not an existing folder") as caught:
        await client.open(folder / "missing")
    assert caught.value.code == INVALID_PARAMS


@pytest.mark.parametrize("session_id", ["nonsense", "../../etc/passwd", "0" * 20, ""])
async def test_an_unknown_session_is_not_found_by_any_request(
    client: Client, folder: Path, session_id: str
) -> None:
    resume = schema.ResumeSessionRequest(session_id=session_id, cwd=str(folder))
    attempts = (
        client.prompt(session_id, "/help"),
        load(client, session_id, folder),
        client.end.resume_session(resume),
        client.end.close_session(schema.CloseSessionRequest(session_id=session_id)),
    )
    for attempt in attempts:
        with pytest.raises(RpcError) as caught:
            await attempt
        assert caught.value.code == NOT_FOUND


async def test_a_session_gets_its_title_from_the_first_prompt(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/todo add buy\nmilk")
    await client.prompt(session, "/help")
    titles = [update.title for update in client.updates(schema.SessionInfoUpdate)]
    assert titles == ["/todo add buy"]
    assert [info.title for info in await listed(client)] == ["/todo add buy"]


async def test_sessions_are_listed_newest_first_and_by_folder(client: Client, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    first, second, third = await client.open(one), await client.open(other), await client.open(one)
    for age, session in enumerate((second, third, first)):
        path = transcript_of(tmp_path / "state", session)
        os.utime(path, ns=(0, (100 - age) * 10**9))
    assert [info.session_id for info in await listed(client)] == [second, third, first]
    assert [info.session_id for info in await listed(client, one)] == [third, first]
    assert await listed(client, tmp_path) == []
    assert (await listed(client))[0].updated_at == "1970-01-01T00:01:40.000Z"


async def test_a_long_list_comes_in_pages_that_miss_and_repeat_nothing(client: Client, state: Path) -> None:
    transcripts = TranscriptStore(state)
    wanted = []
    for number in range(2 * PAGE + 3):
        session_id = f"{number:020d}"
        transcripts.create(SessionHeader(session_id=session_id, cwd="/some/where", created=iso_time(0)))
        # Several share one time, so that the order within it counts too.
        os.utime(transcript_of(state, session_id), ns=(0, number // 4))
        wanted.append(session_id)
    seen: list[str] = []
    cursor: str | None = None
    pages = 0
    while pages == 0 or cursor is not None:
        page = await client.end.list_sessions(schema.ListSessionsRequest(cursor=cursor))
        seen += [info.session_id for info in page.sessions]
        cursor = page.next_cursor
        pages += 1
    assert seen == wanted[::-1]
    assert pages == 3
    with pytest.raises(RpcError, match="invalid cursor") as caught:
        await client.end.list_sessions(schema.ListSessionsRequest(cursor="nonsense"))
    assert caught.value.code == INVALID_PARAMS


async def test_a_conversation_is_told_again_by_another_process(state: Path, folder: Path) -> None:
    (folder / "a.py").write_text("print(1)\n")
    async with connected(state) as before:
        session = await before.open(folder)
        await before.prompt(session, "/read a.py")
        await before.prompt(session, "/run echo from the terminal")
        await before.prompt(session, "/todo add remember me")
        told = before.text
    async with connected(state) as after:
        await load(after, session, folder)
        prompts = [chunk.content.text for chunk in after.updates(schema.UserMessageChunk)]
        assert prompts == ["/read a.py", "/run echo from the terminal", "/todo add remember me"]
        assert after.text == told
        assert [after.statuses(call)[-1] for call in after.calls] == ["completed", "completed"]
        [output] = after.content(after.calls[1])
        assert isinstance(output, schema.Content)
        assert "from the terminal" in output.content.text  # type: ignore[union-attr]
        assert after.updates(schema.AvailableCommandsUpdate)
        after.forget()
        await after.prompt(session, "/todo")
        assert "remember me" in after.text


async def test_resuming_goes_on_without_telling_anything_again(state: Path, folder: Path) -> None:
    async with connected(state) as before:
        session = await before.open(folder)
        await before.prompt(session, "/plan one; two")
    async with connected(state) as after:
        with pytest.raises(RpcError, match="load or resume it first"):
            await after.prompt(session, "/plan")
        await after.end.resume_session(schema.ResumeSessionRequest(session_id=session, cwd=str(folder)))
        assert [type(update) for _, update in after.heard] == [schema.AvailableCommandsUpdate]
        await after.prompt(session, "/plan done 1")
        assert "1 of 2 done" in after.text
        assert after.updates(schema.SessionInfoUpdate) == []


async def test_tool_call_ids_do_not_repeat_after_a_restart(state: Path, folder: Path) -> None:
    async with connected(state) as before:
        session = await before.open(folder)
        await before.prompt(session, "/search one")
    async with connected(state) as after:
        await load(after, session, folder)
        await after.prompt(session, "/search two")
        ids = [call.tool_call_id for call in after.calls]
    assert len(ids) == 2
    assert len(set(ids)) == 2


async def test_a_line_torn_by_a_kill_loses_only_itself(state: Path, folder: Path) -> None:
    async with connected(state) as before:
        session = await before.open(folder)
        await before.prompt(session, "/todo add first")
    path = transcript_of(state, session)
    with path.open("ab") as file:
        file.write(b'{"type":"listed","todos":[{"text":"torn')
    async with connected(state) as middle:
        await load(middle, session, folder)
        await middle.prompt(session, "/todo add second")
    async with connected(state) as after:
        await load(after, session, folder)
        prompts = [chunk.content.text for chunk in after.updates(schema.UserMessageChunk)]
        assert prompts == ["/todo add first", "/todo add second"]
        after.forget()
        await after.prompt(session, "/todo")
        assert "1. [ ] first\n2. [ ] second" in after.text
        assert [info.session_id for info in await listed(after)] == [session]


async def test_work_that_a_kill_interrupted_is_shown_as_failed(state: Path, folder: Path) -> None:
    async with connected(state) as before:
        session = await before.open(folder)
        before.hold_questions.clear()
        asking = asyncio.create_task(before.prompt(session, "/run true"))
        await before.until(lambda: bool(before.questions))
        killed_here = transcript_of(state, session).read_bytes()
        before.hold_questions.set()
        await asking
    transcript_of(state, session).write_bytes(killed_here)
    async with connected(state) as after:
        await load(after, session, folder)
        [call] = after.calls
        assert after.statuses(call) == ["pending", "failed"]


async def test_a_file_that_is_no_transcript_is_no_session(client: Client, state: Path, folder: Path) -> None:
    await client.open(folder)
    odd = "z" * 20
    transcript_of(state, odd).write_bytes(b"not json\n\xff\xfe\n")
    assert len(await listed(client)) == 1
    with pytest.raises(RpcError) as caught:
        await load(client, odd, folder)
    assert caught.value.code == NOT_FOUND


async def test_a_closed_session_can_be_loaded_again(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.end.close_session(schema.CloseSessionRequest(session_id=session))
    with pytest.raises(RpcError, match="load or resume"):
        await client.prompt(session, "/help")
    await load(client, session, folder)
    assert await client.prompt(session, "/help") == "end_turn"


async def test_closing_a_session_ends_its_turn(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    turn = asyncio.create_task(client.prompt(session, "/run sleep 100 & wait"))
    await client.until(lambda: bool(client.terminals))
    await client.end.close_session(schema.CloseSessionRequest(session_id=session))
    assert await turn == "cancelled"
    assert (await client.terminals["terminal-1"].end())[1] == "SIGKILL"


async def test_a_deleted_session_is_gone_for_good_even_while_its_turn_runs(
    client: Client, state: Path, folder: Path
) -> None:
    session = await client.open(folder)
    client.hold_questions.clear()
    turn = asyncio.create_task(client.prompt(session, "/run true"))
    await client.until(lambda: bool(client.questions))
    await client.end.call(
        "session/delete", schema.DeleteSessionRequest(session_id=session), schema.DeleteSessionResponse
    )
    assert await turn == "cancelled"
    assert await listed(client) == []
    assert not transcript_of(state, session).exists()


async def test_a_second_prompt_is_refused_while_a_turn_runs(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    client.hold_questions.clear()
    turn = asyncio.create_task(client.prompt(session, "/run true"))
    await client.until(lambda: bool(client.questions))
    with pytest.raises(RpcError, match="a turn is running") as caught:
        await client.prompt(session, "/help")
    assert caught.value.code == INVALID_REQUEST
    client.hold_questions.set()
    assert await turn == "end_turn"
    assert await client.prompt(session, "/help") == "end_turn"


async def test_a_transcript_that_cannot_be_written_fails_the_turn_loudly(state: Path, folder: Path) -> None:
    async with connected(state) as client:
        session = await client.open(folder)
        transcript_of(state, session).rename(state / "elsewhere")
        transcript_of(state, session).mkdir()
        with pytest.raises(RpcError, match="cannot write its transcript"):
            await client.prompt(session, "/todo add lost")
        transcript_of(state, session).rmdir()
        (state / "elsewhere").rename(transcript_of(state, session))
        assert await client.prompt(session, "/todo add kept") == "end_turn"
        assert "1. [ ] kept" in client.text


async def test_a_state_folder_that_cannot_be_made_fails_the_new_session(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    async with connected(tmp_path / "file") as client:
        with pytest.raises(RpcError, match="cannot create its folder"):
            await client.open(folder)


async def test_transcripts_are_for_the_owners_eyes_only(client: Client, state: Path, folder: Path) -> None:
    session = await client.open(folder)
    assert (state / "porter").stat().st_mode & 0o777 == 0o700
    assert transcript_of(state, session).stat().st_mode & 0o777 == 0o600
