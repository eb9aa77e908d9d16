"""command_output: what a command in the background has printed."""

from typing import Annotated

from msgspec import Meta

from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Parameters, Tool

_LAST_CHARACTERS = 20_000


class CommandOutput(Parameters, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="As run said, such as command-1.")]
    wait_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=120,
            description="Wait so long for it to print something that you have not seen, or to end.",
        ),
    ] = 0


async def run(bench: Bench, wanted: CommandOutput) -> str:
    async with bench.turn.tool(Work(title=f"Output of {wanted.name}", kind="read")):
        now = await bench.background.look(wanted.name, patience=wanted.wait_seconds)
    state = f"It ended with {now}." if now.over else "It is still running."
    output = now.plain_output().strip("\n")
    return f"{output[-_LAST_CHARACTERS:]}\n\n{state}" if output else f"No output yet. {state}"


TOOL = Tool(
    name="command_output",
    description="Read what a command that run started in the background has printed so far, and whether it still runs.",
    parameters=CommandOutput,
    run=run,
)
