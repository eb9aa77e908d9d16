"""write: creates a file or replaces its content."""

from typing import Annotated

from msgspec import Meta

from portico.porter.tools.context import ToolContext
from portico.porter.tools.file_change import require_write_access, write_file
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class WriteParameters(ToolParameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    content: Annotated[str, Meta(description="The complete content of the file.")]


async def run(context: ToolContext, parameters: WriteParameters) -> str:
    path = context.resolve(parameters.path)
    require_write_access(context, path)
    shown = context.workspace.shown(path)
    before = await context.turn.files.read_if_exists(path)
    if before == parameters.content:
        return f"{shown} already has this content; nothing was changed."
    await write_file(context, path, before, parameters.content)
    lines = len(parameters.content.splitlines())
    return f"{'Created' if before is None else 'Replaced'} {shown}: {lines} line{'' if lines == 1 else 's'}."


TOOL = BuiltInTool(
    name="write",
    description=(
        "Create a file, including missing folders, or replace the whole content of one. To change part of a "
        "file, use edit. The user may be asked first."
    ),
    parameters=WriteParameters,
    run=run,
    changes=True,
)
