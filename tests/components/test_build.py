"""Agents check, build and test a project with its own tools: what is run, who is asked, and what they read of it."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from portico.acp import _schema as acp
from portico.components.build.component import KEPT_RUNS, BuildComponent, BuildProxy
from portico.components.component import ComponentContext, ComponentUnavailable
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy, parse_rule
from portico.conductor.proxy import Proxy
from portico.project.reported_problems import ReportedProblems
from tests.conductor.mcp_support import ask, frame, introduce, message
from tests.conductor.support import Ends, chain
from tests.porter.projects import bring_along

Json = dict[str, Any]
CHECKS = "def test_good():\n    assert True\n\n\ndef test_bad():\n    assert 1 == 2, 'one is not two'\n"


def call_tool(server_id: str, name: str, arguments: Json) -> Json:
    token = arguments.pop("progress", None)
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return message(server_id, "call", "tools/call", {"name": name, "arguments": arguments, **meta})


class Client:
    """A client with terminals that are real processes; what it is asked for is kept in `asked`."""

    def __init__(self, ends: Ends, work: Path) -> None:
        self.ends = ends
        self.work = work
        self.agrees = True
        self.has_terminals = True
        self.asked: list[str] = []
        self.commands: list[list[str]] = []
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._outputs: dict[str, bytes] = {}
        self._replies: list[asyncio.Task[None]] = []
        self._server_id = ""

    async def open(self, **placed: Any) -> list[Json]:
        meta = {"portico": {"session": "p", "workspace": str(self.work), **placed}}
        params = {"cwd": str(self.work), "mcpServers": [], "_meta": meta}
        self.ends.client.send(frame(id="open", method="session/new", params=params))
        asked = await self.ends.agent.receive()
        self.ends.agent.send(frame(id=asked["id"], result={"sessionId": "s"}))
        await self.ends.client.receive()
        servers: list[Json] = asked["params"]["mcpServers"]
        self._server_id = servers[0]["serverId"] if servers else ""
        return servers

    async def tools(self) -> list[Json]:
        listed = await ask(self.ends.agent, 1, "mcp/message", message(self._server_id, "1", "tools/list"))
        tools: list[Json] = listed["result"]["result"]["tools"]
        return tools

    async def use(self, name: str, /, **arguments: Any) -> str:
        serving = asyncio.create_task(self.serve())
        asked = call_tool(self._server_id, name, arguments)
        self.ends.agent.send(frame(id="call", method="mcp/message", params=asked))
        try:
            async with asyncio.timeout(30):
                while (answer := await self._answer()) is None:
                    pass
        finally:
            serving.cancel()
        told = answer["result"]["result"]
        return ("FAILED: " if told.get("isError") else "") + str(told["content"][0]["text"])

    async def _answer(self) -> Json | None:
        with contextlib.suppress(TimeoutError):  # A tool may take longer than a message does.
            return await self.ends.agent.receive()
        return None

    async def serve(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                asked = await self.ends.client.receive()
                if "id" in asked:
                    self._replies.append(asyncio.create_task(self._send_reply(asked)))

    async def _send_reply(self, asked: Json) -> None:
        self.ends.client.send(await self._reply(asked))

    async def _reply(self, asked: Json) -> bytes:
        method, params = asked["method"], asked["params"]
        self.asked.append(method)
        if method == "session/request_permission":
            self.title = params["toolCall"]["title"]
            outcome = {"outcome": "selected", "optionId": "run" if self.agrees else "leave"}
            return frame(id=asked["id"], result={"outcome": outcome})
        if not self.has_terminals:
            return frame(id=asked["id"], error={"code": -32601, "message": "no terminals"})
        return frame(id=asked["id"], result=await getattr(self, f"_{method.partition('/')[2]}")(params))

    async def _create(self, params: Json) -> Json:
        self.commands.append([params["command"], *params["args"]])
        self._processes["t"] = await asyncio.create_subprocess_exec(
            *self.commands[-1],
            cwd=params["cwd"],
            env=os.environ | {one["name"]: one["value"] for one in params.get("env", [])},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        return {"terminalId": "t"}

    async def _wait_for_exit(self, params: Json) -> Json:
        process = self._processes[params["terminalId"]]
        self._outputs["t"] = (await process.communicate())[0]
        return {"exitCode": process.returncode}

    async def _output(self, params: Json) -> Json:
        return {"output": self._outputs.get("t", b"").decode(), "truncated": False}

    async def _kill(self, params: Json) -> Json:
        os.killpg(self._processes["t"].pid, signal.SIGKILL)
        await self._processes["t"].wait()
        return {}

    async def _release(self, params: Json) -> Json:
        return {}


@asynccontextmanager
async def place(
    tmp_path: Path, *deny: str, reported: ReportedProblems | None = None
) -> AsyncIterator[Client]:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    broker = PermissionBroker(
        agent="fake",
        policy=PermissionPolicy(deny=tuple(map(parse_rule, deny))),
        approvals=FileApprovals(tmp_path / "approvals.json", lambda: 0),
    )
    async with chain(broker, BuildProxy(os.environ, reported or ReportedProblems())) as ends:
        await introduce(ends, acp=True)
        yield Client(ends, work)


@pytest.fixture
def tested(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "tests").mkdir(parents=True)
    (work / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (work / "tests" / "test_it.py").write_text(CHECKS)
    bring_along(work, "pytest")
    return work


async def test_failed_tests_are_named_with_place_and_message(tmp_path: Path, tested: Path) -> None:
    async with place(tmp_path) as client:
        await client.open()
        told = await client.use("test")
        assert told.startswith("Tests failed: 1 tests passed, 1 failed (.venv/bin/pytest, exit code 1).")
        assert "- tests.test_it.test_bad at tests/test_it.py:6: AssertionError: one is not two" in told
        assert client.title == ".venv/bin/pytest"
        assert client.asked[0] == "session/request_permission"
        assert "test_bad" in await client.use("output", run=1)
        told = await client.use("test", tool="pytest", args=["-k", "good"])
        assert told.startswith("Tests passed: 1 tests passed, 0 failed")
        assert "run=2" in told


async def test_problems_of_a_run_are_kept_for_the_list_of_problems(tmp_path: Path) -> None:
    reported = ReportedProblems()
    async with place(tmp_path, reported=reported) as client:
        await client.open()
        (client.work / "a.c").write_text("int main() {\n")
        os.utime(client.work / "a.c", (1, 1))
        (client.work / "Makefile").write_text("check:\n\t@echo 'a.c:1:12: error: no end'; exit 1\n")
        assert "Problems:\n- a.c:1:12 error: no end" in await client.use("check")
    (found,) = reported.current(tmp_path / "work")
    assert (found.path, found.line, found.source) == (str(tmp_path / "work" / "a.c"), 0, "make")


async def test_a_second_edit_within_the_same_second_is_what_is_tested(tmp_path: Path, tested: Path) -> None:
    module = tested / "calc.py"
    (tested / "tests" / "test_it.py").write_text(
        "import sys\nsys.path.insert(0, '.')\nfrom calc import two\n\n\ndef test_two():\n    assert two() == 2\n"
    )
    module.write_text("def two():\n    return 1\n")
    os.utime(module, (1_700_000_000, 1_700_000_000))
    async with place(tmp_path) as client:
        await client.open()
        assert (await client.use("test")).startswith("Tests failed")
        module.write_text("def two():\n    return 2\n")
        os.utime(module, (1_700_000_000, 1_700_000_000))
        assert (await client.use("test")).startswith("Tests passed")


async def test_what_the_person_refuses_is_not_run(tmp_path: Path, tested: Path) -> None:
    async with place(tmp_path) as client:
        client.agrees = False
        await client.open()
        assert (await client.use("test")).startswith("FAILED: The person did not agree")
        assert client.commands == []


async def test_what_a_rule_denies_is_not_asked_and_not_run(tmp_path: Path, tested: Path) -> None:
    async with place(tmp_path, "execute") as client:
        await client.open()
        assert (await client.use("test")).startswith("FAILED")
        assert client.asked == []


async def test_a_makefile_is_checked_and_built_and_its_compiler_understood(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "Makefile").write_text(
        "build:\n\t@echo 'a.c:1:20: error: no such thing'; exit 1\ncheck:\n\t@echo fine\ntest:\n\t@exit 3\n"
    )
    async with place(tmp_path) as client:
        await client.open()
        told = await client.use("build")
        assert told.startswith("Build failed (make build, exit code 2).")
        assert "- a.c:1:20 error: no such thing" in told
        assert (await client.use("check")).startswith("Check passed (make check, exit code 0).")
        assert "The end of its output:" in await client.use("test")
        unknown = await client.use("check", tool="ninja")
        assert unknown == 'FAILED: Unknown tool "ninja". Available: make.'


async def test_long_output_is_kept_and_read_in_pages(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "Makefile").write_text("check:\n\t@seq 1 20000\n")
    async with place(tmp_path) as client:
        await client.open()
        assert "The output has 20000 lines; read it with output, run=1." in await client.use("check")
        page = await client.use("output", run=1, offset=19_999)
        assert page.startswith("19999\n20000\n")
        for _ in range(KEPT_RUNS):
            await client.use("check")
        assert "is not kept. Kept: 2, 3, 4, 5, 6." in await client.use("output", run=1)


async def test_a_command_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "Makefile").write_text("check:\n\t@sleep 1000\n")
    async with place(tmp_path) as client:
        await client.open()
        told = await client.use("check", seconds=1)
        assert told.startswith("Check failed (make check, stopped at its time limit).")
        assert client.asked[-2:] == ["terminal/kill", "terminal/release"]


async def test_an_agent_that_asks_for_progress_hears_that_it_runs(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "Makefile").write_text("check:\n\t@echo fine\n")
    async with place(tmp_path) as client:
        await client.open()
        told: list[Json] = []

        async def hear() -> Json | None:
            heard = await client.ends.agent.receive()
            if heard.get("id") == "call":
                return heard
            told.append(heard["params"]["params"])
            return None

        client._answer = hear  # type: ignore[method-assign]
        await client.use("check", progress="token")
        assert told[0]["progressToken"] == "token"
        assert told[0]["message"] == "Running make check"


async def test_a_client_without_terminals_is_no_reason_to_run_it_elsewhere(
    tmp_path: Path, tested: Path
) -> None:
    async with place(tmp_path) as client:
        client.has_terminals = False
        await client.open()
        assert "Run it with your own tools: .venv/bin/pytest" in await client.use("test")


async def test_nothing_to_run_is_an_honest_answer(tmp_path: Path) -> None:
    async with place(tmp_path) as client:
        await client.open()
        assert "Nothing was found that builds this project." in await client.use("build")
        assert "outside of the folder" in await client.use("build", folder="..")
        assert client.asked == []


async def test_a_session_that_only_reads_has_no_such_tools(tmp_path: Path) -> None:
    async with place(tmp_path) as client:
        assert await client.open(readsOnly=True, reads_only=True) == []


async def test_tools_that_run_something_do_not_say_that_they_only_read(tmp_path: Path) -> None:
    async with place(tmp_path) as client:
        await client.open()
        hints = {tool["name"]: tool.get("annotations") for tool in await client.tools()}
        assert hints == {"check": None, "build": None, "test": None, "output": {"readOnlyHint": True}}


def test_the_component_is_there_only_where_something_can_be_run(tmp_path: Path, tested: Path) -> None:
    def plan(folder: Path) -> Sequence[Proxy]:
        context = ComponentContext(
            workspace=folder,
            environ=os.environ,
            editor=acp.ClientCapabilities(),
            agent=acp.AgentCapabilities(),
        )
        return BuildComponent(ReportedProblems()).plan(context)

    assert len(plan(tested)) == 1
    with pytest.raises(ComponentUnavailable, match="No tool was found"):
        plan(tmp_path)
