"""Proxy that offers the language features and terminal of an attached window as MCP tools.

The tools are MCP servers of the chain, there only for sessions that begin while such a window is attached. Which
window answers is looked up for each call: people close and reload theirs.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec

from portico.components.code.arguments import AboutFile, AboutName, AboutSymbols, InTerminal
from portico.components.code.descriptions import describe_hover, describe_places, describe_problems
from portico.components.code.session_paths import SessionPaths, find_symbol
from portico.components.code.terminal_permission import TerminalPermission, request_terminal_permission
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.domain.errors import PorticoError
from portico.domain.ids import SessionId
from portico.domain.windows import CodeLookup, CodeLookupResult, LookupKind, TerminalCommand, WindowAbilities
from portico.mcp.server import InProcessServer, ToolServer
from portico.mcp.tools import Tool, ToolCall, ToolFailure, schema_of
from portico.sessions.ports import EditorFiles
from portico.sessions.windows import Window, Windows

SERVER_NAME = "portico-editor"
_INSTRUCTIONS = (
    "What the person's editor knows about the code: exact where a text search is not. Lines count from 1."
)
_DEFINITION = """Finds where a name is defined, as the person's editor knows it from the language's own rules.

Give a file and a line in which the name is used, and the name itself. Use it before you change what you have not \
read, and instead of searching for the definition of an imported name."""
_REFERENCES = """Finds every use of a name in the workspace, as the person's editor knows it: renamed imports and \
overrides included, equal words that mean something else left out.

Give a file and a line where the name stands, and the name. Use it before you rename or change the signature of \
something."""
_SYMBOLS = """Lists what is defined in a file (give path), or finds definitions in the whole workspace by a part of \
their name (give query)."""
_HOVER = """Tells what the person's editor shows about a name: its type, its signature, its documentation."""
_DIAGNOSTICS = """Lists the errors and warnings that the person's editor shows, in one file (give path) or in the \
workspace. Use it after a change to see whether you broke something; a just changed file may need a moment."""
_TERMINAL = """Hands a command to a terminal of the person's own in their editor, in their own folder. The person is \
asked first.

Only for commands that need a person: a login, a password, a prompt to answer, a program to look at. You get no \
output and no exit code. Run everything else with your own tools."""

_LONGEST_TITLE = 60
_Run = Callable[[SessionPaths, ToolCall], Awaitable[str]]


