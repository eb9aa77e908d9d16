"""read: a file's lines with their numbers, or an image."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.acp import _schema as schema
from portico.files import real
from portico.files.regular import TooLarge
from portico.porter.files import NoSuchFile
from portico.porter.models.port import Image, Text
from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.nearby import near_names
from portico.porter.tools.tool import Outcome, Parameters, Tool, ToolFailure

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


class Read(Parameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    first_line: Annotated[int, Meta(ge=1, description="Where to begin; lines count from 1.")] = 1
    lines: Annotated[int, Meta(ge=1, le=MOST_LINES, description="How many lines to read.")] = MOST_LINES


async def run(bench: Bench, wanted: Read) -> str | Outcome:
    path = bench.place(wanted.path)
    shown = bench.workspace.shown(path)
    work = Work(
        title=f"Read {shown}",
        kind="read",
        locations=(schema.ToolCallLocation(path=str(path), line=wanted.first_line),),
        raw_input={"path": str(path), "line": wanted.first_line, "limit": wanted.lines},
    )
    async with bench.turn.tool(work):
        if path.suffix.lower() in _IMAGES and bench.images:
            return await asyncio.to_thread(_image, bench.workspace.inside(path))
        try:
            # One line more than is wanted tells whether there is more.
            text = await bench.turn.files.read(path, wanted.first_line, wanted.lines + 1)
        except NoSuchFile as error:
            raise ToolFailure(f"There is no file {shown}.{await near_names(bench, path)}") from error
    return _numbered(text, wanted, shown)


def _numbered(text: str, wanted: Read, shown: str) -> str:
    lines = text.splitlines()
    if not lines:
        return f"{shown} is empty." if wanted.first_line == 1 else f"{shown} has no line {wanted.first_line}."
    part = lines[: wanted.lines]
    numbered = "\n".join(
        f"{number}\t{line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + ' [line cut]'}"
        for number, line in enumerate(part, wanted.first_line)
    )
    if len(lines) <= len(part):
        return numbered
    return f"{numbered}\n\n[There is more: go on with first_line={wanted.first_line + len(part)}.]"


def _image(path: Path) -> Outcome:
    try:
        data = real.read(path, limit=_LARGEST_IMAGE)
    except TooLarge as error:
        raise ToolFailure("The image is larger than 4 MB, too large to look at.") from error
    except OSError as error:
        raise ToolFailure(f"The image cannot be read: {error.strerror}.") from error
    return Outcome((Text(f"The image {path.name}:"), Image(data, _IMAGES[path.suffix.lower()])))


TOOL = Tool(
    name="read",
    description=(
        "Read a text file of the workspace, with line numbers before each line (they are not part of the file), "
        "or look at an image. Unsaved changes in the person's editor are included. Read a file before you edit it."
    ),
    parameters=Read,
    run=run,
    together=True,
)
