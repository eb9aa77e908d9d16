"""Servers that are missing, crash, hang, refuse, or take all the memory: what is said, and that it goes on."""

import asyncio
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from portico.domain.errors import LanguageServerFailed
from portico.editors.language_servers import supervised_server
from portico.editors.language_servers.programs import has_servers
from portico.editors.language_servers.server import LanguageServer
from portico.editors.language_servers.servers import LanguageServers
from portico.testing.clock import ManualClock
from tests.editors.language_servers.support import Workspace, scripted, workspace, write_settings
from tests.support.waiting import eventually


def starts(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


async def test_a_server_that_is_not_installed_is_named_with_the_command_that_installs_it(
    tmp_path: Path, own_home: Path
) -> None:
    async with workspace(tmp_path / "w", own_home, path="/nowhere") as here:
        here.write("a.py", "x = 1\n")
        with pytest.raises(LanguageServerFailed, match="basedpyright is not installed") as failure:
            await here.ask("symbols", "a.py")
        assert failure.value.suggestion == "Install it with: portico code servers install basedpyright"
        assert not has_servers(here.folder, {"PATH": "/nowhere", "PORTICO_HOME": str(own_home)})
        with pytest.raises(LanguageServerFailed, match="No language server is known for"):
            await here.ask("symbols", here.write("a.unheard-of", "").name)
        with pytest.raises(LanguageServerFailed, match="No language server is installed for the files"):
            await here.ask("symbols", query="x")


async def test_a_server_that_crashes_is_started_again_and_asked_again(tmp_path: Path, own_home: Path) -> None:
    log = tmp_path / "starts"
    options: dict[str, Any] = {
        "crash_on": "textDocument/definition",
        "starts": str(log),
        "says": "out of luck",
    }
    async with workspace(tmp_path / "w", own_home, **scripted(**options)) as here:
        here.write("a.txt", "def one\n")
        with pytest.raises(LanguageServerFailed, match="scripted has ended"):
            await here.ask("definition", "a.txt", column=5)
        assert starts(log) == 2
        assert (await here.ask("symbols", "a.txt")).total == 1


async def test_a_crash_loop_is_slowed_down_and_says_why(tmp_path: Path, own_home: Path) -> None:
    log, clock = tmp_path / "starts", ManualClock()
    options: dict[str, Any] = {"crash_on": "initialize", "starts": str(log), "says": "no licence"}
    async with workspace(tmp_path / "w", own_home, clock=clock, **scripted(**options)) as here:
        here.write("a.txt", "def one\n")
        for _ in range(3):
            with pytest.raises(LanguageServerFailed, match=r"failed to start\. Its last words: no licence"):
                await here.ask("symbols", "a.txt")
        with pytest.raises(
            LanguageServerFailed, match=r"failure 3 in a row\. It is not started again for 1 s"
        ):
            await here.ask("symbols", "a.txt")
        assert starts(log) == 3
        await clock.advance(1.1)
        with pytest.raises(LanguageServerFailed, match="failed to start"):
            await here.ask("symbols", "a.txt")
        with pytest.raises(LanguageServerFailed, match="for 2 s"):
            await here.ask("symbols", "a.txt")
        assert starts(log) == 4


async def test_a_server_that_hangs_at_its_start_is_given_up(tmp_path: Path, own_home: Path) -> None:
    write_settings(own_home, **scripted(silent_on="initialize", says="thinking"))
    environ = {**os.environ, "PORTICO_HOME": str(own_home)}
    servers = LanguageServers(environ, ManualClock(), partial(LanguageServer.start, seconds=0.3))
    here = Workspace(servers, tmp_path / "w")
    here.write("a.txt", "x\n")
    with pytest.raises(LanguageServerFailed, match=r"did not answer within 0\.3 s of its start"):
        await here.ask("symbols", "a.txt")
    await servers.close()


async def test_a_silent_server_costs_a_question_its_time_limit_and_no_more(
    tmp_path: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("portico.editors.language_servers.server.REQUEST_SECONDS", 0.2)
    log = tmp_path / "log"
    monkeypatch.setattr("portico.editors.language_servers.progress.SETTLE_SECONDS", 0.01)
    options: dict[str, Any] = {"silent_on": "textDocument/definition", "log": str(log), "progress": 40}
    async with workspace(tmp_path / "w", own_home, **scripted(**options)) as here:
        here.write("a.txt", "def one\n")
        assert (await here.ask("symbols", "a.txt")).total == 1, "the first answer has more time"
        with pytest.raises(LanguageServerFailed, match=r"within 0\.2 s\. It is still indexing, 40 %\."):
            await here.ask("definition", "a.txt", column=5)
        assert (await here.ask("symbols", "a.txt")).total == 1
        assert "$/cancelRequest" in await methods(log)


async def test_a_server_that_takes_too_much_memory_is_stopped_with_the_setting_to_change(
    tmp_path: Path, own_home: Path
) -> None:
    clock = ManualClock()
    settings = scripted({"memoryMb": 64}, memory_mb=200)
    async with workspace(tmp_path / "w", own_home, clock=clock, **settings) as here:
        here.write("a.txt", "def one\n")
        await here.ask("symbols", "a.txt")
        (server,) = here.servers._servers.values()

        async def running() -> bool:
            await clock.advance(supervised_server.CHECK_SECONDS)
            return server.running

        await eventually(running, lambda still: not still)
        with pytest.raises(LanguageServerFailed, match=r"more than its limit of 64 MB.*scripted\.memoryMb"):
            await here.ask("symbols", "a.txt")


async def test_a_server_that_nobody_asks_is_ended_and_starts_again_when_needed(
    tmp_path: Path, own_home: Path
) -> None:
    clock, log = ManualClock(), tmp_path / "log"
    async with workspace(tmp_path / "w", own_home, clock=clock, **scripted(log=str(log))) as here:
        here.write("a.txt", "BAD\n")
        assert len(await here.problems("a.txt")) == 1
        (server,) = here.servers._servers.values()
        assert server.running

        async def running() -> bool:
            await clock.advance(supervised_server.IDLE_SECONDS / 2)
            return server.running

        await eventually(running, lambda still: not still)
        await eventually(partial(methods, log), lambda told: told[-2:] == ["shutdown", "exit"])
        assert len(await here.problems("a.txt")) == 1


async def test_what_a_server_does_not_offer_is_said(tmp_path: Path, own_home: Path) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted(without=["definitionProvider"])) as here:
        here.write("a.txt", "def one\n")
        with pytest.raises(LanguageServerFailed, match="scripted does not offer definition"):
            await here.ask("definition", "a.txt", column=5)


async def test_what_a_server_registers_later_counts_as_offered(tmp_path: Path, own_home: Path) -> None:
    options: dict[str, Any] = {"without": ["definitionProvider"], "register": ["textDocument/definition"]}
    async with workspace(tmp_path / "w", own_home, **scripted(**options)) as here:
        here.write("a.txt", "def one\n")
        await here.ask("symbols", "a.txt")
        assert len((await here.ask("definition", "a.txt", column=5)).places) == 1


async def test_a_server_gets_its_configuration_and_its_folders(tmp_path: Path, own_home: Path) -> None:
    log = tmp_path / "log"
    settings = scripted({"settings": {"words": {"level": 3}}}, ask=True, log=str(log))
    async with workspace(tmp_path / "w", own_home, **settings) as here:
        here.write("a.txt", "def one\n")
        await here.ask("symbols", "a.txt")

        async def answered() -> dict[str, Any]:
            return {one["id"]: one for one in received(log) if "method" not in one}

        answers = await eventually(answered, lambda found: len(found) == 3)
        assert answers["configuration"]["result"] == [3, None]
        assert answers["folders"]["result"] == [{"uri": f"file://{here.folder}", "name": "w"}]
        assert answers["odd"]["error"]["code"] == -32601
        hello = received(log)[0]["params"]
        assert hello["processId"] == os.getpid()


async def test_a_server_that_prints_to_its_output_is_understood(tmp_path: Path, own_home: Path) -> None:
    async with workspace(tmp_path / "w", own_home, **scripted(noise="Welcome!\n")) as here:
        here.write("a.txt", "def one\n")
        assert (await here.ask("symbols", "a.txt")).total == 1


async def test_a_cancelled_question_is_cancelled_at_the_server(tmp_path: Path, own_home: Path) -> None:
    log = tmp_path / "log"
    options: dict[str, Any] = {"silent_on": "textDocument/definition", "log": str(log)}
    async with workspace(tmp_path / "w", own_home, **scripted(**options)) as here:
        here.write("a.txt", "def one\n")
        await here.ask("symbols", "a.txt")
        asking = asyncio.create_task(here.ask("definition", "a.txt", column=5))
        await eventually(partial(methods, log), lambda told: "textDocument/definition" in told)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await eventually(partial(methods, log), lambda told: told[-1] == "$/cancelRequest")


async def methods(log: Path) -> list[Any]:
    return [message.get("method") for message in received(log)]


def received(log: Path) -> list[dict[str, Any]]:
    """Messages that a scripted server has received."""
    return [json.loads(line) for line in log.read_bytes().splitlines()]
