"""edit: replaces exact text in a file, in one or several places."""

from typing import Annotated

import msgspec
from msgspec import Meta

from portico.domain.errors import InvalidInput
from portico.porter.text_replacement import TextReplacement, replace_text
from portico.porter.tool_call import ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.file_change import read_for_edit, write_file
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class FileEdit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    old: Annotated[
        str,
        Meta(
            min_length=1, description="The exact text to replace, including whitespace, without line numbers."
        ),
    ]
    new: Annotated[str, Meta(description="The replacement.")]
    everywhere: Annotated[bool, Meta(description="Replace every occurrence.")] = False


class EditParameters(ToolParameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file, relative to the workspace or absolute.")]
    edits: Annotated[tuple[FileEdit, ...], Meta(min_length=1, description="Applied in order, all or none.")]


async def run(context: ToolContext, parameters: EditParameters) -> str:
    path, before = await read_for_edit(context, parameters.path)
    after, places = before, 0
    for number, edit in enumerate(parameters.edits, 1):
        after, replaced = _replaced(after, edit, number, len(parameters.edits))
        places += replaced
    if after == before:
        raise ToolError("The new text is the same as the old: nothing was changed.")
    await write_file(context, path, before, after)
    return f"Changed {context.workspace.shown(path)} in {places} place{'' if places == 1 else 's'}."


def _replaced(content: str, edit: FileEdit, number: int, total: int) -> tuple[str, int]:
    try:
        return replace_text(content, TextReplacement(edit.old, edit.new), everywhere=edit.everywhere)
    except InvalidInput as error:
        which = f"Edit {number} of {total}: " if total > 1 else ""
        if "places" in error.message:
            hint = "Include more of the surrounding text in `old`, or set everywhere=true."
        else:
            hint = error.suggestion or "Read the file again: it may have changed."
        raise ToolError(f"{which}{error.message} Nothing was changed. {hint}") from error


TOOL = BuiltInTool(
    name="edit",
    description=(
        "Change a file by replacing exact text. Each `old` must occur in the file exactly once, unless "
        "everywhere is true. Put several edits of one file in one call. The user may be asked first."
    ),
    parameters=EditParameters,
    run=run,
    changes=True,
)
