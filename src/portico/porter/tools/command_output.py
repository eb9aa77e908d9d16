"""command_output: reads the output of a background command."""

from typing import Annotated

from msgspec import Meta

from portico.porter.tool_call import ToolCallDetails
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters

_LAST_CHARACTERS = 20_000


class CommandOutputParameters(ToolParameters, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="As run said, such as command-1.")]
    wait_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=120,
            description="Wait so long for it to print something that you have not seen, or to end.",
        ),
    ] = 0


async def run(context: ToolContext, wanted: CommandOutputParameters) -> str:
    async with context.turn.tool(ToolCallDetails(title=f"Output of {wanted.name}", kind="read")):
        now = await context.background.look(wanted.name, patience=wanted.wait_seconds)
    state = f"It ended with {now}." if now.over else "It is still running."
    output = now.plain_output().strip("\n")
    return f"{output[-_LAST_CHARACTERS:]}\n\n{state}" if output else f"No output yet. {state}"


TOOL = BuiltInTool(
    name="command_output",
    description="Read what a command that run started in the background has printed so far, and whether it still runs.",
    parameters=CommandOutputParameters,
    run=run,
)
