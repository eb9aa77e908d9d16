"""edit for small models: replaces the lines of one search/replace block in a file."""

from typing import Annotated

from msgspec import Meta

from portico.domain.errors import InvalidInput
from portico.porter.search_replace import apply_block, parse_blocks
from portico.porter.text_replacement import TextReplacement
from portico.porter.tool_call import ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.file_change import read_for_edit, write_file
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class SearchReplaceParameters(ToolParameters, frozen=True, kw_only=True):
    path: Annotated[str, Meta(description="The file, relative to the workspace.")]
    search: Annotated[str, Meta(description="Lines of the file to replace, without line numbers.")]
    replace: Annotated[str, Meta(description="The new lines.")]


async def run(context: ToolContext, parameters: SearchReplaceParameters) -> str:
    path, before = await read_for_edit(context, parameters.path)
    # Some models write whole blocks, with their marks, into the parameter.
    blocks = parse_blocks(parameters.search) or (TextReplacement(parameters.search, parameters.replace),)
    after = before
    for block in blocks:
        try:
            after = apply_block(after, block)
        except InvalidInput as error:
            raise ToolError(
                f"{error.message} Nothing was changed. {error.suggestion or ''}".strip()
            ) from error
    if after == before:
        raise ToolError("`replace` is the same as `search`: nothing was changed.")
    await write_file(context, path, before, after)
    return f"Changed {context.workspace.shown(path)}."


TOOL = BuiltInTool(
    name="edit",
    description=(
        "Change a file: the lines `search`, which must occur in it once, are replaced by the lines `replace`. "
        "Include enough lines to make the place clear. The user may be asked first."
    ),
    parameters=SearchReplaceParameters,
    run=run,
    changes=True,
)
