"""list: what is in a folder."""

import asyncio
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from portico.domain.privacy import is_private
from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.nearby import near_names
from portico.porter.tools.tool import Parameters, Tool, ToolFailure

_MOST = 500


class List(Parameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The folder, relative to the workspace or absolute.")] = "."


async def run(bench: Bench, wanted: List) -> str:
    path = bench.place(wanted.path)
    shown = bench.workspace.shown(path)
    async with bench.turn.tool(Work(title=f"List {shown}", kind="read", raw_input={"path": str(path)})):
        if not await asyncio.to_thread(path.is_dir):
            what = "is a file: use read" if await asyncio.to_thread(path.is_file) else "is not there"
            near = "" if what.startswith("is a file") else await near_names(bench, path)
            raise ToolFailure(f"{shown} {what}.{near}")
        return await asyncio.to_thread(_listing, bench.workspace.inside(path), shown)


def _listing(folder: Path, shown: str) -> str:
    try:
        found = sorted(folder.iterdir(), key=lambda one: (not one.is_dir(), one.name))
    except OSError as error:
        raise ToolFailure(f"{shown} cannot be listed: {error.strerror}.") from error
    lines = [_line(one) for one in found[:_MOST] if not is_private(one.parts)]
    if len(found) > _MOST:
        lines.append(f"[{len(found) - _MOST} more: use glob with a narrower pattern.]")
    return "\n".join(lines) or f"{shown} is empty."


def _line(path: Path) -> str:
    if path.is_symlink():
        return f"{path.name} (link)"
    if path.is_dir():
        return f"{path.name}/"
    try:
        return f"{path.name} ({path.stat().st_size} bytes)"
    except OSError:
        return path.name


TOOL = Tool(
    name="list",
    description="List the files and folders in one folder of the workspace, folders first, with the sizes of files.",
    parameters=List,
    run=run,
    together=True,
)
