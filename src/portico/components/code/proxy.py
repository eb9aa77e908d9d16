"""Proxy that offers code lookups, edits and the person's terminal as MCP tools.

Attached windows and language servers answer; which of them is looked up for each call, since people close and reload
their windows. A session that begins while neither is available gets no tools.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec

from portico.components.code.arguments import (
    AboutFile,
    AboutName,
    AboutSymbols,
    ActionAtLine,
    InTerminal,
    NewName,
)
from portico.components.code.descriptions import (
    MOST_PLACES,
    MOST_SYMBOLS,
    describe_actions,
    describe_edits,
    describe_hover,
    describe_places,
    describe_problems,
)
from portico.components.code.lookups import CodeLookups
from portico.components.code.session_paths import SessionPaths
from portico.components.code.terminal_tool import DESCRIPTION as TERMINAL
from portico.components.code.terminal_tool import run_in_terminal
from portico.components.code.tree_files import ClientFileAccess, FileSources, TreeFiles
from portico.components.tool_failure import tool_failure
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.domain.errors import LanguageServerFailed
from portico.domain.windows import LookupKind, WindowAbilities
from portico.files.deadline import within_deadline
from portico.mcp.server import InProcessServer, ToolServer
from portico.mcp.tools import Tool, ToolCall, ToolFailure, schema_of
from portico.project.reported_problems import ReportedProblems
from portico.rpc.messages import Message
from portico.sessions.code_servers import CodeServers
from portico.sessions.windows import Windows

SERVER_NAME = "portico-code"
_INSTRUCTIONS = (
    "What the person's editor or a language server knows about the code: exact where a text search is not. "
    "Lines count from 1."
)
_NAME = "Give a file and a line where the name stands, and the name itself."
_DEFINITION = f"""Finds where a name is defined, by the language's own rules. {_NAME} Use it before you change what \
you have not read, and instead of searching for the definition of an imported name."""
_REFERENCES = f"""Finds every use of a name in the workspace: renamed imports and overrides included, equal words that \
mean something else left out. {_NAME} Use it before you change the signature of something."""
_TYPE = f"Finds where the type of a variable, a parameter or an expression is defined. {_NAME}"
_IMPLEMENTATIONS = f"Finds the classes and methods that implement an interface or override a method. {_NAME}"
_CALLERS = f"Finds the functions that call a function, each at the line of the call. {_NAME}"
_CALLEES = f"Finds the functions that a function calls, each where it is defined. {_NAME}"
_AT_NAME: dict[LookupKind, tuple[str, str, str]] = {
    "definition": ("Find definition", _DEFINITION, "No definition of that name was found."),
    "type_definition": ("Find type", _TYPE, "No type definition of that name was found."),
    "implementations": (
        "Find implementations",
        _IMPLEMENTATIONS,
        "No implementation of that name was found.",
    ),
    "references": ("Find references", _REFERENCES, "No use of that name was found."),
    "callers": ("Find callers", _CALLERS, "No call of that function was found."),
    "callees": ("Find callees", _CALLEES, "No call in that function was found."),
}
"""The lookups at a name: title, description, and what is said if nothing was found."""
_SYMBOLS = """Lists what is defined in a file (give path), or finds definitions in the whole workspace by a part of \
their name (give query)."""
_HOVER = f"Shows the type, the signature and the documentation of a name. {_NAME}"
_PROBLEMS = """Lists the errors and warnings of a file (give path), or of the workspace. Use it after a change to see \
whether you broke something. The answer is about the file as it is now; if that is not known yet, it says so."""
_RENAME = f"""Renames something everywhere it is used: definition, uses, imports. {_NAME} Unlike a text replacement \
it leaves equal words alone that mean something else. The person may be asked first."""
_ACTIONS = """Lists the fixes and refactorings that the language server offers for a line and the problems on it; \
give the title of one to apply it. The person may be asked first."""


class CodeIntelligence(McpProxy):
    """Stands right of the permission broker, so that rules hold for its edits and for the terminal too."""

    name = "code intelligence"

    def __init__(
        self,
        windows: Windows | None,
        files: FileSources,
        servers: CodeServers | None = None,
        reported: ReportedProblems | None = None,
    ) -> None:
        super().__init__()
        self._reported = reported or ReportedProblems()
        self._windows = windows
        self._file_sources = files
        self._code_servers = servers
        self._client = ClientFileAccess()

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self._client = ClientFileAccess.announced_in(message.params)
        super().from_client(message)

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        paths = SessionPaths.of(session)
        window = None if self._windows is None else self._windows.of(paths.workspace)
        abilities = WindowAbilities() if window is None or not session.placed.session else window.abilities
        servers = self._code_servers
        files = TreeFiles(self, session, paths, self._file_sources, self._client)
        lookups = CodeLookups(self._windows, servers, files, paths)
        tools = _SessionTools(paths, files, lookups, servers, self._reported).list(
            abilities, may_write=session.placed.reads_only is not True
        )
        if abilities.commands and session.placed.reads_only is not True:
            run = partial(self._run_in_terminal, session, paths, lookups)
            tools.append(
                Tool("run_in_terminal", TERMINAL, schema_of(InTerminal), run, title="Run in your terminal")
            )
        return (ToolServer(SERVER_NAME, tools, instructions=_INSTRUCTIONS),) if tools else ()

    async def _run_in_terminal(
        self, session: ChainSession, paths: SessionPaths, lookups: CodeLookups, call: ToolCall
    ) -> str:
        window = lookups.window()
        if window is None:
            raise ToolFailure(
                "The person has closed the editor with the terminal. Continue with your own tools."
            )
        return await run_in_terminal(self.node, session, paths, window, call)


