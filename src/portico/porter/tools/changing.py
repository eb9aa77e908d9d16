"""How tools change files: what is protected, who is asked, and that nothing is overwritten that changed meanwhile.

In a scratch folder nobody is asked, because the person reviews the result. Porter's own settings are asked
about each time, wherever they are: they decide what Porter may do.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from portico.acp import _schema as schema
from portico.domain.errors import PermissionDenied
from portico.domain.privacy import plain_name
from portico.porter.toolcalls import ToolCall, Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import ToolFailure

_SETTINGS = ".portico"
_REPOSITORY = ".git"


def require_writing(bench: Bench, path: Path) -> None:
    """ToolFailure where this scenario does not write; PermissionDenied for what nobody may change here."""
    if not bench.may_write:
        raise ToolFailure(
            f"The scenario {bench.scenario.name} does not change files. Say what you would change."
        )
    refuse_protected(bench, path)


def refuse_protected(bench: Bench, path: Path) -> None:
    if _leads_through(bench, path, _REPOSITORY):
        raise PermissionDenied(f"{bench.workspace.shown(path)} belongs to git; tools do not change it.")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is about to happen to some files, and what to say if the person does not want it."""

    work: Work
    paths: tuple[Path, ...]
    otherwise: str
    scope: str = "edit"
    covers: str = "every change of files"


async def permit(bench: Bench, call: ToolCall, change: Change) -> None:
    """Ask the person where that is needed."""
    guarded = any(_leads_through(bench, path, _SETTINGS) for path in change.paths)
    if not guarded and needs_no_answer(bench, change.paths):
        call.proceed()
        return
    covers = None if guarded else change.covers
    await bench.turn.permit(
        call, "settings" if guarded else change.scope, covers=covers, otherwise=change.otherwise
    )


def needs_no_answer(bench: Bench, paths: Sequence[Path]) -> bool:
    root = os.path.realpath(bench.workspace.root)
    return bench.scratch and all(Path(os.path.realpath(path)).is_relative_to(root) for path in paths)


async def write(bench: Bench, path: Path, before: str | None, after: str) -> None:
    """Show the difference, ask, and write. `before` is None for a new file."""
    shown = bench.workspace.shown(path)
    work = Work(
        title=f"{'Create' if before is None else 'Change'} {shown}",
        kind="edit",
        locations=(schema.ToolCallLocation(path=str(path), line=_first_difference(before or "", after)),),
        content=(schema.Diff(path=str(path), old_text=before, new_text=after),),
        raw_input={"path": str(path)},
        waits=True,
    )
    change = Change(work=work, paths=(path,), otherwise=f"The person declined: {shown} was not changed.")
    async with bench.turn.tool(work) as call:
        await permit(bench, call, change)
        if await bench.turn.files.read_if_there(path) != before:
            raise ToolFailure(f"{shown} changed meanwhile, so nothing was written. Read it again.")
        await bench.turn.files.write(path, after)


def _leads_through(bench: Bench, path: Path, folder: str) -> bool:
    real = bench.workspace.inside(path)
    return any(plain_name(part) == folder for one in (path, real) for part in _parts_below(bench, one))


def _parts_below(bench: Bench, path: Path) -> tuple[str, ...]:
    """The parts of a path below the session's folder that it is in; a scratch folder may lie in a settings folder."""
    for root in bench.workspace.roots:
        for base in (root, Path(os.path.realpath(root))):
            if path.is_relative_to(base):
                return path.relative_to(base).parts
    return path.parts


def _first_difference(before: str, after: str) -> int:
    old, new = before.splitlines(), after.splitlines()
    pairs = enumerate(zip(old, new, strict=False), 1)
    return next((number for number, (one, other) in pairs if one != other), min(len(old), len(new)) + 1)
