"""Agents ask the person's editor about code, and hand commands to its terminal: what they hear, and what they must not."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from portico.components.code.descriptions import MOST_BYTES, MOST_PLACES, MOST_PROBLEMS
from portico.components.code.proxy import CodeIntelligence
from portico.components.code.tree_files import FileSources
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.permissions.approvals import FileApprovals
from portico.conductor.permissions.broker import PermissionBroker
from portico.conductor.permissions.policy import PermissionPolicy, parse_rule
from portico.domain.windows import (
    BufferText,
    CodeLocation,
    CodeLookup,
    CodeLookupResult,
    CodeProblem,
    ReadBuffer,
    TerminalCommand,
    TerminalCommandResult,
    WindowAbilities,
    WindowAction,
    WindowFailure,
    WindowResult,
)
from portico.editors.buffers import AttachedEditorProvider
from portico.editors.files import LocalFiles
from portico.editors.local import LocalEditorProvider
from portico.project.problems import ProjectProblem
from portico.project.reported_problems import ReportedProblems
from portico.review.acp.path_translation import PathTranslation
from tests.conductor.mcp_support import HANDSHAKE, ask, call, frame, message, started
from tests.conductor.support import Ends, chain
from tests.editors.windows import EVERYTHING, SESSION, Desk

Json = dict[str, Any]
LOOKUPS = ["definition", "references", "symbols", "hover", "problems"]
MAIN = "from things import sort_all\n\n\ndef main():\n    return sort_all([1, 2])  # 🐍 sort_all\n"


class Place:
    """A workspace with a session in it, the window on it, and both ends of the session's chain."""

    def __init__(self, ends: Ends, desk: Desk, workspace: Path) -> None:
        self.ends = ends
        self.desk = desk
        self.workspace = workspace
        self.asked: list[WindowAction] = []
        self.answer: WindowResult | None = None
        self.reported = ReportedProblems()
        self._server_id = ""

    def hear(self, question: WindowAction) -> WindowResult | None:
        self.asked.append(question)
        return self.answer

    async def greet(self, *, acp: bool = True) -> None:
        self.ends.client.send(frame(id=0, method="initialize", params={"protocolVersion": 1}))
        asked = await self.ends.agent.receive()
        capabilities = {"mcpCapabilities": {"acp": acp}}
        self.ends.agent.send(frame(id=asked["id"], result={"agentCapabilities": capabilities}))
        await self.ends.client.receive()

    async def open(self, *, session: str = SESSION, cwd: Path | None = None, **placed: Any) -> list[Json]:
        """The servers that the agent is given for a session."""
        meta = {"portico": {"session": session, "workspace": str(self.workspace), "mode": "direct", **placed}}
        params = {"cwd": str(cwd or self.workspace), "mcpServers": [], "_meta": meta}
        self.ends.client.send(frame(id=1, method="session/new", params=params))
        asked = await self.ends.agent.receive()
        self.ends.agent.send(frame(id=asked["id"], result={"sessionId": "agents-own"}))
        await self.ends.client.receive()
        servers: list[Json] = asked["params"]["mcpServers"]
        self._server_id = servers[0].get("serverId", "") if servers else ""
        return servers

    async def tools(self) -> list[Json]:
        listed = await ask(
            self.ends.agent, "list", "mcp/message", message(self._server_id, "list", "tools/list")
        )
        tools: list[Json] = listed["result"]["result"]["tools"]
        return tools

    async def use(self, tool: str, **arguments: Any) -> str:
        """Result of a successful call for the agent."""
        result = await self.result(tool, **arguments)
        assert "isError" not in result, result
        return words(result)

    async def fail(self, tool: str, **arguments: Any) -> str:
        result = await self.result(tool, **arguments)
        assert result["isError"], result
        return words(result)

    async def result(self, tool: str, **arguments: Any) -> Json:
        self.begin(tool, **arguments)
        return await self.heard()

    def begin(self, tool: str, **arguments: Any) -> None:
        asked = call(self._server_id, "call", tool, **arguments)
        self.ends.agent.send(frame(id="call", method="mcp/message", params=asked))

    async def heard(self) -> Json:
        answer = await self.ends.agent.receive()
        assert answer["id"] == "call", answer
        result: Json = answer["result"]["result"]
        return result

    async def decide(self, option_id: str) -> Json:
        """Answer the permission that the person is asked for."""
        asked = await self.ends.client.receive()
        assert asked["method"] == "session/request_permission"
        outcome = {"outcome": {"outcome": "selected", "optionId": option_id}}
        self.ends.client.send(frame(id=asked["id"], result=outcome))
        params: Json = asked["params"]
        return params


