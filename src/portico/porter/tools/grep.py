"""grep: searches text in the workspace."""

import asyncio
import re
from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from portico.porter.markdown import count
from portico.porter.search.text_search import SearchResult, TextMatch, TextQuery, search
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.glob import as_regex
from portico.porter.tools.tool import BuiltInTool, ToolParameters

_MOST = 200
_MOST_LOOKED_AT = 5000
_LONGEST_LINE = 300
_SECONDS = 30.0


class GrepParameters(ToolParameters, frozen=True, kw_only=True):
    pattern: Annotated[
        str, Meta(min_length=1, max_length=1000, description="A regular expression in Python's syntax.")
    ]
    path: Annotated[
        str | None, Meta(description="A file or folder to search; by default the whole workspace.")
    ] = None
    files: Annotated[
        str | None, Meta(description="Only files whose path matches, such as *.py or src/**/*.ts.")
    ] = None
    ignore_case: bool = False
    literal: Annotated[bool, Meta(description="Treat the pattern as plain text.")] = False


async def run(context: ToolContext, parameters: GrepParameters) -> str:
    if not parameters.literal:
        _require_expression(parameters.pattern)
    place = None if parameters.path is None else context.workspace.place(parameters.path)
    query = TextQuery(
        text=parameters.pattern, is_regex=not parameters.literal, ignore_case=parameters.ignore_case
    )
    work = ToolCallDetails(
        title=f"Search {parameters.pattern}", kind="search", raw_input={"pattern": parameters.pattern}
    )
    async with context.turn.tool(work) as call:
        try:
            async with asyncio.timeout(_SECONDS):
                limit = _MOST if parameters.files is None else _MOST_LOOKED_AT
                found = await search(query, context.workspace, place, limit, context.environ)
        except TimeoutError as error:
            raise ToolError(
                f"The search took longer than {_SECONDS:.0f} s. Use a simpler pattern, or give a path."
            ) from error
        matches = (
            found.matches if parameters.files is None else list(_within(context, parameters.files, found))
        )
        call.locate((match.path, match.line) for match in matches)
    return _shown(context, matches, cut=found.cut or len(matches) > _MOST)


def _require_expression(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ToolError(
            f"{pattern!r} is not a valid regular expression: {error}. For plain text set literal=true."
        ) from error


def _within(context: ToolContext, files: str, found: SearchResult) -> Iterable[TextMatch]:
    pattern = as_regex(files)
    return (match for match in found.matches if pattern.fullmatch(context.workspace.shown(match.path)))


def _shown(context: ToolContext, matches: list[TextMatch], *, cut: bool) -> str:
    if not matches:
        return "No matches. Files ignored by git are not searched."
    lines = [
        f"{context.workspace.shown(match.path)}:{match.line}: {match.text[:_LONGEST_LINE]}"
        for match in matches[:_MOST]
    ]
    if cut:
        lines.append(
            f"[Only {count(len(lines), 'match', 'matches')} shown: narrow the pattern, or give a path.]"
        )
    return "\n".join(lines)


TOOL = BuiltInTool(
    name="grep",
    description=(
        "Search the text of all files with a regular expression (one line at a time). "
        "Returns path:line: text. Files ignored by git are left out."
    ),
    parameters=GrepParameters,
    run=run,
    parallel=True,
)
