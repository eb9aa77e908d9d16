"""run: runs a command line in the workspace, to its end or in the background."""

import asyncio
import sys
from typing import Annotated

from msgspec import Meta

from portico.porter.models.port import Text
from portico.porter.terminals import Ended
from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Outcome, Parameters, Tool, ToolFailure

_SECONDS = 120
_MOST_SECONDS = 1800


class Run(Parameters, frozen=True, kw_only=True):
    command: Annotated[
        str, Meta(min_length=1, description="The line for the shell, run in the workspace's folder.")
    ]
    seconds: Annotated[int, Meta(ge=1, le=_MOST_SECONDS, description="How long it may take.")] = _SECONDS
    background: Annotated[
        bool, Meta(description="For servers and watchers: answers at once, and the command goes on.")
    ] = False


async def run(bench: Bench, wanted: Run) -> str | Outcome:
    line = wanted.command.strip()
    if not bench.may_write:
        raise ToolFailure(f"The scenario {bench.scenario.name} runs no commands.")
    if not line or "\0" in line:
        raise ToolFailure("That is not a command.")
    shell = ("cmd", "/c") if sys.platform == "win32" else ("/bin/sh", "-c")
    root = bench.workspace.root
    work = Work(title=line, kind="execute", raw_input={"command": line, "cwd": str(root)}, waits=True)
    async with bench.turn.tool(work) as call:
        otherwise = "The person declined: the command was not run."
        await bench.turn.permit(call, line, covers=f"“{line}”", otherwise=otherwise)
        if wanted.background:
            name = await bench.background.start((*shell, line), line, root)
            call.add_text(f"It goes on in the background as {name}.")
            return f'It runs in the background as {name}. Look at it with command_output(name="{name}").'
        running = await bench.turn.start((*shell, line), call)
        try:
            async with asyncio.timeout(wanted.seconds):
                await running.wait()
        except TimeoutError:
            ended = await running.so_far()
            call.ran(ended)
            return Outcome((Text(_told(ended, f"Stopped after {wanted.seconds} s.")),), failed=True)
        else:
            ended = await running.so_far()
            call.ran(ended)
        finally:
            await running.stop()
    return Outcome((Text(_told(ended, f"Ended with {ended}.")),), failed=not ended.succeeded)


def _told(ended: Ended, how: str) -> str:
    output = ended.plain_output().strip("\n")
    return f"{output}\n\n{how}" if output else f"No output. {how}"


TOOL = Tool(
    name="run",
    description=(
        "Run a command with the shell, in the workspace's folder, and get what it printed and its exit code. It has "
        "no input, so use options that ask nothing. Each call is a shell of its own: cd does not last. Prefer the "
        "other tools for reading, searching and changing files. The person may be asked first."
    ),
    parameters=Run,
    run=run,
    changes=True,
)
