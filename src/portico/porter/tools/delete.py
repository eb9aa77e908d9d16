"""delete: removes a file or an empty folder."""

import asyncio
import stat
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.acp import _schema as schema
from portico.files import real_path
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.file_change import ChangeRequest, ask_permission, require_write_access
from portico.porter.tools.similar_paths import similar_paths_hint
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class DeleteParameters(ToolParameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file or empty folder.")]


async def run(context: ToolContext, parameters: DeleteParameters) -> str:
    path = context.resolve(parameters.path)
    require_write_access(context, path)
    shown = context.workspace.shown(path)
    if path in context.workspace.roots:
        raise ToolError("The workspace itself cannot be deleted.")
    if not await asyncio.to_thread(lambda: path.exists() or path.is_symlink()):
        raise ToolError(f"{shown} does not exist.{await similar_paths_hint(context, path)}")
    place = context.workspace.entry(path)
    work = ToolCallDetails(
        title=f"Delete {shown}",
        kind="delete",
        locations=(schema.ToolCallLocation(path=str(path)),),
        raw_input={"path": str(path)},
        waits=True,
    )
    change = ChangeRequest(
        paths=(path,),
        otherwise=f"The user declined: {shown} was not deleted.",
        covers="every deletion of files",
    )
    async with context.turn.tool(work) as call:
        await ask_permission(context, change, call)
        await asyncio.to_thread(_remove, place, shown)
    return f"Deleted {shown}."


def _remove(path: Path, shown: str) -> None:
    try:
        if stat.S_ISDIR(real_path.lstat(path).st_mode):
            real_path.rmdir(path)
        else:
            real_path.unlink(path)
    except OSError as error:
        raise ToolError(f"{shown} was not deleted: {error.strerror}. Folders must be empty.") from error


TOOL = BuiltInTool(
    name="delete",
    description="Delete one file, or an empty folder. The user may be asked first.",
    parameters=DeleteParameters,
    run=run,
    changes=True,
)