def words(result: Json) -> str:
    return "\n".join(part["text"] for part in result["content"])


@asynccontextmanager
async def place(
    tmp_path: Path, abilities: WindowAbilities | None = EVERYTHING, policy: PermissionPolicy | None = None
) -> AsyncIterator[Place]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "main.py").write_text(MAIN)
    (workspace / ".env").write_text("PASSWORD=hunter2\n")
    desk = Desk()
    editors = AttachedEditorProvider(LocalEditorProvider({}), desk.windows, desk.tell)
    broker = PermissionBroker(
        agent="fake",
        policy=policy or PermissionPolicy(),
        approvals=FileApprovals(tmp_path / "approvals.json", lambda: 0),
    )
    reported = ReportedProblems()
    tools = CodeIntelligence(desk.windows, FileSources(editors.files, LocalFiles), None, reported)
    async with chain(PathTranslation(), broker, tools, McpBridge()) as ends:
        here = Place(ends, desk, workspace)
        here.reported = reported
        if abilities is None:
            yield here
            return
        async with desk.window(workspace, abilities=abilities) as played:
            played.answers = here.hear
            yield here


def at(path: Path | str, line: int, column: int = 0, **more: str) -> CodeLocation:
    return CodeLocation(path=str(path), line=line, column=column, end_line=line, end_column=column, **more)


