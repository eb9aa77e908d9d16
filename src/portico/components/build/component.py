"""The build component: check, build and test with the project's own tools, with problems instead of raw output."""

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from portico.components.build.client_terminal import TerminalCommandLine, permit_command, run_in_terminal
from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.components.text_page import page_of
from portico.components.tool_failure import tool_failure
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.proxy import Proxy
from portico.domain.errors import PorticoError
from portico.files import real_path
from portico.files.deadline import within_deadline
from portico.mcp.server import InProcessServer, ToolServer
from portico.mcp.tools import Tool, ToolCall, ToolFailure, schema_of
from portico.project.build_commands import ProjectTask, choose_command, find_commands, with_reports
from portico.project.folder import ProjectCommand, ProjectFolder
from portico.project.reported_problems import ReportedProblems

if TYPE_CHECKING:
    from portico.components.build.run_description import FinishedRun

SERVER_NAME = "portico-build"
KEPT_RUNS = 5
_JUNIT_LIMIT = 32 * 1024 * 1024
_MOST_REPORTS = 500
_SECONDS = 600
_PROGRESS_SECONDS = 10.0
_MODULE = re.compile(r"^module\s+(\S+)", re.MULTILINE)
_INSTRUCTIONS = (
    "Checks, builds and tests the project with its own tools. The answers name problems and failed tests by file, line "
    "and message. The person is asked as for any command."
)
_DESCRIPTIONS: Mapping[ProjectTask, str] = {
    "check": "Checks the project without building it: compiler, type checker or linter. Use it after a change.",
    "build": "Builds the project.",
    "test": "Runs the tests of the project, or those that args choose, and names those that failed.",
}
_OUTPUT = "Reads the whole output of an earlier check, build or test, in pages."


class RunQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool: Annotated[
        str,
        Meta(
            description="One of the tools that fit, such as pytest or eslint; the best if left out.",
            max_length=50,
        ),
    ] = ""
    args: Annotated[
        tuple[str, ...],
        Meta(description="More arguments for the tool: files, a pattern for names.", max_length=100),
    ] = ()
    folder: Annotated[
        str, Meta(description="The folder of the project, if it is not the one you work in.", max_length=1000)
    ] = "."
    seconds: Annotated[int, Meta(description="When to stop it.", ge=1, le=3600)] = _SECONDS


class OutputQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    run: Annotated[int, Meta(description="The number of the run, as its answer says.", ge=1)]
    offset: Annotated[int, Meta(description="The line to begin with, counting from 1.", ge=1)] = 1


class BuildComponent(Component):
    name = "build"
    summary = "check, build and test with the project's own tools, with problems parsed"

    def __init__(self, reported: ReportedProblems) -> None:
        self._reported = reported

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        project = ProjectFolder(context.workspace, context.environ)
        if not any(find_commands(project, task).found for task in _DESCRIPTIONS):
            raise ComponentUnavailable(f"No tool was found that checks, builds or tests {context.workspace}.")
        return (BuildProxy(context.environ, self._reported),)


