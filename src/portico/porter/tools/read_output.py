"""read_output: the part of a large output that was left out."""

import asyncio
from typing import Annotated

from msgspec import Meta

from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Parameters, Tool


class ReadOutput(Parameters, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="As it stands where the output was cut, such as output-1.")]
    offset: Annotated[int, Meta(ge=0, description="The character to begin with.")] = 0


async def run(bench: Bench, wanted: ReadOutput) -> str:
    return await asyncio.to_thread(bench.shelf.read, wanted.name, wanted.offset)


TOOL = Tool(
    name="read_output",
    description="Read more of an output that was too large and was cut.",
    parameters=ReadOutput,
    run=run,
    together=True,
)
