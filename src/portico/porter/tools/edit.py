"""edit: replaces exact text in a file, in one or several places at once."""

from typing import Annotated

import msgspec
from msgspec import Meta

from portico.domain.errors import InvalidInput
from portico.porter.files import NoSuchFile
from portico.porter.replacing import Replacement, replace
from portico.porter.tools.bench import Bench
from portico.porter.tools.changing import require_writing, write
from portico.porter.tools.nearby import near_names
from portico.porter.tools.tool import Parameters, Tool, ToolFailure


class Edit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    old: Annotated[
        str, Meta(min_length=1, description="The exact text, spaces and all, without line numbers.")
    ]
    new: Annotated[str, Meta(description="What stands there afterwards.")]
    everywhere: Annotated[bool, Meta(description="Replace each place, not the only one.")] = False


class EditFile(Parameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    edits: Annotated[
        tuple[Edit, ...], Meta(min_length=1, description="Done one after the other, all or none.")
    ]


async def run(bench: Bench, wanted: EditFile) -> str:
    path = bench.place(wanted.path)
    require_writing(bench, path)
    shown = bench.workspace.shown(path)
    try:
        before = await bench.turn.files.read(path)
    except NoSuchFile as error:
        raise ToolFailure(
            f"There is no file {shown}.{await near_names(bench, path)} write creates new files."
        ) from error
    after, places = before, 0
    for number, edit in enumerate(wanted.edits, 1):
        after, replaced = _replaced(after, edit, number, len(wanted.edits))
        places += replaced
    if after == before:
        raise ToolFailure("The new text is the same as the old: nothing was changed.")
    await write(bench, path, before, after)
    return f"Changed {shown} in {places} place{'' if places == 1 else 's'}."


def _replaced(content: str, edit: Edit, number: int, total: int) -> tuple[str, int]:
    try:
        return replace(content, Replacement(edit.old, edit.new), everywhere=edit.everywhere)
    except InvalidInput as error:
        which = f"Edit {number} of {total}: " if total > 1 else ""
        if "places" in error.message:
            hint = "Give more of the text around it in `old`, or set everywhere=true."
        else:
            hint = error.suggestion or "Read the file again: it may have changed."
        raise ToolFailure(f"{which}{error.message} Nothing was changed. {hint}") from error


TOOL = Tool(
    name="edit",
    description=(
        "Change a file by replacing exact text. Each `old` must stand in the file exactly once, unless "
        "everywhere is true. Several edits of one file go in one call. The person may be asked first."
    ),
    parameters=EditFile,
    run=run,
    changes=True,
)
