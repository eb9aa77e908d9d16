"""list: lists a folder."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.domain.secret_files import is_private
from portico.files.folders import open_folder
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.similar_paths import similar_paths_hint
from portico.porter.tools.tool import BuiltInTool, ToolParameters

_MOST = 500


class ListParameters(ToolParameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The folder, relative to the workspace or absolute.")] = "."


async def run(context: ToolContext, parameters: ListParameters) -> str:
    path = context.resolve(parameters.path)
    shown = context.workspace.shown(path)
    async with context.turn.tool(
        ToolCallDetails(title=f"List {shown}", kind="read", raw_input={"path": str(path)})
    ):
        if not await asyncio.to_thread(path.is_dir):
            what = "is a file: use read" if await asyncio.to_thread(path.is_file) else "does not exist"
            near = "" if what.startswith("is a file") else await similar_paths_hint(context, path)
            raise ToolError(f"{shown} {what}.{near}")
        return await asyncio.to_thread(_listing, context.workspace.inside(path), shown)


def _listing(folder: Path, shown: str) -> str:
    try:
        with open_folder(folder) as opened, opened.scan() as entries:
            found = sorted(map(_entry, entries))
    except OSError as error:
        raise ToolError(f"{shown} cannot be listed: {error.strerror}.") from error
    lines = [line for _, name, line in found[:_MOST] if not is_private((*folder.parts, name))]
    if len(found) > _MOST:
        lines.append(f"[{len(found) - _MOST} more: use glob with a narrower pattern.]")
    return "\n".join(lines) or f"{shown} is empty."


def _entry(entry: "os.DirEntry[str]") -> tuple[bool, str, str]:
    """Return a sort key (folders first, then by name) and the line of an entry."""
    name = entry.name
    if entry.is_symlink():
        return True, name, f"{name} (link)"
    if entry.is_dir(follow_symlinks=False):
        return False, name, f"{name}/"
    try:
        return True, name, f"{name} ({entry.stat(follow_symlinks=False).st_size} bytes)"
    except OSError:
        return True, name, name


TOOL = BuiltInTool(
    name="list",
    description="List the files and folders in one folder of the workspace, folders first, with the sizes of files.",
    parameters=ListParameters,
    run=run,
    parallel=True,
)
