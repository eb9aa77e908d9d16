"""Agents as local programs: bytes both ways, last words, and an end that takes everything along."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from portico.agents.process import STDERR_TAIL_BYTES, LocalAgentLauncher, LocalAgentProcess
from portico.agents.registry import AgentRegistry
from portico.domain.errors import AgentNotFound, ErrorCode
from portico.sessions.ports import AgentSpec
from tests.rpc.process_tree import marked, members, new_mark, script, survivors

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the agents here are shell scripts")

DEADLINE = 20
Launch = Callable[..., Awaitable[LocalAgentProcess]]


@pytest.fixture
def mark() -> str:
    return new_mark()


@pytest.fixture
async def launch(tmp_path: Path, mark: str) -> AsyncIterator[Launch]:
    agents = LocalAgentLauncher(marked(os.environ, mark))
    launched: list[LocalAgentProcess] = []

    async def start(*command: str, **fields: object) -> LocalAgentProcess:
        spec = AgentSpec(name="tester", command=command, **fields)  # type: ignore[arg-type]
        agent = await agents.launch(spec, tmp_path)
        launched.append(agent)
        return agent

    async with asyncio.timeout(3 * DEADLINE):
        yield start
    for agent in launched:
        await agent.stop(grace=0)


async def read_all(agent: LocalAgentProcess) -> bytes:
    data = b""
    while chunk := await agent.stream.read():
        data += chunk
    return data


async def test_what_is_written_to_an_agent_comes_back_as_it_answers(launch: Launch) -> None:
    agent = await launch("cat")
    agent.stream.write(b"ping\n")
    await agent.stream.drain()
    assert await agent.stream.read() == b"ping\n"
    await agent.stream.close()
    assert await agent.wait() == "exit code 0"


async def test_an_agent_works_in_the_workspace_with_its_own_variables(launch: Launch, tmp_path: Path) -> None:
    agent = await launch("sh", "-c", 'echo "$PWD $KEY"', env={"KEY": "value"})
    assert await read_all(agent) == f"{tmp_path} value\n".encode()


async def test_the_last_words_are_kept_plain_and_short(launch: Launch) -> None:
    noise = "import sys; sys.stderr.write('ü' * 100_000 + '\\n')"
    colours = "sys.stderr.write('\\x1b[31mfatal:\\x1b[0m \\x1b]0;title\\x07no key\\r\\n\\x00')"
    agent = await launch(sys.executable, "-c", f"{noise}; {colours}; sys.exit(4)")
    assert await agent.wait() == "exit code 4"
    assert agent.stderr_tail().endswith("ü\nfatal: no key")
    assert len(agent.stderr_tail().encode()) <= STDERR_TAIL_BYTES
    assert "\ufffd" not in agent.stderr_tail()


async def test_an_agent_that_floods_its_error_output_is_not_held_up(launch: Launch) -> None:
    agent = await launch("sh", "-c", "yes error | head -c 20000000 >&2; echo done")
    assert await read_all(agent) == b"done\n"


async def test_everything_said_before_a_crash_can_be_read(launch: Launch, mark: str) -> None:
    agent = await launch("sh", "-c", "sleep 1000 & echo one; echo two; echo sorry >&2; kill -SEGV $$")
    assert await agent.wait() == "signal SIGSEGV"
    assert await read_all(agent) == b"one\ntwo\n"
    assert agent.stderr_tail() == "sorry"
    assert members(mark) == []


async def test_the_stream_ends_when_the_agent_does_though_its_children_hold_it_open(
    launch: Launch, mark: str
) -> None:
    agent = await launch("sh", "-c", "sleep 1000 & echo bye")
    assert await read_all(agent) == b"bye\n"
    assert await asyncio.to_thread(survivors, mark) == []


async def test_stopping_an_agent_ends_all_that_it_started(launch: Launch, mark: str) -> None:
    agent = await launch("sh", "-c", "trap '' TERM; sleep 1000 & echo up; wait; wait")
    assert await agent.stream.read() == b"up\n"
    await agent.stop(grace=0.05)
    assert await agent.wait() == "signal SIGKILL"
    assert members(mark) == []


async def test_a_wait_that_is_given_up_disturbs_nobody_else(launch: Launch) -> None:
    agent = await launch("sh", "-c", "read -r _; exit 5")
    impatient = asyncio.create_task(agent.wait())
    await asyncio.sleep(0)
    impatient.cancel()
    with pytest.raises(asyncio.CancelledError):
        await impatient
    await agent.stream.close()
    assert await agent.wait() == "exit code 5"


async def test_a_script_whose_own_command_is_missing_says_so(launch: Launch) -> None:
    agent = await launch("sh", "-c", "exec no-such-program-here")
    assert await agent.wait() == "exit code 127 (a program was not found)"
    assert "no-such-program-here" in agent.stderr_tail()


async def test_a_missing_agent_comes_with_its_install_hint(launch: Launch) -> None:
    with pytest.raises(
        AgentNotFound, match="tester cannot be started: “no-such-agent” was not found"
    ) as caught:
        await launch("no-such-agent", install_hint="Install it: npm install --global it")
    assert caught.value.code is ErrorCode.AGENT_NOT_FOUND
    assert caught.value.suggestion == "Install it: npm install --global it"
    assert caught.value.details.agent == "tester"


async def test_an_agent_that_is_not_executable_comes_with_the_remedy(launch: Launch, tmp_path: Path) -> None:
    path = script(tmp_path, "agent", "#!/bin/sh\n", mode=0o644)
    with pytest.raises(AgentNotFound, match="is not executable") as caught:
        await launch("./agent", install_hint="Install it.")
    assert caught.value.suggestion == f"Make it executable: chmod +x {path}"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (Path.mkdir, "is a folder"),
        (
            lambda path: script(path.parent, path.name, "#!/nowhere/node\n"),
            "asks for the interpreter /nowhere/node",
        ),
        (Path.exists, "does not exist"),
    ],
    ids=["a folder", "a bad interpreter", "nothing"],
)
async def test_an_agent_that_cannot_run_is_explained(
    launch: Launch, tmp_path: Path, make: Callable[[Path], object], reason: str
) -> None:
    make(tmp_path / "agent")
    with pytest.raises(AgentNotFound, match=reason) as caught:
        await launch("./agent")
    assert caught.value.suggestion


async def test_a_workspace_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(AgentNotFound, match="gone does not exist"):
        await LocalAgentLauncher(os.environ).launch(
            AgentSpec(name="tester", command=("cat",)), tmp_path / "gone"
        )


async def test_the_workspace_cannot_stand_in_for_the_built_in_agent(launch: Launch, tmp_path: Path) -> None:
    for module in ("portico", "msgspec", "asyncio"):
        script(tmp_path, f"{module}.py", "import os; os.write(1, b'taken over'); os._exit(0)")
    porter = AgentRegistry(python=sys.executable, environ=os.environ).resolve("porter")
    agent = await launch(*porter.command)
    await agent.stream.close()
    assert b"taken over" not in await read_all(agent)
