"""move: gives a file or folder another name or place."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.acp import _schema as schema
from portico.files import real
from portico.files.folders import make_folders
from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.changing import Change, permit, require_writing
from portico.porter.tools.nearby import near_names
from portico.porter.tools.tool import Parameters, Tool, ToolFailure


class Move(Parameters, frozen=True, kw_only=True):
    source: Annotated[str, Meta(description="The file or folder as it is called now.")]
    target: Annotated[str, Meta(description="Its new path. Nothing may be there yet.")]


async def run(bench: Bench, wanted: Move) -> str:
    source, target = bench.place(wanted.source), bench.place(wanted.target)
    for path in (source, target):
        require_writing(bench, path)
    before, after = bench.workspace.shown(source), bench.workspace.shown(target)
    if source in bench.workspace.roots or target.is_relative_to(source):
        raise ToolFailure(f"{before} cannot be moved to {after}.")
    if not await asyncio.to_thread(source.exists):
        raise ToolFailure(f"There is no {before}.{await near_names(bench, source)}")
    places = bench.workspace.entry(source), bench.workspace.entry(target)
    work = Work(
        title=f"Move {before} to {after}",
        kind="move",
        locations=(schema.ToolCallLocation(path=str(source)), schema.ToolCallLocation(path=str(target))),
        raw_input={"source": str(source), "target": str(target)},
        waits=True,
    )
    change = Change(
        work=work,
        paths=(source, target),
        otherwise=f"The person declined: {before} was not moved.",
        covers="every move of files",
    )
    async with bench.turn.tool(work) as call:
        await permit(bench, call, change)
        await asyncio.to_thread(_move, *places, after)
    return f"Moved {before} to {after}."


def _move(source: Path, target: Path, shown: str) -> None:
    try:
        if real.exists(target):
            raise ToolFailure(f"There is something at {shown} already: nothing was moved.")
        make_folders(target.parent).close()
        real.rename(source, target)
    except OSError as error:
        raise ToolFailure(f"It was not moved: {error.strerror}.") from error


TOOL = Tool(
    name="move",
    description="Rename or move a file or folder. Nothing is overwritten. The person may be asked first.",
    parameters=Move,
    run=run,
    changes=True,
)
