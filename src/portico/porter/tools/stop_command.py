"""stop_command: stops a background command."""

from typing import Annotated

from msgspec import Meta

from portico.porter.tool_call import ToolCallDetails
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters

_LAST_CHARACTERS = 4000


class StopCommandParameters(ToolParameters, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="The name that run returned, such as command-1.")]


async def run(context: ToolContext, parameters: StopCommandParameters) -> str:
    async with context.turn.tool(ToolCallDetails(title=f"Stop {parameters.name}", kind="execute")):
        ended = await context.background.stop(parameters.name)
    how = f"It had ended with {ended}." if ended.over else "It was stopped."
    return f"{ended.plain_output()[-_LAST_CHARACTERS:]}\n\n{how}".strip()


TOOL = BuiltInTool(
    name="stop_command",
    description="Stop a command that run started in the background, with all its child processes.",
    parameters=StopCommandParameters,
    run=run,
    changes=True,
)
