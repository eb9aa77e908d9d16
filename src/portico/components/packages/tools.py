"""Declarations of the package tools. What they do is imported with the first call, so that sessions start quickly."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

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
from portico.components.tool_failure import tool_failure
from portico.domain.errors import PorticoError
from portico.mcp.tools import Tool, ToolCall, schema_of

if TYPE_CHECKING:
    from portico.components.packages.answers import PackageAnswers, ResearchAnswers

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


def package_tools(answers: "Callable[[], PackageAnswers]") -> list[Tool]:
    """Tools for any package of a workspace. `answers` is called with each call."""
    return [
        reading_tool(
            "package_source",
            "Find the sources of a package",
            _SOURCE,
            NamedPackage,
            lambda call: answers().source(call),
        ),
        reading_tool(
            "package_search",
            "Search in a package",
            _SEARCH,
            SearchPackage,
            lambda call: answers().search(call),
        ),
        reading_tool(
            "package_read", "Read a file of a package", _READ, ReadPackage, lambda call: answers().read(call)
        ),
        reading_tool(
            "package_list", "List files of a package", _LIST, ListPackage, lambda call: answers().list(call)
        ),
    ]


def research_tools(answers: "ResearchAnswers") -> list[Tool]:
    """The same tools for one package."""
    return [
        reading_tool(
            "package_source", "See what is in the package", _OVERVIEW, FolderToList, answers.overview
        ),
        reading_tool("package_search", "Search in the package", _SEARCH, TextToFind, answers.search),
        reading_tool("package_read", "Read a file of the package", _READ, LinesToRead, answers.read),
    ]


def reading_tool(name: str, title: str, description: str, arguments: type[msgspec.Struct], run: _Run) -> Tool:
    """A tool that changes nothing, whose failures are reported to the model."""
    return Tool(name, description, schema_of(arguments), partial(_answer, run), title=title, read_only=True)


async def _answer(run: _Run, call: ToolCall) -> str:
    # In a thread: it takes a tenth of a second, once.
    await asyncio.to_thread(import_module, "portico.components.packages.answers")
    try:
        return await run(call)
    except PorticoError as error:
        raise tool_failure(error) from error
