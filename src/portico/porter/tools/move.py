"""move: renames or moves a file or folder."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.acp import _schema as schema
from portico.files import real_path
from portico.files.folders import make_folders
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.file_change import ChangeRequest, ask_permission, require_write_access
from portico.porter.tools.similar_paths import similar_paths_hint
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class MoveParameters(ToolParameters, frozen=True, kw_only=True):
    source: Annotated[str, Meta(description="The current path of the file or folder.")]
    target: Annotated[str, Meta(description="The new path, which must not exist yet.")]


async def run(context: ToolContext, parameters: MoveParameters) -> str:
    source, target = context.resolve(parameters.source), context.resolve(parameters.target)
    for path in (source, target):
        require_write_access(context, path)
    before, after = context.workspace.shown(source), context.workspace.shown(target)
    if source in context.workspace.roots or target.is_relative_to(source):
        raise ToolError(f"{before} cannot be moved to {after}.")
    if not await asyncio.to_thread(source.exists):
        raise ToolError(f"{before} does not exist.{await similar_paths_hint(context, source)}")
    places = context.workspace.entry(source), context.workspace.entry(target)
    work = ToolCallDetails(
        title=f"Move {before} to {after}",
        kind="move",
        locations=(schema.ToolCallLocation(path=str(source)), schema.ToolCallLocation(path=str(target))),
        raw_input={"source": str(source), "target": str(target)},
        waits=True,
    )
    change = ChangeRequest(
        paths=(source, target),
        otherwise=f"The user declined: {before} was not moved.",
        covers="every move of files",
    )
    async with context.turn.tool(work) as call:
        await ask_permission(context, change, call)
        await asyncio.to_thread(_move, *places, after)
    return f"Moved {before} to {after}."


def _move(source: Path, target: Path, shown: str) -> None:
    try:
        if real_path.exists(target):
            raise ToolError(f"{shown} already exists: nothing was moved.")
        make_folders(target.parent).close()
        real_path.rename(source, target)
    except OSError as error:
        raise ToolError(f"It was not moved: {error.strerror}.") from error


TOOL = BuiltInTool(
    name="move",
    description="Rename or move a file or folder. Nothing is overwritten. The user may be asked first.",
    parameters=MoveParameters,
    run=run,
    changes=True,
)
