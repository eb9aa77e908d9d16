"""delete: removes a file, or a folder that is empty."""

import asyncio
import stat
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.acp import _schema as schema
from portico.files import real
from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.changing import Change, permit, require_writing
from portico.porter.tools.nearby import near_names
from portico.porter.tools.tool import Parameters, Tool, ToolFailure


class Delete(Parameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file or empty folder.")]


async def run(bench: Bench, wanted: Delete) -> str:
    path = bench.place(wanted.path)
    require_writing(bench, path)
    shown = bench.workspace.shown(path)
    if path in bench.workspace.roots:
        raise ToolFailure("The workspace itself cannot be deleted.")
    if not await asyncio.to_thread(lambda: path.exists() or path.is_symlink()):
        raise ToolFailure(f"There is no {shown}.{await near_names(bench, path)}")
    place = bench.workspace.entry(path)
    work = Work(
        title=f"Delete {shown}",
        kind="delete",
        locations=(schema.ToolCallLocation(path=str(path)),),
        raw_input={"path": str(path)},
        waits=True,
    )
    change = Change(
        work=work,
        paths=(path,),
        otherwise=f"The person declined: {shown} was not deleted.",
        covers="every deletion of files",
    )
    async with bench.turn.tool(work) as call:
        await permit(bench, call, change)
        await asyncio.to_thread(_remove, place, shown)
    return f"Deleted {shown}."


def _remove(path: Path, shown: str) -> None:
    try:
        if stat.S_ISDIR(real.lstat(path).st_mode):
            real.rmdir(path)
        else:
            real.unlink(path)
    except OSError as error:
        raise ToolFailure(f"{shown} was not deleted: {error.strerror}. Folders have to be empty.") from error


TOOL = Tool(
    name="delete",
    description="Delete one file, or a folder that is empty. The person may be asked first.",
    parameters=Delete,
    run=run,
    changes=True,
)
