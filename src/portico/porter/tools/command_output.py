"""command_output: reads the output of a background command."""

from typing import Annotated

from msgspec import Meta

from portico.porter.tool_call import ToolCallDetails
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters

_LAST_CHARACTERS = 20_000


class CommandOutputParameters(ToolParameters, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="The name that run returned, such as command-1.")]
    wait_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=120,
            description="How long to wait for new output or for the end of the command.",
        ),
    ] = 0


async def run(context: ToolContext, parameters: CommandOutputParameters) -> str:
    async with context.turn.tool(ToolCallDetails(title=f"Output of {parameters.name}", kind="read")):
        now = await context.background.look(parameters.name, patience=parameters.wait_seconds)
    state = f"It ended with {now}." if now.over else "It is still running."
    output = now.plain_output().strip("\n")
    return f"{output[-_LAST_CHARACTERS:]}\n\n{state}" if output else f"No output yet. {state}"


TOOL = BuiltInTool(
    name="command_output",
    description="Read the output so far of a command that run started in the background, and whether it is still running.",
    parameters=CommandOutputParameters,
    run=run,
)