class _SessionTools:
    """The tools of one session, except for the terminal."""

    def __init__(
        self,
        paths: SessionPaths,
        files: TreeFiles,
        lookups: CodeLookups,
        servers: CodeServers | None,
        reported: ReportedProblems,
    ) -> None:
        self._paths = paths
        self._reported = reported
        self._files = files
        self._lookups = lookups
        self._servers = servers

    def list(self, abilities: WindowAbilities, *, may_write: bool) -> list[Tool]:
        """The tools for what a window and language servers can do."""
        if self._servers is None and not abilities.lookups:
            return []
        kinds: Sequence[LookupKind] = tuple(_AT_NAME) if self._servers else ("definition", "references")
        tools = [_tool(kind, *_AT_NAME[kind][:2], AboutName, partial(self._at_name, kind)) for kind in kinds]
        tools += [
            _tool("symbols", "List symbols", _SYMBOLS, AboutSymbols, self._symbols),
            _tool("hover", "Show type and documentation", _HOVER, AboutName, self._hover),
            _tool("problems", "List problems", _PROBLEMS, AboutFile, self._problems),
        ]
        if self._servers is not None and may_write:
            tools += [
                Tool("rename", _RENAME, schema_of(NewName), self._rename, title="Rename symbol"),
                Tool(
                    "code_actions", _ACTIONS, schema_of(ActionAtLine), self._actions, title="Fix or refactor"
                ),
            ]
        return tools

    async def _at_name(self, kind: LookupKind, call: ToolCall) -> str:
        found = await self._lookups.at_name(kind, call.read(AboutName))
        return describe_places(found, self._paths, nothing=_AT_NAME[kind][2])

    async def _hover(self, call: ToolCall) -> str:
        return describe_hover(await self._lookups.at_name("hover", call.read(AboutName)))

    async def _symbols(self, call: ToolCall) -> str:
        asked = call.read(AboutSymbols)
        if bool(asked.path) is bool(asked.query):
            raise ToolFailure("Give either path, for one file, or query, for the whole workspace.")
        if asked.path:
            found = await self._lookups.of_file("symbols", asked.path)
        else:
            found = await self._lookups.of_workspace("symbols", asked.query)
        return describe_places(
            found,
            self._paths,
            nothing="No such symbol was found.",
            most=MOST_SYMBOLS if asked.path else MOST_PLACES,
        )

    async def _problems(self, call: ToolCall) -> str:
        asked = call.read(AboutFile)
        if asked.path:
            found = await self._lookups.of_file("diagnostics", asked.path)
        else:
            found = await self._lookups.of_workspace("diagnostics")
        own = self._paths.own(asked.path) if asked.path else ""
        reported = await within_deadline(lambda: tuple(self._reported.current(self._paths.folder, own)))
        return describe_problems(found.with_problems(reported), self._paths)

    async def _rename(self, call: ToolCall) -> str:
        asked = call.read(NewName)
        place = await self._lookups.server_place(asked.path, asked.line, asked.symbol)
        assert self._servers is not None
        try:
            edits = await self._servers.rename(self._lookups.tree, place, asked.new_name)
        except LanguageServerFailed as error:
            raise tool_failure(error) from error
        if not edits:
            raise ToolFailure(f"{asked.symbol!r} cannot be renamed there.")
        await self._files.change(f"Rename {asked.symbol} to {asked.new_name}", edits)
        return describe_edits(edits, self._paths)

    async def _actions(self, call: ToolCall) -> str:
        asked = call.read(ActionAtLine)
        place = await self._lookups.server_place(asked.path, asked.line)
        assert self._servers is not None
        try:
            if not asked.title:
                return describe_actions(await self._servers.actions(self._lookups.tree, place))
            edits = await self._servers.act(self._lookups.tree, place, asked.title)
        except LanguageServerFailed as error:
            raise tool_failure(error) from error
        if not edits:
            return "The action changes nothing."
        await self._files.change(asked.title, edits)
        return describe_edits(edits, self._paths)


def _tool(
    name: str,
    title: str,
    description: str,
    arguments: type[msgspec.Struct],
    run: Callable[[ToolCall], Awaitable[str]],
) -> Tool:
    return Tool(name, description, schema_of(arguments), run, title=title, read_only=True)
