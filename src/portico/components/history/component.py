"""The history component: git's knowledge of a workspace as MCP tools that only read."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from portico.components.component import Component, ComponentContext, ComponentUnavailable
from portico.components.history import queries
from portico.components.history.arguments import (
    BlameQuery,
    DiffQuery,
    ExpertQuery,
    LogQuery,
    PickaxeQuery,
    ShowQuery,
)
from portico.components.history.repository_view import RepositoryView
from portico.components.tool_failure import tool_failure
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.proxy import Proxy
from portico.domain.errors import PorticoError
from portico.mcp.server import ToolServer
from portico.mcp.tools import Tool, ToolCall, schema_of

SERVER_NAME = "portico-history"
_INSTRUCTIONS = "The git history of the workspace. Everything here only reads; long answers come in pages."

_LOG = "Lists the commits of a file, a folder or the whole workspace, newest first."
_BLAME = """Tells for each line of a file which commit wrote it, when, and by whom. Uncommitted changes are left \
out."""
_SHOW = "Shows the message and the changes of a commit, or (with content) a file as it was then."
_DIFF = "Shows the differences of two commits, or of a commit and the files as they are now."
_PICKAXE = "Finds the commits that added or removed a text: when a name came, and when it went."
_WHO_KNOWS = "Tells who has changed a file or folder: how often, from when to when, and the last commit."

_Query = TypeVar("_Query", bound=msgspec.Struct)
_Answer = Callable[[RepositoryView, _Query], Awaitable[str]]


class HistoryComponent(Component):
    name = "history"
    summary = "git log, blame, show, diff, pickaxe and who-knows for any agent"

    def plan(self, context: ComponentContext) -> Sequence[Proxy]:
        folders = (context.workspace, *context.workspace.absolute().parents)
        if not any((folder / ".git").exists() for folder in folders):
            raise ComponentUnavailable(
                f"{context.workspace} is not in a git repository. Run git init there to have a history."
            )
        return (HistoryProxy(context.environ),)


class HistoryProxy(McpProxy):
    name = "history"

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__((ToolServer(SERVER_NAME, history_tools(environ), instructions=_INSTRUCTIONS),))


def history_tools(environ: Mapping[str, str]) -> Sequence[Tool]:
    """The tools; each works in the folder of the session that calls it."""

    def tool(name: str, title: str, text: str, query: type[_Query], answer: _Answer[_Query]) -> Tool:
        run = partial(_run, environ, query, answer)
        return Tool(name, text, schema_of(query), run, title=title, read_only=True)

    return (
        tool("git_log", "List commits", _LOG, LogQuery, queries.log),
        tool("git_blame", "Blame lines", _BLAME, BlameQuery, queries.blame),
        tool("git_show", "Show commit", _SHOW, ShowQuery, queries.show),
        tool("git_diff", "Compare versions", _DIFF, DiffQuery, queries.diff),
        tool("git_pickaxe", "Search history", _PICKAXE, PickaxeQuery, queries.pickaxe),
        tool("who_knows", "Find people", _WHO_KNOWS, ExpertQuery, queries.who_knows),
    )


async def _run(
    environ: Mapping[str, str], query: type[_Query], answer: _Answer[_Query], call: ToolCall
) -> str:
    asked = call.read(query)
    try:
        return await answer(await RepositoryView.of(Path(call.cwd), environ), asked)
    except PorticoError as error:
        raise tool_failure(error) from error
