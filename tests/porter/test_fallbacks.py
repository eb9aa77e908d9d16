"""Clients without files or terminals: Porter uses the disk and processes itself, within bounds."""

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from tests.porter.client import connected, lives, reject


async def test_files_are_read_and_written_on_disk(state: Path, folder: Path) -> None:
    script = folder / "run.sh"
    script.write_text("echo one\n")
    script.chmod(0o750)
    async with connected(state, files=False) as client:
        session = await client.open(folder)
        await client.prompt(session, "/read run.sh")
        assert "```bash\necho one\n```" in client.text
        await client.prompt(session, "/edit run.sh s/one/two/")
        await client.prompt(session, "/write new/folder/a.txt\nhello")
    assert script.read_text() == "echo two\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o750
    assert (folder / "new" / "folder" / "a.txt").read_text() == "hello\n"
    assert await asyncio.to_thread(lambda: {path.name for path in folder.iterdir()}) == {"new", "run.sh"}


@pytest.mark.parametrize("prompt", ["/read {}", "/write {}\nnew", "/edit {} s/s/t/"])
@pytest.mark.parametrize("name", ["../secret.txt", "link.txt", "folder-link/secret.txt", "{outside}"])
async def test_nothing_outside_the_session_is_touched(
    state: Path, folder: Path, tmp_path: Path, prompt: str, name: str
) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (folder / "link.txt").symlink_to(outside)
    (folder / "folder-link").symlink_to(tmp_path)
    async with connected(state, files=False) as client:
        session = await client.open(folder)
        await client.prompt(session, prompt.format(name.format(outside=outside)))
        assert "is outside the folders of this session" in client.text
        assert client.questions == []
    assert outside.read_text() == "secret"


async def test_further_folders_of_the_session_are_inside(state: Path, folder: Path, tmp_path: Path) -> None:
    further = tmp_path / "further"
    further.mkdir()
    async with connected(state, files=False) as client:
        session = await client.open(folder, further)
        await client.prompt(session, f"/write {further / 'a.txt'}\nhello")
    assert (further / "a.txt").read_text() == "hello\n"


async def test_secrets_and_git_are_left_alone(state: Path, folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".env").write_text("TOKEN=x\n")
    (folder / "innocent").symlink_to(folder / ".env")
    async with connected(state, files=False) as client:
        session = await client.open(folder)
        for name in (".env", "innocent"):
            client.forget()
            await client.prompt(session, f"/read {name}")
            assert "may contain secrets" in client.text
        client.forget()
        await client.prompt(session, "/write .git/hooks/pre-commit\nexit 1")
        assert "belongs to git" in client.text
    assert not (folder / ".git" / "hooks").exists()


async def test_pipes_folders_and_binary_files_are_refused(state: Path, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "inner").mkdir()
    (folder / "binary").write_bytes(b"\xff\xfe")
    async with connected(state, files=False) as client:
        session = await client.open(folder)
        for name, why in (("pipe", "not a regular"), ("inner", "not a regular"), ("binary", "not UTF-8")):
            client.forget()
            await client.prompt(session, f"/read {name}")
            assert why in client.text
        client.forget()
        await client.prompt(session, "/write inner\nx")
        assert "not a regular file" in client.text


async def test_a_client_that_can_only_read_has_its_files_written_on_disk(state: Path, folder: Path) -> None:
    async with connected(state) as client:
        await client.end.initialize(
            schema.InitializeRequest(
                protocol_version=1,
                client_capabilities=schema.ClientCapabilities(
                    fs=schema.FileSystemCapabilities(read_text_file=True)
                ),
            )
        )
        session = await client.open(folder)
        await client.prompt(session, "/write a.txt\nhello")
        assert client.written == []
        assert client.read
    assert (folder / "a.txt").read_text() == "hello\n"


async def test_a_command_runs_in_a_process_and_its_output_is_shown(state: Path, folder: Path) -> None:
    async with connected(state, terminals=False) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "/run pwd; echo wrong >&2; exit 2") == "end_turn"
        assert client.shown(client.calls[0]) == f"{folder}\nwrong"
        assert client.statuses(client.calls[0]) == ["pending", "in_progress", "failed"]
        assert client.text.endswith("ended with exit code 2.")


async def test_output_is_shown_while_the_command_runs(state: Path, folder: Path) -> None:
    os.mkfifo(folder / "gate")
    async with connected(state, terminals=False) as client:
        session = await client.open(folder)
        async with client.turn(session, "/run echo before; cat gate; echo after") as turn:
            await client.until(lambda: bool(client.calls) and client.shown(client.calls[0]) == "before")
            assert "in_progress" in client.statuses(client.calls[0])
            (folder / "gate").write_text("")
            assert await turn == "end_turn"
        assert client.shown(client.calls[0]) == "before\nafter"


async def test_a_flood_of_output_is_shown_by_its_end_in_few_updates(state: Path, folder: Path) -> None:
    async with connected(state, terminals=False) as client:
        session = await client.open(folder)
        await client.prompt(session, "/run seq 1 200000")
        shown = client.shown(client.calls[0])
        assert shown.endswith("\n199999\n200000")
        assert len(shown) < 10_000
        assert len(client.updates(schema.ToolCallProgress)) < 100


async def test_a_refused_command_starts_no_process(state: Path, folder: Path) -> None:
    async with connected(state, terminals=False) as client:
        client.answer = reject
        session = await client.open(folder)
        await client.prompt(session, "/run touch made")
        assert client.text == "`touch made` was not run."
    assert not (folder / "made").exists()


async def test_a_stopped_process_dies_with_all_it_started(state: Path, folder: Path) -> None:
    async with connected(state, terminals=False) as client:
        session = await client.open(folder)
        async with client.turn(session, "/run sleep 1000 & echo $$ $!; wait") as turn:
            await client.until(lambda: bool(client.calls) and client.shown(client.calls[0]) != "")
            processes = [int(pid) for pid in client.shown(client.calls[0]).split()]
            assert list(map(lives, processes)) == [True, True]
            client.end.cancel(session)
            assert await turn == "cancelled"
        assert not any(map(lives, processes))
        assert client.statuses(client.calls[0])[-1] == "failed"


async def test_a_background_process_does_not_keep_the_turn(state: Path, folder: Path) -> None:
    async with connected(state, terminals=False) as client:
        session = await client.open(folder)
        assert await client.prompt(session, "/run sleep 1000 & echo $!") == "end_turn"
        assert not lives(int(client.shown(client.calls[0])))


async def test_a_folder_that_went_away_is_an_answer_not_a_failure(state: Path, folder: Path) -> None:
    async with connected(state, terminals=False, files=False) as client:
        session = await client.open(folder)
        shutil.rmtree(folder)
        for prompt in ("/run true", "/search x", "/explain x", "/read x", "/test", "/fix", "hello"):
            client.forget()
            assert await client.prompt(session, prompt) == "end_turn"
            assert client.text


async def test_a_client_that_cannot_be_asked_is_a_refusal(state: Path, folder: Path) -> None:
    async with connected(state, files=False, terminals=False) as client:
        session = await client.open(folder)
        client.end._serve = {}
        await client.prompt(session, "/run touch made")
        assert "Permission could not be requested" in client.text
    assert not (folder / "made").exists()
