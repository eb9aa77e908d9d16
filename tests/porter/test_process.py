"""`portico agent` as editors start it: a process that speaks on its standard streams."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from portico.acp import _schema as schema
from portico.rpc.streams import PipeStream
from tests.porter.client import DEADLINE, Client, introduced, lives
from tests.support.program import PROGRAM, Portico


class Process:
    """A running Porter and its client."""

    def __init__(self, process: asyncio.subprocess.Process, client: Client) -> None:
        self.process = process
        self.client = client

    async def end(self) -> int:
        async with asyncio.timeout(DEADLINE):
            return await self.process.wait()

    async def start_sleeping(self, session: str) -> tuple[int, "asyncio.Task[schema.StopReason]"]:
        """Run a command that never ends; its process id, and the turn it is in."""
        client = self.client
        turn = asyncio.create_task(client.prompt(session, "/run echo $$; exec sleep 1000"))
        await client.until(lambda: bool(client.calls) and client.shown(client.calls[0]) != "")
        return int(client.shown(client.calls[0])), turn


@asynccontextmanager
async def spawned(portico: Portico, *arguments: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(str(PROGRAM), "agent", *arguments),
        env=portico.environ(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    client = Client(PipeStream(process.stdout, process.stdin), files=False, terminals=False)
    try:
        async with introduced(client):
            yield Process(process, client)
    finally:
        async with asyncio.timeout(DEADLINE):
            await process.wait()


async def test_a_whole_conversation_with_the_real_program(portico: Portico, folder: Path) -> None:
    async with spawned(portico) as porter:
        session = await porter.client.open(folder)
        assert await porter.client.prompt(session, "/run echo hello; echo world >&2") == "end_turn"
        assert porter.client.shown(porter.client.calls[0]) == "hello\nworld"
        told = porter.client.text
    assert await porter.end() == 0
    assert list((portico.state / "porter").glob("*.jsonl"))
    async with spawned(portico) as porter:
        request = schema.LoadSessionRequest(session_id=session, cwd=str(folder), mcp_servers=[])
        await porter.client.end.load_session(request)
        assert porter.client.text == told


async def test_conversations_are_kept_where_the_flag_says(
    portico: Portico, folder: Path, tmp_path: Path
) -> None:
    async with spawned(portico, "--state", str(tmp_path / "elsewhere")) as porter:
        session = await porter.client.open(folder)
    assert (tmp_path / "elsewhere" / "porter" / f"{session}.jsonl").is_file()
    assert not (portico.state / "porter").exists()


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL, None])
async def test_no_command_outlives_porter_however_it_ends(
    portico: Portico, folder: Path, ending: signal.Signals | None
) -> None:
    async with spawned(portico) as porter:
        session = await porter.client.open(folder)
        pid, turn = await porter.start_sleeping(session)
        assert lives(pid)
        if ending is None:
            await porter.client.end.close()
        else:
            porter.process.send_signal(ending)
        assert await porter.end() == {None: 0, signal.SIGTERM: 0, signal.SIGKILL: -9}[ending]
        await asyncio.wait({turn})
        assert turn.exception() is not None
    assert not await asyncio.to_thread(_outlives, pid)
    async with spawned(portico) as porter:
        request = schema.LoadSessionRequest(session_id=session, cwd=str(folder), mcp_servers=[])
        await porter.client.end.load_session(request)
        assert porter.client.statuses(porter.client.calls[0])[-1] == "failed"
        assert await porter.client.prompt(session, "/help") == "end_turn"


def test_help_and_mistakes_are_for_people(portico: Portico) -> None:
    shown = portico.run("agent", "--help")
    assert shown.code == 0
    assert "--state" in shown.text
    wrong = portico.run("agent", "--nonsense")
    assert wrong.code == 5
    assert wrong.text == ""
    assert "--nonsense" in wrong.complaint[0]


def _outlives(pid: int) -> bool:
    """Whether a process is still there after the watcher had time to end it."""
    try:
        process = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return False
    psutil.wait_procs([process], timeout=DEADLINE if lives(pid) else 0)
    return lives(pid)
