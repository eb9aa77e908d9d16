"""Lookups of one session: the attached window answers first, language servers second.

Which one answers is decided for each call, since windows come and go. A session with a working copy asks language
servers first, because a window only knows the person's own files.
"""

from collections.abc import Awaitable, Callable, Iterable

import msgspec

from portico.components.code.arguments import AboutName
from portico.components.code.session_paths import SessionPaths, find_symbol
from portico.components.code.tree_files import TreeFiles
from portico.components.tool_failure import tool_failure
from portico.domain.errors import LanguageServerFailed, PorticoError
from portico.domain.windows import WINDOW_LOOKUPS, CodeLookup, CodeLookupResult, CodeProblem, LookupKind
from portico.mcp.tools import ToolFailure
from portico.sessions.code_servers import CodeServers, CodeTree
from portico.sessions.windows import Window, Windows

_OWN_TOOLS = "Search the files instead."


class FoundCode(msgspec.Struct, frozen=True):
    """An answer. `theirs` says that it is about the person's files while the session has others."""

    result: CodeLookupResult
    theirs: bool = False

    def with_problems(self, more: Iterable[CodeProblem]) -> "FoundCode":
        """The answer with problems of other tools. One that is there already is not told twice."""
        known = {(one.path, one.line, one.message) for one in self.result.problems}
        new = [one for one in more if (one.path, one.line, one.message) not in known]
        result = msgspec.structs.replace(self.result, problems=(*self.result.problems, *new))
        return msgspec.structs.replace(self, result=result)


class CodeLookups:
    """`windows` and `servers` are None where there can be none."""

    def __init__(
        self, windows: Windows | None, servers: CodeServers | None, files: TreeFiles, paths: SessionPaths
    ) -> None:
        self._windows = windows
        self._servers = servers
        self._files = files
        self._paths = paths

    @property
    def tree(self) -> CodeTree:
        return CodeTree(self._paths.workspace, self._paths.folder, self._files.read)

    def window(self) -> Window | None:
        return None if self._windows is None else self._windows.of(self._paths.workspace)

    async def at_name(self, kind: LookupKind, asked: AboutName) -> FoundCode:
        """Look up what a name stands for, where it stands nearest to a line."""
        return await self._look_up(kind, asked.path, lambda text: _place(kind, asked, text))

    async def of_file(self, kind: LookupKind, path: str) -> FoundCode:
        return await self._look_up(kind, path, lambda _: CodeLookup(kind=kind))

    async def of_workspace(self, kind: LookupKind, query: str = "") -> FoundCode:
        return await self._look_up(kind, "", lambda _: CodeLookup(kind=kind, query=query))

    async def server_place(self, path: str, line: int, symbol: str = "") -> CodeLookup:
        """A place in the session's own file, for questions that only language servers answer."""
        if self._servers is None:
            raise ToolFailure(f"There is no language server here. {_OWN_TOOLS}")
        if not symbol:
            return CodeLookup(kind="definition", path=self._paths.own(path), line=line - 1)
        return await self._own_place(
            path, lambda text: _place("definition", AboutName(path, line, symbol), text)
        )

    async def _look_up(self, kind: LookupKind, path: str, place: Callable[[str], CodeLookup]) -> FoundCode:
        window = self.window()
        can_ask_window = window is not None and window.abilities.lookups and kind in WINDOW_LOOKUPS
        if window is not None and can_ask_window and not (self._paths.apart and self._servers):
            return await self._ask_window(window, path, place)
        if self._servers is None:
            raise ToolFailure(
                f"The person has closed the editor that could answer this. {_OWN_TOOLS}"
                if window is None
                else f"The person's editor answers no such questions any more. {_OWN_TOOLS}"
            )
        own = self._paths.own(path) if path else ""
        text = await _readable(self._files.read, own) if own else ""

        async def read(name: str) -> str:
            # The place was found in this text, so it is the one to ask about.
            return text if name == own else await self._files.read(name)

        tree = CodeTree(self._paths.workspace, self._paths.folder, read)
        try:
            return FoundCode(
                await self._servers.look_up(tree, msgspec.structs.replace(place(text), path=own))
            )
        except LanguageServerFailed as error:
            if window is not None and can_ask_window:
                return await self._ask_window(window, path, place)
            raise ToolFailure(f"{tool_failure(error)} {_OWN_TOOLS}") from error

    async def _own_place(self, path: str, place: Callable[[str], CodeLookup]) -> CodeLookup:
        own = self._paths.own(path) if path else ""
        text = await _readable(self._files.read, own) if own else ""
        return msgspec.structs.replace(place(text), path=own)

    async def _ask_window(self, window: Window, path: str, place: Callable[[str], CodeLookup]) -> FoundCode:
        theirs = self._paths.theirs(path) if path else ""
        text = await _readable(self._files.read_theirs, theirs) if theirs else ""
        lookup = msgspec.structs.replace(place(text), path=theirs)
        try:
            result = await window.look_up(self._paths.session_id, lookup)
        except PorticoError as error:
            raise ToolFailure(f"{error.message} {_OWN_TOOLS}") from error
        return FoundCode(result, theirs=self._paths.apart)


async def _readable(read: Callable[[str], Awaitable[str]], path: str) -> str:
    """The text of a file, if an agent may look into it."""
    try:
        return await read(path)
    except PorticoError as error:
        raise tool_failure(error) from error


def _place(kind: LookupKind, asked: AboutName, text: str) -> CodeLookup:
    found = find_symbol(text, asked.symbol, asked.line)
    if found is None:
        raise ToolFailure(
            f"{asked.path} does not have the name {asked.symbol!r} in it. "
            "Read the file, and give the name as it is written there."
        )
    return CodeLookup(kind=kind, line=found[0], column=found[1])
