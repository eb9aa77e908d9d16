"""glob: finds files by a name pattern."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.domain.secret_files import is_private
from portico.porter.search.file_list import MAX_FILES, collect_files
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters

_MOST = 300


class GlobParameters(ToolParameters, frozen=True, kw_only=True):
    pattern: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description="A pattern such as src/**/*.py, *.toml or **/{test,spec}_*.ts.",
        ),
    ]
    path: Annotated[str, Meta(description="The folder to search.")] = "."


async def run(context: ToolContext, parameters: GlobParameters) -> str:
    folder = context.resolve(parameters.path)
    work = ToolCallDetails(
        title=f"Find files {parameters.pattern}", kind="search", raw_input={"pattern": parameters.pattern}
    )
    async with context.turn.tool(work):
        if not await asyncio.to_thread(folder.is_dir):
            raise ToolError(f"{context.workspace.shown(folder)} is not a folder.")
        files = await collect_files(folder, context.environ)
        found = await asyncio.to_thread(_fitting, files, folder, as_regex(parameters.pattern))
    names = [context.workspace.shown(path) for path in found[:_MOST]]
    if len(found) > _MOST:
        names.append(f"[{len(found) - _MOST} more: use a narrower pattern.]")
    if len(files) >= MAX_FILES:
        names.append(f"[Only the first {MAX_FILES} files were searched: give a path.]")
    return "\n".join(names) or f"No file matches {parameters.pattern}. Files ignored by git are not searched."


def _fitting(files: Sequence[Path], folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    """Sort by modification time, newest first."""
    found = [
        path
        for path in files
        if pattern.fullmatch(path.relative_to(folder).as_posix()) and not is_private(path.parts)
    ]
    return sorted(found, key=_changed, reverse=True)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def as_regex(pattern: str) -> re.Pattern[str]:
    """Translate a pattern: `*` and `?` stay within a folder, `**` crosses folders, and a bare name matches in any folder."""
    pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    expression, depth = "", 0
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|[{},]|[^*?\[{},]+|\[", pattern):
        match token:
            case "**/":
                expression += "(?:[^/]+/)*"
            case "**":
                expression += ".*"
            case "*":
                expression += "[^/]*"
            case "?":
                expression += "[^/]"
            case "{":
                depth += 1
                expression += "(?:"
            case "}" if depth:
                depth -= 1
                expression += ")"
            case "," if depth:
                expression += "|"
            case _ if token.startswith("[") and len(token) > 2:
                expression += "[" + token[1:-1].replace("\\", r"\\").replace("!", "^", 1) + "]"
            case _:
                expression += re.escape(token)
    try:
        return re.compile(expression + ")" * depth)
    except re.error as error:
        raise ToolError(f"{pattern!r} is not a valid file pattern: {error}.") from error


TOOL = BuiltInTool(
    name="glob",
    description=(
        "Find files by their names. * and ? stay within one folder, ** crosses folders, {a,b} is either. "
        "Recently changed files come first; files ignored by git are left out."
    ),
    parameters=GlobParameters,
    run=run,
    parallel=True,
)
