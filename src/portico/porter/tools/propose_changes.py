"""propose_changes: shows the person a complete set of changes without writing them.

In a scratch folder the changes are put there, since that is where the person reviews them from. Elsewhere they
are shown with the call and go no further, not even where edits are allowed without asking: the person is told
how to get a proposal that can be applied.
"""

import asyncio
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from portico.acp import _schema as schema
from portico.domain.errors import PorticoError
from portico.files import real_path
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.file_change import is_preapproved, refuse_protected
from portico.porter.tools.tool import BuiltInTool, ToolParameters

_ONLY_SHOWN = "The changes are shown, not written: this session has no review to apply them from."
_TO_APPLY = (
    "Set its review mode to proposal (--mode proposal in a terminal) and ask again to apply what you like."
)


class ProposedFileContent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    operation: Literal["create", "update", "delete"]
    new_content: Annotated[
        str | None, Meta(description="All of the file's text afterwards; not for delete.")
    ] = None


class ProposeParameters(ToolParameters, frozen=True, kw_only=True):
    changes: Annotated[tuple[ProposedFileContent, ...], Meta(min_length=1, max_length=200)]


class _Checked(msgspec.Struct, frozen=True):
    path: Path
    before: str | None
    after: str | None


async def run(context: ToolContext, wanted: ProposeParameters) -> str:
    checked, wrong = [], []
    for proposed in wanted.changes:
        try:
            checked.append(await _check(context, proposed))
        except (ToolError, PorticoError) as error:
            wrong.append(f"- {proposed.path}: {error}")
    if len({change.path for change in checked}) < len(checked):
        wrong.append("- A file stands in the list twice.")
    if wrong:
        raise ToolError(
            "Nothing was proposed. Put these right and propose everything again:\n" + "\n".join(wrong)
        )
    work = ToolCallDetails(
        title=f"Propose changes of {len(checked)} file{'' if len(checked) == 1 else 's'}",
        kind="edit",
        locations=tuple(schema.ToolCallLocation(path=str(change.path)) for change in checked),
        content=tuple(
            schema.Diff(path=str(change.path), old_text=change.before, new_text=change.after or "")
            for change in checked
        ),
    )
    async with context.turn.tool(work):
        if not is_preapproved(context, [change.path for change in checked]):
            context.turn.notice(_ONLY_SHOWN, _TO_APPLY)
            return "The person sees the changes. Nothing was written, and in this session they cannot apply them."
        for change in checked:
            await _put(context, change)
    return "The proposal is ready for the person's review. Nothing reaches their files before they apply it."


async def _check(context: ToolContext, change: ProposedFileContent) -> _Checked:
    path = context.place(change.path)
    refuse_protected(context, path)
    before = await context.turn.files.read_if_exists(path)
    match change.operation:
        case "create" if before is not None:
            raise ToolError("exists already; use update")
        case "update" | "delete" if before is None:
            raise ToolError("does not exist")
        case "create" | "update" if change.new_content is None:
            raise ToolError("has no new_content")
        case "delete" if change.new_content is not None:
            raise ToolError("is to be deleted, so it has no new_content")
        case "update" if before == change.new_content:
            raise ToolError("would not change")
    return _Checked(path, before, change.new_content)


async def _put(context: ToolContext, change: _Checked) -> None:
    if change.after is None:
        await asyncio.to_thread(real_path.unlink, context.workspace.entry(change.path))
    else:
        await context.turn.files.write(change.path, change.after)


TOOL = BuiltInTool(
    name="propose_changes",
    description=(
        "Show the person a complete set of changes for review: the final content of each file that is created or "
        "updated, and the files to delete. Call it once, when the whole change is ready."
    ),
    parameters=ProposeParameters,
    run=run,
    changes=True,
)
