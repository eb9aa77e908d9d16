"""stop_command: ends a command that runs in the background."""

from typing import Annotated

from msgspec import Meta

from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Parameters, Tool

_LAST_CHARACTERS = 4000


class StopCommand(Parameters, frozen=True, kw_only=True):
    name: Annotated[str, Meta(description="As run said, such as command-1.")]


async def run(bench: Bench, wanted: StopCommand) -> str:
    async with bench.turn.tool(Work(title=f"Stop {wanted.name}", kind="execute")):
        ended = await bench.background.stop(wanted.name)
    how = f"It had ended with {ended}." if ended.over else "It was stopped."
    return f"{ended.plain_output()[-_LAST_CHARACTERS:]}\n\n{how}".strip()


TOOL = Tool(
    name="stop_command",
    description="End a command that run started in the background, with everything that it started.",
    parameters=StopCommand,
    run=run,
    changes=True,
)
