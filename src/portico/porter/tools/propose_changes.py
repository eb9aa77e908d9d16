"""propose_changes: shows the user a complete set of changes without writing them to their files.

In a working copy the changes are written there, and the user reviews them. Elsewhere the chain keeps them as a
proposal, even if edits are allowed. A client without such a chain only gets them with the call, and a notice says how
to get a proposal that can be applied.
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
from portico.rpc.messages import RpcError

_ONLY_SHOWN = "The changes are shown, not written: this session does not review changes."
_READY = "The proposal is ready for the user's review. Their files do not change until they apply it."
_TO_APPLY = (
    "To apply some of them, set the review mode to proposal (--mode proposal in a terminal) and ask again."
)


class ProposedFileContent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    operation: Literal["create", "update", "delete"]
    new_content: Annotated[str | None, Meta(description="The complete new content; not for delete.")] = None


class ProposeParameters(ToolParameters, frozen=True, kw_only=True):
    changes: Annotated[tuple[ProposedFileContent, ...], Meta(min_length=1, max_length=200)]


class _Checked(msgspec.Struct, frozen=True):
    path: Path
    before: str | None
    after: str | None


async def run(context: ToolContext, parameters: ProposeParameters) -> str:
    checked, wrong = [], []
    for proposed in parameters.changes:
        try:
            checked.append(await _check(context, proposed))
        except (ToolError, PorticoError) as error:
            wrong.append(f"- {proposed.path}: {error}")
    if len({change.path for change in checked}) < len(checked):
        wrong.append("- A file is listed twice.")
    if wrong:
        raise ToolError(
            "Nothing was proposed. Correct these and propose everything again:\n" + "\n".join(wrong)
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
        if is_preapproved(context, [change.path for change in checked]):
            for change in checked:
                await _put(context, change)
            return _READY
        root = context.workspace.root
        if context.turn.session.parameters.keeps_proposals and all(
            change.path.is_relative_to(root) for change in checked
        ):
            return await _propose(context, parameters)
        context.turn.notice(_ONLY_SHOWN, _TO_APPLY)
        return "The user sees the changes. Nothing was written, and they cannot apply them in this session."


async def _propose(context: ToolContext, parameters: ProposeParameters) -> str:
    changes = [
        {
            "path": str(context.resolve(one.path)),
            "operation": one.operation,
            "new_content": one.new_content,
        }
        for one in parameters.changes
    ]
    try:
        kept = await context.turn.propose(changes)
    except RpcError as error:
        raise ToolError(error.reason) from error
    match kept.status:
        case "applied":
            return "The user applied the proposal."
        case "discarded":
            return "The user discarded the proposal. Their files are as they were."
        case "open":
            return _READY


async def _check(context: ToolContext, change: ProposedFileContent) -> _Checked:
    path = context.resolve(change.path)
    refuse_protected(context, path)
    before = await context.turn.files.read_if_exists(path)
    match change.operation:
        case "create" if before is not None:
            raise ToolError("already exists; use update")
        case "update" | "delete" if before is None:
            raise ToolError("does not exist")
        case "create" | "update" if change.new_content is None:
            raise ToolError("has no new_content")
        case "delete" if change.new_content is not None:
            raise ToolError("must not have new_content, because it is deleted")
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
        "Show the user a complete set of changes for review: the final content of each file that is created or "
        "updated, and the files to delete. Call it once, when the whole change is ready."
    ),
    parameters=ProposeParameters,
    run=run,
    changes=True,
)
