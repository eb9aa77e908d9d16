"""write: creates a file, or replaces all of its content."""

from typing import Annotated

from msgspec import Meta

from portico.porter.tools.bench import Bench
from portico.porter.tools.changing import require_writing, write
from portico.porter.tools.tool import Parameters, Tool


class Write(Parameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    content: Annotated[str, Meta(description="All of the file's text.")]


async def run(bench: Bench, wanted: Write) -> str:
    path = bench.place(wanted.path)
    require_writing(bench, path)
    shown = bench.workspace.shown(path)
    before = await bench.turn.files.read_if_there(path)
    if before == wanted.content:
        return f"{shown} already has this content; nothing was changed."
    await write(bench, path, before, wanted.content)
    lines = len(wanted.content.splitlines())
    return f"{'Created' if before is None else 'Replaced'} {shown}: {lines} line{'' if lines == 1 else 's'}."


TOOL = Tool(
    name="write",
    description=(
        "Create a file, with the folders it needs, or replace the whole content of one. For a change inside of a "
        "file that exists use edit. The person may be asked first."
    ),
    parameters=Write,
    run=run,
    changes=True,
)