class BuildProxy(McpProxy):
    """Stands right of the permission broker, so that what was decided beforehand holds for its commands too."""

    name = "build"

    def __init__(self, environ: Mapping[str, str], reported: ReportedProblems) -> None:
        super().__init__()
        self._reported = reported
        self._environ = environ
        self._runs: dict[ChainSession, list[FinishedRun]] = {}

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        if session.placed.reads_only is True:
            return ()
        self._runs[session] = []
        schema = schema_of(RunQuery)
        tools = [
            Tool(task, text, schema, partial(self._run, session, task), title=f"{task.capitalize()} project")
            for task, text in _DESCRIPTIONS.items()
        ]
        show = partial(self._output, session)
        tools.append(
            Tool("output", _OUTPUT, schema_of(OutputQuery), show, title="Read output", read_only=True)
        )
        return (ToolServer(SERVER_NAME, tools, instructions=_INSTRUCTIONS),)

    def forget(self, session: ChainSession) -> None:
        super().forget(session)
        self._runs.pop(session, None)

    async def _run(self, session: ChainSession, task: ProjectTask, call: ToolCall) -> str:
        # Late, as in `_finish`: every session offers the tools, and few run one.
        from portico.components.build.run_description import describe_run

        asked = call.read(RunQuery)
        root = _folder(call.cwd, asked.folder)
        project = ProjectFolder(root, self._environ)
        reports = Path(tempfile.gettempdir()) / f"portico-build-{os.urandom(8).hex()}"
        try:
            found = await within_deadline(lambda: find_commands(project, task))
            words = (*((asked.tool,) if asked.tool else ()), *asked.args)
            chosen = choose_command(found, words, task)
            if asked.tool and chosen.name != asked.tool:
                names = ", ".join(runner.name for runner in found.found)
                raise ToolFailure(f'Unknown tool "{asked.tool}". Available: {names}.')
            run = await self._finish(session, task, chosen, call, reports)
            others = dict.fromkeys(runner.name for runner in found.found if runner.name != chosen.name)
            return describe_run(run, others)
        except PorticoError as error:
            raise tool_failure(error) from error
        finally:
            await asyncio.to_thread(shutil.rmtree, reports, ignore_errors=True)

    async def _finish(
        self, session: ChainSession, task: ProjectTask, chosen: ProjectCommand, call: ToolCall, reports: Path
    ) -> "FinishedRun":
        from portico.components.build.run_description import FinishedRun
        from portico.project.report import read_report

        command = with_reports(chosen, str(reports / "junit.xml"))
        line = TerminalCommandLine(
            session_id=session.session_id or "",
            command=command.command,
            line=str(chosen),
            cwd=str(chosen.root),
            seconds=call.read(RunQuery).seconds,
        )
        await permit_command(self, line)
        started = time.time()
        ticking = asyncio.create_task(_report_progress(call, line), name=f"progress of {line.line}")
        try:
            ended = await run_in_terminal(self, line)
        finally:
            ticking.cancel()
        runs = self._runs.setdefault(session, [])

        def read() -> FinishedRun:
            module = _MODULE.search(ProjectFolder(chosen.root, {}).text("go.mod"))
            found = _junit_reports(chosen, reports, started) if task == "test" else []
            report = read_report(ended.output, chosen.root, found, module[1] if module else "")
            self._reported.report(chosen.root, chosen.name, report.problems, started=started)
            number = runs[-1].number + 1 if runs else 1
            return FinishedRun(number=number, task=task, command=chosen, ended=ended, report=report)

        run = await within_deadline(read)
        runs.append(run)
        del runs[:-KEPT_RUNS]
        return run

    async def _output(self, session: ChainSession, call: ToolCall) -> str:
        asked = call.read(OutputQuery)
        runs = self._runs.get(session, [])
        for run in runs:
            if run.number == asked.run:
                return page_of(run.report.text.strip("\n").split("\n"), asked.offset)
        known = ", ".join(str(run.number) for run in runs) or "none"
        raise ToolFailure(f"The output of run {asked.run} is not kept. Kept: {known}.")


async def _report_progress(call: ToolCall, line: TerminalCommandLine) -> None:
    """Tell the agent that the command still runs: many give a tool a minute, unless it makes progress."""
    passed = 0.0
    while True:
        call.progress(passed, line.seconds, f"Running {line.line}")
        await asyncio.sleep(_PROGRESS_SECONDS)
        passed += _PROGRESS_SECONDS


def _folder(cwd: str, folder: str) -> Path:
    place = Path(os.path.normpath(Path(cwd) / folder))
    if not place.is_relative_to(cwd):
        raise ToolFailure(f"{folder} is outside of the folder you work in.")
    return place


def _junit_reports(command: ProjectCommand, reports: Path, started: float) -> list[bytes]:
    """The XML reports of a run: of pytest where it was told to write one, of Maven where it does by itself."""
    root = Path(os.path.realpath(command.root))
    places = [Path(os.path.realpath(reports)) / "junit.xml"]
    if command.name == "mvn":
        places = [
            place
            for pattern in ("", "*/")
            for place in root.glob(f"{pattern}target/surefire-reports/TEST-*.xml")
        ]
    found = []
    for place in places[:_MOST_REPORTS]:
        try:
            if real_path.lstat(place).st_mtime >= started - 1:
                found.append(real_path.read(place, limit=_JUNIT_LIMIT))
        except OSError:
            continue  # The tool has not come that far, or may not write there.
    return found
