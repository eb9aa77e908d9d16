"""read: reads the numbered lines of a file, or an image."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.acp import _schema as schema
from portico.files import real_path
from portico.files.regular import FileTooLarge
from portico.porter.files import NoSuchFile
from portico.porter.models.model import ModelImage, ModelText
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.similar_paths import similar_paths_hint
from portico.porter.tools.tool import BuiltInTool, ToolOutcome, ToolParameters

MOST_LINES = 2000
_LONGEST_LINE = 2000
_LARGEST_IMAGE = 4 * 1024 * 1024
_IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


class ReadParameters(ToolParameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    first_line: Annotated[int, Meta(ge=1, description="The first line to read, counting from 1.")] = 1
    lines: Annotated[int, Meta(ge=1, le=MOST_LINES, description="How many lines to read.")] = MOST_LINES


async def run(context: ToolContext, parameters: ReadParameters) -> str | ToolOutcome:
    path = context.resolve(parameters.path)
    shown = context.workspace.shown(path)
    most = min(parameters.lines, context.profile.limits.read_lines)
    work = ToolCallDetails(
        title=f"Read {shown}",
        kind="read",
        locations=(schema.ToolCallLocation(path=str(path), line=parameters.first_line),),
        raw_input={"path": str(path), "line": parameters.first_line, "limit": most},
    )
    async with context.turn.tool(work):
        if path.suffix.lower() in _IMAGES and context.images:
            return await asyncio.to_thread(_image, context.workspace.inside(path))
        try:
            # One extra line tells whether there is more.
            text = await context.turn.files.read(path, parameters.first_line, most + 1)
        except NoSuchFile as error:
            raise ToolError(f"{shown} does not exist.{await similar_paths_hint(context, path)}") from error
    content = _shown(text, parameters.first_line, most, shown, numbers=context.profile.line_numbers)
    if context.outline is None or parameters.first_line > 1 or len(text.splitlines()) <= most:
        return content
    outline = await context.outline(shown)
    return f"{content}\n\nThe file defines:\n{outline}" if outline else content


def _shown(text: str, first_line: int, most: int, shown: str, *, numbers: bool) -> str:
    lines = text.splitlines()
    if not lines:
        return f"{shown} is empty." if first_line == 1 else f"{shown} has no line {first_line}."
    part = lines[:most]
    text = "\n".join(
        (f"{number}\t" if numbers else "")
        + (line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} [line cut]")
        for number, line in enumerate(part, first_line)
    )
    if len(lines) <= len(part):
        return text
    return f"{text}\n\n[There is more: continue with first_line={first_line + len(part)}.]"


def _image(path: Path) -> ToolOutcome:
    try:
        data = real_path.read(path, limit=_LARGEST_IMAGE)
    except FileTooLarge as error:
        raise ToolError("The image is larger than 4 MB, which is too large.") from error
    except OSError as error:
        raise ToolError(f"The image cannot be read: {error.strerror}.") from error
    return ToolOutcome((ModelText(f"The image {path.name}:"), ModelImage(data, _IMAGES[path.suffix.lower()])))


TOOL = BuiltInTool(
    name="read",
    description=(
        "Read a text file of the workspace, with a line number before each line (not part of the file), "
        "or view an image. Unsaved changes in the user's editor are included. Read a file before you edit it."
    ),
    parameters=ReadParameters,
    run=run,
    parallel=True,
)