class CodeIntelligence(McpProxy):
    """Stands right of the permission broker, so that what was decided beforehand holds for the terminal too."""

    name = "code intelligence"

    def __init__(self, windows: Windows, files_of: Callable[[SessionId, Path], EditorFiles]) -> None:
        super().__init__()
        self._windows = windows
        self._files_of = files_of

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        if not session.placed.session:
            return ()
        ground = SessionPaths.of(session)
        window = self._windows.of(ground.workspace)
        abilities = WindowAbilities() if window is None else window.abilities
        tools = self._lookups(ground) if abilities.lookups else []
        if abilities.commands and session.placed.reads_only is not True:
            run = partial(self._run_in_terminal, session, ground)
            schema = schema_of(InTerminal)
            tools.append(Tool("run_in_terminal", _TERMINAL, schema, run, title="Run in your terminal"))
        return (ToolServer(SERVER_NAME, tools, instructions=_INSTRUCTIONS),) if tools else ()

    def _lookups(self, ground: SessionPaths) -> list[Tool]:
        def tool(name: str, title: str, description: str, arguments: type[msgspec.Struct], run: _Run) -> Tool:
            return Tool(
                name, description, schema_of(arguments), partial(run, ground), title=title, read_only=True
            )

        return [
            tool("definition", "Find definition", _DEFINITION, AboutName, self._definition),
            tool("references", "Find references", _REFERENCES, AboutName, self._references),
            tool("symbols", "List symbols", _SYMBOLS, AboutSymbols, self._symbols),
            tool("hover", "Show type and documentation", _HOVER, AboutName, self._hover),
            tool("diagnostics", "List problems", _DIAGNOSTICS, AboutFile, self._diagnostics),
        ]

    async def _definition(self, ground: SessionPaths, call: ToolCall) -> str:
        found = await self._at_name(ground, "definition", call.read(AboutName))
        return describe_places(found, ground, nothing="The editor knows no definition of that name.")

    async def _references(self, ground: SessionPaths, call: ToolCall) -> str:
        found = await self._at_name(ground, "references", call.read(AboutName))
        return describe_places(found, ground, nothing="The editor knows no use of that name.")

    async def _hover(self, ground: SessionPaths, call: ToolCall) -> str:
        return describe_hover(await self._at_name(ground, "hover", call.read(AboutName)))

    async def _symbols(self, ground: SessionPaths, call: ToolCall) -> str:
        asked = call.read(AboutSymbols)
        if bool(asked.path) is bool(asked.query):
            raise ToolFailure("Give either path, for one file, or query, for the whole workspace.")
        path = await self._checked(ground, asked.path) if asked.path else ""
        found = await self._look_up(ground, CodeLookup(kind="symbols", path=path, query=asked.query))
        return describe_places(found, ground, nothing="The editor knows no such symbol.")

    async def _diagnostics(self, ground: SessionPaths, call: ToolCall) -> str:
        asked = call.read(AboutFile)
        path = await self._checked(ground, asked.path) if asked.path else ""
        return describe_problems(
            await self._look_up(ground, CodeLookup(kind="diagnostics", path=path)), ground
        )

    async def _at_name(self, ground: SessionPaths, kind: LookupKind, asked: AboutName) -> CodeLookupResult:
        path = ground.theirs(asked.path)
        place = find_symbol(await self._read(ground, path), asked.symbol, asked.line)
        if place is None:
            raise ToolFailure(
                f"{asked.path} does not have the name {asked.symbol!r} in it, as the person has it open. "
                "Read the file, and give the name as it is written there."
            )
        line, column = place
        return await self._look_up(ground, CodeLookup(kind=kind, path=path, line=line, column=column))

    async def _checked(self, ground: SessionPaths, path: str) -> str:
        """The person's file, if an agent may look into it."""
        theirs = ground.theirs(path)
        await self._read(ground, theirs)
        return theirs

    async def _read(self, ground: SessionPaths, path: str) -> str:
        try:
            return await self._files_of(ground.session_id, ground.workspace).read_text(path)
        except PorticoError as error:
            raise ToolFailure(_words(error)) from error

    async def _look_up(self, ground: SessionPaths, lookup: CodeLookup) -> CodeLookupResult:
        window = self._window(ground)
        if not window.abilities.lookups:
            raise ToolFailure(
                "The person's editor answers no such questions any more. Search the files instead."
            )
        try:
            return await window.look_up(ground.session_id, lookup)
        except PorticoError as error:
            raise ToolFailure(f"{error.message} Search the files instead.") from error

    async def _run_in_terminal(self, session: ChainSession, ground: SessionPaths, call: ToolCall) -> str:
        asked = call.read(InTerminal)
        cwd = ground.theirs(asked.cwd or ".")
        window = self._window(ground)
        if not window.abilities.commands:
            raise ToolFailure("The person's editor offers no terminal any more. Ask the person to run it.")
        question = TerminalPermission(
            session_id=session.session_id or "", command=asked.command, cwd=cwd, reason=asked.reason
        )
        await request_terminal_permission(self.node, question)
        title = asked.command.strip().split("\n")[0]
        command = TerminalCommand(command=asked.command, cwd=cwd, title=title[:_LONGEST_TITLE])
        try:
            sent = await window.dispatch(ground.session_id, command)
        except PorticoError as error:
            raise ToolFailure(f"{error.message} Ask the person whether the command runs.") from error
        if not sent.sent:
            raise ToolFailure(f"The command was not run. {sent.message}".strip())
        terminal = f" “{sent.terminal}”" if sent.terminal else ""
        return (
            f"The command was handed to the person's terminal{terminal}. What it prints is theirs: you cannot see "
            "it, nor when it ends. Ask the person what came of it, or look at what it should have changed."
        )

    def _window(self, ground: SessionPaths) -> Window:
        window = self._windows.of(ground.workspace)
        if window is None:
            raise ToolFailure(
                "The person has closed the editor that could answer this. Go on with your own tools."
            )
        return window


def _words(error: PorticoError) -> str:
    return f"{error.message} {error.suggestion}" if error.suggestion else error.message
