"""read_output: reads the part of a large output that was left out."""

import asyncio
from typing import Annotated

from msgspec import Meta

from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolParameters


class ReadOutputParameters(ToolParameters, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="The name given where the output was cut, such as output-1.")]
    offset: Annotated[int, Meta(ge=0, description="The offset of the first character.")] = 0


async def run(context: ToolContext, parameters: ReadOutputParameters) -> str:
    return await asyncio.to_thread(context.output_store.read, parameters.name, parameters.offset)


TOOL = BuiltInTool(
    name="read_output",
    description="Read more of an output that was too large to show.",
    parameters=ReadOutputParameters,
    run=run,
    parallel=True,
)
