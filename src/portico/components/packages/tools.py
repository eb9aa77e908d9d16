"""The tools that read packages: for any package, and for the one package of a research session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec

from portico.components.packages.arguments import (
    FolderToList,
    LinesToRead,
    ListPackage,
    NamedPackage,
    ReadPackage,
    SearchPackage,
    TextToFind,
)
from portico.components.packages.descriptions import (
    MOST_MATCHES,
    describe_files,
    describe_lines,
    describe_matches,
    describe_source,
)
from portico.components.packages.library import PackageLibrary, PackageSource
from portico.components.packages.package import PackageName
from portico.components.packages.text_search import PackageTextQuery, search_tree
from portico.components.tool_failure import tool_failure
from portico.domain.errors import PorticoError
from portico.mcp.tools import Tool, ToolCall, schema_of

_SOURCE = """Finds the sources of a package in the version that the workspace uses, and tells what is in them.

The version is that of the lockfile or of the installed package, unless you give another. Packages that are not on \
this machine are fetched from the configured registry; nothing of them is ever run."""
_OVERVIEW = (
    "Tells which package and version this is about, and lists its files, or those in one of its folders."
)
_SEARCH = "Searches the text files of a package, as grep does. Matches are shown as path:line: text."
_READ = "Reads lines of a file in a package."
_LIST = "Lists the files of a package, or those in one of its folders."

_Run = Callable[[ToolCall], Awaitable[str]]


def package_tools(library: PackageLibrary, environ: Mapping[str, str]) -> list[Tool]:
    """Tools for any package of a workspace."""

    async def source(call: ToolCall) -> str:
        return await _overview(await find_source(library, call.read(NamedPackage)))

    async def search(call: ToolCall) -> str:
        asked = call.read(SearchPackage)
        return await _search(environ, await find_source(library, asked), asked)

    async def read(call: ToolCall) -> str:
        asked = call.read(ReadPackage)
        return await _read(await find_source(library, asked), asked)

    async def listed(call: ToolCall) -> str:
        asked = call.read(ListPackage)
        return await _list(await find_source(library, asked), asked)

    return [
        reading_tool("package_source", "Find the sources of a package", _SOURCE, NamedPackage, source),
        reading_tool("package_search", "Search in a package", _SEARCH, SearchPackage, search),
        reading_tool("package_read", "Read a file of a package", _READ, ReadPackage, read),
        reading_tool("package_list", "List files of a package", _LIST, ListPackage, listed),
    ]


def research_tools(source: PackageSource, environ: Mapping[str, str]) -> list[Tool]:
    """The same tools for one package."""

    async def overview(call: ToolCall) -> str:
        asked = call.read(FolderToList)
        return await (_list(source, asked) if asked.path else _overview(source))

    async def search(call: ToolCall) -> str:
        return await _search(environ, source, call.read(TextToFind))

    async def read(call: ToolCall) -> str:
        return await _read(source, call.read(LinesToRead))

    return [
        reading_tool("package_source", "See what is in the package", _OVERVIEW, FolderToList, overview),
        reading_tool("package_search", "Search in the package", _SEARCH, TextToFind, search),
        reading_tool("package_read", "Read a file of the package", _READ, LinesToRead, read),
    ]


def reading_tool(name: str, title: str, description: str, arguments: type[msgspec.Struct], run: _Run) -> Tool:
    """A tool that changes nothing, whose failures are told to the model."""
    return Tool(name, description, schema_of(arguments), partial(_answer, run), title=title, read_only=True)


AnyNamed = NamedPackage | SearchPackage | ReadPackage | ListPackage


async def find_source(library: PackageLibrary, asked: AnyNamed) -> PackageSource:
    return await library.source(PackageName.parse(asked.ecosystem, asked.name), asked.version)


async def _answer(run: _Run, call: ToolCall) -> str:
    try:
        return await run(call)
    except PorticoError as error:
        raise tool_failure(error) from error


async def _overview(source: PackageSource) -> str:
    return describe_source(source, await asyncio.to_thread(list, source.tree.files()))


async def _search(environ: Mapping[str, str], source: PackageSource, asked: TextToFind) -> str:
    query = PackageTextQuery(
        text=asked.query,
        is_regex=asked.regex,
        ignore_case=asked.ignore_case,
        path=asked.path,
        glob=asked.glob,
    )
    found = await search_tree(source.tree, query, environ, limit=MOST_MATCHES)
    return describe_matches(source, found, asked.query)


async def _read(source: PackageSource, asked: LinesToRead) -> str:
    text = await asyncio.to_thread(source.tree.read, asked.path)
    return describe_lines(source, asked.path, text, asked.line, asked.lines)


async def _list(source: PackageSource, asked: FolderToList) -> str:
    path = source.tree.locate(asked.path)
    return describe_files(source, path, await asyncio.to_thread(list, source.tree.files()))