class TestWhoGetsThem:
    async def test_an_agent_is_offered_what_the_window_on_its_folder_can_do(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            (server,) = await here.open()
            assert server["name"] == "portico-code"
            tools = await here.tools()
            assert [tool["name"] for tool in tools] == [*LOOKUPS, "run_in_terminal"]
            assert [tool.get("annotations") for tool in tools] == [{"readOnlyHint": True}] * 5 + [None]
            assert all(len(tool["description"]) > 60 for tool in tools)

    async def test_without_a_window_nothing_changes_for_anybody(self, tmp_path: Path) -> None:
        async with place(tmp_path, None) as here:
            await here.greet()
            assert await here.open() == []

    @pytest.mark.parametrize(
        ("abilities", "names"),
        [
            (WindowAbilities(buffers=True, edits=True), None),
            (WindowAbilities(lookups=True), LOOKUPS),
            (WindowAbilities(commands=True), ["run_in_terminal"]),
        ],
    )
    async def test_an_ability_that_is_not_there_is_not_offered(
        self, tmp_path: Path, abilities: WindowAbilities, names: list[str] | None
    ) -> None:
        async with place(tmp_path, abilities) as here:
            await here.greet()
            servers = await here.open()
            assert (names is None) is (servers == [])
            if names is not None:
                assert [tool["name"] for tool in await here.tools()] == names

    async def test_a_session_that_only_reads_runs_nothing(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open(reads_only=True)
            assert [tool["name"] for tool in await here.tools()] == LOOKUPS

    async def test_a_session_that_portico_has_no_name_for_is_offered_nothing(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            assert await here.open(session="") == []

    async def test_an_agent_that_takes_no_servers_over_acp_reaches_them_through_a_program(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path) as here:
            await here.greet(acp=False)
            (entry,) = await here.open()
            here.answer = CodeLookupResult(words="def sort_all(things)")
            async with started(entry) as program:
                await program.ask(1, "initialize", HANDSHAKE)
                arguments = {"path": "main.py", "line": 5, "symbol": "sort_all"}
                heard = await program.ask(2, "tools/call", {"name": "hover", "arguments": arguments})
                assert words(heard["result"]) == "def sort_all(things)"


class TestLookingUp:
    async def test_a_name_on_a_line_is_found_as_editors_count(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            things = here.workspace / "things.py"
            here.answer = CodeLookupResult(
                places=(at(things, 9, 4, name="sort_all", text="def sort_all(things):"),)
            )
            told = await here.use("definition", path="main.py", line=5, symbol="sort_all")
            assert told == "things.py:10:5  sort_all  def sort_all(things):"
            main = str(here.workspace / "main.py")
            assert here.asked == [CodeLookup(kind="definition", path=main, line=4, column=11)]

    async def test_a_name_beside_the_line_is_found_where_it_is_nearest(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            (here.workspace / "wide.py").write_text('x = "🐍🐍"; sort = sorted\n\nsort\n')
            here.answer = CodeLookupResult()
            assert "No use" in await here.use("references", path="wide.py", line=3, symbol="sort")
            assert "No use" in await here.use("references", path="wide.py", line=1, symbol="sort")
            places = [(one.line, one.column) for one in here.asked if isinstance(one, CodeLookup)]
            # Each snake counts twice, and "sorted" is another name.
            assert places == [(2, 0), (0, 12)]

    async def test_an_unsaved_text_is_where_the_name_is_looked_for(self, tmp_path: Path) -> None:
        asked: list[WindowAction] = []

        def answer(question: WindowAction) -> WindowResult:
            asked.append(question)
            return (
                BufferText(text="\n\nfresh_name()\n")
                if isinstance(question, ReadBuffer)
                else CodeLookupResult(words="fresh")
            )

        async with place(tmp_path, None) as here, here.desk.window(here.workspace) as played:
            played.answers = answer
            played.update_status(here.workspace / "main.py")
            await here.greet()
            await here.open()
            assert await here.use("hover", path="main.py", line=1, symbol="fresh_name") == "fresh"
            main = str(here.workspace / "main.py")
            assert asked == [ReadBuffer(path=main), CodeLookup(kind="hover", path=main, line=2, column=0)]

    async def test_a_name_that_is_not_there_is_told_without_asking_the_editor(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            told = await here.fail("definition", path="main.py", line=5, symbol="sort")
            assert "does not have the name 'sort'" in told
            assert here.asked == []

    @pytest.mark.parametrize(
        ("path", "complaint"),
        [
            ("missing.py", "does not exist"),
            (".env", "may hold secrets"),
            ("../outside.py", "outside the workspace"),
            ("/etc/passwd", "outside the workspace"),
            ("", "arguments do not fit"),
        ],
    )
    async def test_only_files_that_an_agent_may_read_are_asked_about(
        self, tmp_path: Path, path: str, complaint: str
    ) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            assert complaint in await here.fail("hover", path=path, line=1, symbol="PASSWORD")
            if path:
                assert complaint in await here.fail("symbols", path=path)
                assert complaint in await here.fail("problems", path=path)
            assert here.asked == []

    async def test_symbols_of_a_file_or_of_the_workspace_but_not_of_both(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            here.answer = CodeLookupResult(
                places=(at(here.workspace / "main.py", 3, 4, name="main", detail="function"),)
            )
            assert await here.use("symbols", path="main.py") == "main.py:4:5  main function"
            assert await here.use("symbols", query="mai") == "main.py:4:5  main function"
            assert [(one.path, one.query) for one in here.asked if isinstance(one, CodeLookup)] == [
                (str(here.workspace / "main.py"), ""),
                ("", "mai"),
            ]
            for arguments in ({}, {"path": "main.py", "query": "mai"}):
                assert "either path" in await here.fail("symbols", **arguments)

    async def test_problems_of_the_projects_tools_are_in_the_same_list_until_the_file_changes(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            file = here.workspace / "main.py"
            found = CodeProblem(path=str(file), line=4, column=11, severity="error", message="Not defined")
            here.answer = CodeLookupResult(problems=(msgspec.structs.replace(found, source="pyright"),))
            problems = [
                ProjectProblem(path="main.py", line=2, column=3, code="E1", message="No such thing"),
                ProjectProblem(path="main.py", line=5, message="Not defined"),
                ProjectProblem(path="gone.py", line=1, message="Lost"),
            ]
            here.reported.report(here.workspace, "mypy", problems, started=time.time() + 1)
            both = "main.py:5:12  error [pyright]  Not defined\nmain.py:2:3  error [mypy]  No such thing (E1)"
            assert await here.use("problems") == both
            assert await here.use("problems", path="main.py") == both
            file.write_text("changed = 1\n")
            assert await here.use("problems") == "main.py:5:12  error [pyright]  Not defined"

    async def test_a_later_run_of_a_tool_takes_the_place_of_the_one_before(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("a\n")
        reported = ReportedProblems()
        problem = ProjectProblem(path="a.py", line=1, message="Wrong")
        reported.report(tmp_path, "mypy", [problem], started=time.time() + 1)
        reported.report(tmp_path, "ruff", [problem], started=time.time() + 1)
        assert [one.source for one in reported.current(tmp_path)] == ["mypy", "ruff"]
        reported.report(tmp_path, "mypy", [], started=time.time() + 1)
        assert [one.source for one in reported.current(tmp_path)] == ["ruff"]
        assert list(reported.current(tmp_path / "other")) == []
        reported.report(tmp_path, "ruff", [problem], started=0)
        assert list(reported.current(tmp_path)) == [], "the file was changed after the run had begun"

    async def test_problems_come_with_where_they_are(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            here.answer = CodeLookupResult(
                problems=(
                    CodeProblem(
                        path=str(here.workspace / "main.py"),
                        line=4,
                        column=11,
                        severity="error",
                        message="Not\ndefined",
                        source="pyright",
                    ),
                )
            )
            assert await here.use("problems") == "main.py:5:12  error [pyright]  Not defined"
            here.answer = CodeLookupResult()
            assert "no problems" in await here.use("problems", path="main.py")

    async def test_however_much_is_found_the_agent_gets_a_bounded_part_and_how_much_is_left(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            main = here.workspace / "main.py"
            here.answer = CodeLookupResult(places=tuple(at(main, line, text="x") for line in range(1_000)))
            lines = (await here.use("symbols", query="x")).split("\n")
            assert len(lines) == MOST_PLACES + 1
            assert "900 more" in lines[-1]
            here.answer = CodeLookupResult(
                places=tuple(at(main, line, text="é" * 5_000) for line in range(1_000))
            )
            long = await here.use("symbols", query="x")
            assert len(long.encode()) < MOST_BYTES + 500
            assert "more; ask about something narrower" in long
            problem = CodeProblem(path=str(main), line=0, column=0, severity="hint", message="x")
            here.answer = CodeLookupResult(problems=(problem,) * 500)
            assert len((await here.use("problems")).split("\n")) == MOST_PROBLEMS + 1
            here.answer = CodeLookupResult(words="é" * MOST_BYTES)
            assert len((await here.use("hover", path="main.py", line=4, symbol="main")).encode()) < 21_000

    async def test_what_stands_in_files_of_secrets_is_not_shown(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            here.answer = CodeLookupResult(
                places=(
                    at(here.workspace / ".env", 0, text="PASSWORD=hunter2"),
                    at("/home/me/.ssh/id_rsa", 0, text="KEY"),
                    at("/usr/lib/python/json.py", 3, text="import re"),
                )
            )
            assert await here.use("symbols", query="P") == "/usr/lib/python/json.py:4:1  import re"

    async def test_in_a_tree_of_its_own_the_agents_paths_are_the_persons_files(self, tmp_path: Path) -> None:
        tree = tmp_path / "tree"
        tree.mkdir()
        async with place(tmp_path) as here:
            await here.greet()
            await here.open(cwd=tree)
            here.answer = CodeLookupResult(
                places=(at(here.workspace / "things.py", 9, text="def sort_all():"),)
            )
            for path in ("main.py", str(tree / "main.py"), str(here.workspace / "main.py")):
                told = await here.use("definition", path=path, line=5, symbol="sort_all")
                assert told.startswith("things.py:10:1  def sort_all():\n")
                assert "What you have changed in this session is not in them yet" in told
            assert {one.path for one in here.asked if isinstance(one, CodeLookup)} == {
                str(here.workspace / "main.py")
            }

    async def test_an_editor_that_fails_or_was_closed_is_told_to_the_agent(self, tmp_path: Path) -> None:
        async with place(tmp_path, None) as here:
            async with here.desk.window(here.workspace) as played:
                played.answers = lambda _: WindowFailure(message="No language support.")
                await here.greet()
                await here.open()
                told = await here.fail("problems")
                assert told == "No language support. Search the files instead."
                played.answers = None
                here.begin("problems")
                await played.request()
            assert "was closed before it answered" in words(await here.heard())
            assert "has closed the editor" in await here.fail("problems")
            async with here.desk.window(here.workspace) as another:
                another.answers = lambda _: CodeLookupResult()
                assert "no problems" in await here.use("problems")


class TestTheTerminal:
    async def test_a_command_goes_to_the_terminal_once_the_person_agrees(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            here.answer = TerminalCommandResult(sent=True, terminal="zsh")
            here.begin("run_in_terminal", command="gh auth login", reason="To push the branch.")
            asked = await here.decide("run")
            assert here.asked == []
            shown = asked["toolCall"]
            assert (shown["title"], shown["kind"]) == ("Run in your terminal: gh auth login", "execute")
            assert shown["rawInput"] == {
                "command": "gh auth login",
                "cwd": str(here.workspace),
                "reason": "To push the branch.",
            }
            told = words(await here.heard())
            assert "terminal “zsh”" in told
            assert "you cannot see it" in told
            assert here.asked == [
                TerminalCommand(command="gh auth login", cwd=str(here.workspace), title="Portico")
            ]

    async def test_a_command_that_the_person_does_not_want_is_not_run(self, tmp_path: Path) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            here.begin("run_in_terminal", command="gh auth login")
            await here.decide("leave")
            assert "did not agree" in words(await here.heard())
            here.begin("run_in_terminal", command="gh auth login")
            asked = await here.ends.client.receive()
            cancelled = {"outcome": {"outcome": "cancelled"}}
            here.ends.client.send(frame(id=asked["id"], result=cancelled))
            assert "did not agree" in words(await here.heard())
            here.begin("run_in_terminal", command="gh auth login")
            asked = await here.ends.client.receive()
            here.ends.client.send(frame(id=asked["id"], error={"code": -32603, "message": "nobody there"}))
            assert "not run" in words(await here.heard())
            assert here.asked == []

    async def test_what_is_denied_by_a_rule_reaches_neither_person_nor_terminal(self, tmp_path: Path) -> None:
        policy = PermissionPolicy(deny=(parse_rule("execute:sudo*"),))
        async with place(tmp_path, policy=policy) as here:
            await here.greet()
            await here.open()
            assert "did not agree" in await here.fail("run_in_terminal", command="sudo rm -rf /")
            assert here.asked == []

    async def test_what_the_person_has_agreed_to_beforehand_is_not_asked_again(self, tmp_path: Path) -> None:
        policy = PermissionPolicy(allow=(parse_rule("execute:gh auth*"),))
        async with place(tmp_path, policy=policy) as here:
            await here.greet()
            await here.open()
            here.answer = TerminalCommandResult(sent=True)
            assert "handed to the person" in await here.use("run_in_terminal", command="gh auth login")

    async def test_a_question_is_taken_back_when_the_agent_does_not_want_the_answer_any_more(
        self, tmp_path: Path
    ) -> None:
        async with place(tmp_path) as here:
            await here.greet()
            await here.open()
            here.begin("run_in_terminal", command="gh auth login")
            asked = await here.ends.client.receive()
            here.ends.agent.send(frame(method="$/cancel_request", params={"requestId": "call"}))
            taken_back = await here.ends.client.receive()
            assert taken_back["method"] == "$/cancel_request"
            assert taken_back["params"]["requestId"] == asked["id"]
            answer = await here.ends.agent.receive()
            assert answer["error"]["code"] == -32800
            assert here.asked == []

    async def test_in_a_tree_of_its_own_the_command_runs_in_the_persons_folder(self, tmp_path: Path) -> None:
        tree = tmp_path / "tree"
        tree.mkdir()
        async with place(tmp_path) as here:
            await here.greet()
            await here.open(cwd=tree)
            here.answer = TerminalCommandResult(sent=False, message="There is no shell.")
            here.begin("run_in_terminal", command="npm login", cwd="web")
            await here.decide("run")
            assert words(await here.heard()) == "The command was not run. There is no shell."
            (sent,) = here.asked
            assert isinstance(sent, TerminalCommand)
            assert sent.cwd == str(here.workspace / "web")
