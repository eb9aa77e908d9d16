"""File changes by tools: protected paths, permission, and a check that the file did not change meanwhile.

In a working copy no permission is needed, because the user reviews the result. Changes of Porter's own settings
need permission every time, wherever they are: settings decide what Porter may do.
"""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from portico.domain.errors import PermissionDenied
from portico.domain.secret_files import plain_name
from portico.porter.file_write import FileWrite
from portico.porter.files import NoSuchFile
from portico.porter.tool_call import ToolCallReport, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.similar_paths import similar_paths_hint

_SETTINGS = ".portico"
_REPOSITORY = ".git"


def require_write_access(context: ToolContext, path: Path) -> None:
    """Raise ToolError if the scenario does not write, and PermissionDenied for a protected path."""
    if not context.may_write:
        raise ToolError(
            f"The scenario {context.scenario.name} does not change files. Describe what you would change."
        )
    refuse_protected(context, path)


def refuse_protected(context: ToolContext, path: Path) -> None:
    if _leads_through(context, path, _REPOSITORY):
        raise PermissionDenied(f"{context.workspace.shown(path)} belongs to git; tools cannot change it.")


class ChangeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A permission request for a change of files; `otherwise` is the message if the user declines."""

    paths: tuple[Path, ...]
    otherwise: str
    scope: str = "edit"
    covers: str = "every change of files"


async def ask_permission(context: ToolContext, change: ChangeRequest, call: ToolCallReport) -> None:
    """Ask the user, unless the change is approved already."""
    guarded = any(_leads_through(context, path, _SETTINGS) for path in change.paths)
    if not guarded and is_preapproved(context, change.paths):
        call.proceed()
        return
    covers = None if guarded else change.covers
    await context.turn.permit(
        call, "settings" if guarded else change.scope, covers=covers, otherwise=change.otherwise
    )


def is_preapproved(context: ToolContext, paths: Sequence[Path]) -> bool:
    root = os.path.realpath(context.workspace.root)
    return context.working_copy and all(Path(os.path.realpath(path)).is_relative_to(root) for path in paths)


async def read_for_edit(context: ToolContext, name: str) -> tuple[Path, str]:
    """The path and text of a file to edit. ToolError if it does not exist or may not be changed."""
    path = context.resolve(name)
    require_write_access(context, path)
    try:
        return path, await context.turn.files.read(path)
    except NoSuchFile as error:
        hint = await similar_paths_hint(context, path)
        shown = context.workspace.shown(path)
        raise ToolError(f"{shown} does not exist.{hint} Create new files with write.") from error


async def write_file(context: ToolContext, path: Path, before: str | None, after: str) -> None:
    """Show the difference, ask, and write. `before` is None for a new file."""
    shown = context.workspace.shown(path)
    change = ChangeRequest(paths=(path,), otherwise=f"The user declined: {shown} was not changed.")
    stale = ToolError(f"{shown} changed meanwhile, so nothing was written. Read it again.")
    permit = partial(ask_permission, context, change)
    await FileWrite(path, before, after).run(context.turn, permit, stale=stale)


def _leads_through(context: ToolContext, path: Path, folder: str) -> bool:
    real = context.workspace.inside(path)
    return any(plain_name(part) == folder for one in (path, real) for part in _parts_below(context, one))


def _parts_below(context: ToolContext, path: Path) -> tuple[str, ...]:
    """Return the parts of a path below the session's folder: a working copy may itself lie in a settings folder."""
    for root in context.workspace.roots:
        for base in (root, Path(os.path.realpath(root))):
            if path.is_relative_to(base):
                return path.relative_to(base).parts
    return path.parts
