"""Commands of an agent in local terminals, as the agent and observers see them."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from portico.domain.errors import InvalidInput, PermissionDenied
from portico.domain.values import TerminalOutput
from portico.editors.local import LocalEditorProvider
from portico.sessions.ports import EditorProvider, EditorTerminals, TerminalRequest
from tests.rpc.process_tree import marked, members, new_mark, script, survivors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for a POSIX shell")

DEADLINE = 20


class Watcher:
    """Hears a terminal, and lets a test wait for what it says."""

    def __init__(self) -> None:
        self.heard: list[TerminalOutput] = []
        self._changed = asyncio.Event()

    def __call__(self, output: TerminalOutput) -> None:
        self.heard.append(output)
        self._changed.set()

    @property
    def text(self) -> str:
        return "".join(output.text for output in self.heard)

    async def until(self, text: str) -> None:
        async with asyncio.timeout(DEADLINE):
            while text not in self.text:
                self._changed.clear()
                await self._changed.wait()


@pytest.fixture
def mark() -> str:
    return new_mark()


@pytest.fixture
async def terminals(tmp_path: Path, mark: str) -> AsyncIterator[EditorTerminals]:
    environ = marked({**os.environ, "PORTICO_TOKEN": "secret", "KEPT": "yes"}, mark)
    editors: EditorProvider = LocalEditorProvider(environ)
    opened = editors.open(tmp_path).terminals
    assert opened is not None
    async with asyncio.timeout(3 * DEADLINE):
        yield opened
    await opened.close()
    assert await asyncio.to_thread(survivors, mark) == []


def shell(command: str, *, output_byte_limit: int | None = None) -> TerminalRequest:
    return TerminalRequest(command="sh", args=("-c", command), output_byte_limit=output_byte_limit)


async def run(terminals: EditorTerminals, request: TerminalRequest) -> str:
    return (await terminals.wait(await terminals.create(request, Watcher()))).output


async def test_output_is_heard_as_it_comes_and_then_the_end(terminals: EditorTerminals) -> None:
    watcher = Watcher()
    terminal = await terminals.create(shell("echo one; echo two >&2; exit 3"), watcher)
    ended = await terminals.wait(terminal)
    assert (ended.output, ended.ended, ended.exit_code, ended.signal) == ("one\ntwo\n", True, 3, None)
    assert not ended.truncated
    assert watcher.text == "one\ntwo\n"
    assert [output.ended for output in watcher.heard].count(True) == 1
    last = watcher.heard[-1]
    assert (last.terminal_id, last.ended, last.exit_code) == (terminal, True, 3)
    assert terminals.snapshot(terminal) == ended


async def test_a_running_command_can_be_looked_at(terminals: EditorTerminals) -> None:
    watcher = Watcher()
    terminal = await terminals.create(shell("echo up; sleep 1000"), watcher)
    await watcher.until("up\n")
    looked = terminals.snapshot(terminal)
    assert (looked.output, looked.ended, looked.exit_code) == ("up\n", False, None)


async def test_a_line_for_a_shell_is_given_to_a_shell(terminals: EditorTerminals) -> None:
    assert await run(terminals, TerminalRequest(command="echo one && echo two | tr a-z A-Z")) == "one\nTWO\n"


async def test_a_program_is_run_as_it_is(terminals: EditorTerminals, tmp_path: Path) -> None:
    assert await run(terminals, TerminalRequest(command="pwd")) == f"{tmp_path}\n"
    assert await run(terminals, TerminalRequest(command="echo", args=("$HOME;", "a b"))) == "$HOME; a b\n"


async def test_a_program_may_have_spaces_in_its_path(terminals: EditorTerminals, tmp_path: Path) -> None:
    script(tmp_path, "my tool", "#!/bin/sh\necho it ran\n")
    assert await run(terminals, TerminalRequest(command="./my tool")) == "it ran\n"


async def test_a_command_has_no_input(terminals: EditorTerminals) -> None:
    assert await run(terminals, shell("cat; echo done")) == "done\n"


async def test_a_command_gets_the_environment_without_porticos_own(terminals: EditorTerminals) -> None:
    request = TerminalRequest(command="echo [$PORTICO_TOKEN] $KEPT $ADDED", env={"ADDED": "too"})
    assert await run(terminals, request) == "[] yes too\n"


async def test_a_command_runs_where_it_is_told_to(terminals: EditorTerminals, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert await run(terminals, TerminalRequest(command="pwd", cwd="sub")) == f"{tmp_path}/sub\n"
    assert (
        await run(terminals, TerminalRequest(command="pwd", cwd=str(tmp_path / "sub"))) == f"{tmp_path}/sub\n"
    )


@pytest.mark.parametrize("cwd", ["/", "..", "out"])
async def test_a_command_cannot_be_sent_out_of_the_workspace(
    terminals: EditorTerminals, tmp_path: Path, cwd: str
) -> None:
    (tmp_path / "out").symlink_to("/")
    with pytest.raises(PermissionDenied, match="outside the workspace"):
        await terminals.create(TerminalRequest(command="pwd", cwd=cwd), Watcher())


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (TerminalRequest(command="no-such-program"), "“no-such-program” was not found on PATH"),
        (TerminalRequest(command="no-such-program", args=("x",)), "was not found on PATH"),
        (TerminalRequest(command="  "), "The command is empty"),
        (TerminalRequest(command="echo", args=("a\0b",)), "null byte"),
        (TerminalRequest(command="pwd", cwd="gone"), "gone does not exist"),
    ],
)
async def test_a_command_that_cannot_run_is_explained(
    terminals: EditorTerminals, request_: TerminalRequest, reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason):
        await terminals.create(request_, Watcher())


async def test_output_beyond_the_limit_loses_its_beginning_between_characters(
    terminals: EditorTerminals,
) -> None:
    terminal = await terminals.create(shell("printf 'x€€€'", output_byte_limit=7), Watcher())
    ended = await terminals.wait(terminal)
    assert (ended.output, ended.truncated) == ("€€", True)


async def test_characters_split_between_writes_are_put_together(terminals: EditorTerminals) -> None:
    watcher = Watcher()
    request = shell(r"printf 'a\342'; read -r _; printf '\202'; printf '\254b'; printf '\377\303'")
    assert await run(terminals, request) == "a€b\ufffd\ufffd"
    await terminals.wait(await terminals.create(request, watcher))
    assert watcher.text == "a€b\ufffd\ufffd"


async def test_a_flood_is_kept_within_bounds(terminals: EditorTerminals) -> None:
    heard = 0

    def count(output: TerminalOutput) -> None:
        nonlocal heard
        heard += len(output.text)

    before = psutil.Process().memory_info().rss
    terminal = await terminals.create(shell("yes | head -c 200000000"), count)
    ended = await terminals.wait(terminal)
    assert heard == 200_000_000
    assert len(ended.output) == 1024 * 1024
    assert ended.truncated
    assert psutil.Process().memory_info().rss - before < 50_000_000


async def test_an_endless_flood_can_be_killed_and_looked_at(terminals: EditorTerminals) -> None:
    watcher = Watcher()
    terminal = await terminals.create(TerminalRequest(command="yes", output_byte_limit=100), watcher)
    await watcher.until("y\n")
    await terminals.kill(terminal)
    killed = terminals.snapshot(terminal)
    assert (killed.ended, killed.exit_code, killed.signal) == (True, None, "SIGTERM")
    assert killed.output.startswith("y\ny\n")
    assert killed.truncated
    assert watcher.heard[-1].signal == "SIGTERM"
    assert await terminals.wait(terminal) == killed


async def test_what_runs_in_the_background_does_not_hold_back_the_end(
    terminals: EditorTerminals, mark: str
) -> None:
    watcher = Watcher()
    terminal = await terminals.create(shell("sleep 1000 & echo started"), watcher)
    ended = await terminals.wait(terminal)
    assert (ended.output, ended.exit_code) == ("started\n", 0)
    assert [process.name() for process in members(mark)].count("sleep") == 1
    await terminals.release(terminal)
    assert members(mark) == []
    assert [output.ended for output in watcher.heard].count(True) == 1


async def test_a_released_terminal_is_killed_and_forgotten(terminals: EditorTerminals, mark: str) -> None:
    watcher = Watcher()
    terminal = await terminals.create(shell("echo up; sleep 1000"), watcher)
    await watcher.until("up")
    await terminals.release(terminal)
    assert members(mark) == []
    assert watcher.heard[-1].ended
    with pytest.raises(InvalidInput, match=f"no terminal {terminal}"):
        terminals.snapshot(terminal)


async def test_an_unknown_terminal_is_said_to_be_unknown(terminals: EditorTerminals) -> None:
    with pytest.raises(InvalidInput, match="no terminal nothing"):
        terminals.snapshot("nothing")
    for call in (terminals.wait, terminals.kill, terminals.release):
        with pytest.raises(InvalidInput, match="no terminal nothing"):
            await call("nothing")


async def test_those_who_wait_hear_of_a_kill(terminals: EditorTerminals) -> None:
    watcher = Watcher()
    terminal = await terminals.create(shell("echo up; sleep 1000"), watcher)
    await watcher.until("up")
    waiting = asyncio.create_task(terminals.wait(terminal))
    await terminals.kill(terminal)
    assert (await waiting).signal == "SIGTERM"


async def test_closing_ends_every_command(terminals: EditorTerminals, mark: str) -> None:
    watchers = [Watcher() for _ in range(3)]
    for watcher in watchers:
        await terminals.create(shell("echo up; sleep 1000"), watcher)
        await watcher.until("up")
    await terminals.close()
    assert members(mark) == []
    assert all(watcher.heard[-1].ended for watcher in watchers)
