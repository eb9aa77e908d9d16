"""run: runs a command line, to its end or in the background."""

import asyncio
import sys
from typing import Annotated

from msgspec import Meta

from portico.porter.models.model import ModelText
from portico.porter.terminals import CommandResult
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import BuiltInTool, ToolOutcome, ToolParameters

_SECONDS = 120
_MOST_SECONDS = 1800


class RunParameters(ToolParameters, frozen=True, kw_only=True):
    command: Annotated[
        str, Meta(min_length=1, description="The command line, run by the shell in the workspace.")
    ]
    seconds: Annotated[int, Meta(ge=1, le=_MOST_SECONDS, description="The time limit.")] = _SECONDS
    background: Annotated[
        bool, Meta(description="For servers and watchers: returns at once while the command keeps running.")
    ] = False


async def run(context: ToolContext, parameters: RunParameters) -> str | ToolOutcome:
    line = parameters.command.strip()
    if not context.may_write:
        raise ToolError(f"The scenario {context.scenario.name} does not run commands.")
    if not line or "\0" in line:
        raise ToolError("That is not a command.")
    shell = ("cmd", "/c") if sys.platform == "win32" else ("/bin/sh", "-c")
    root = context.workspace.root
    work = ToolCallDetails(
        title=line, kind="execute", raw_input={"command": line, "cwd": str(root)}, waits=True
    )
    async with context.turn.tool(work) as call:
        otherwise = "The user declined: the command was not run."
        await context.turn.permit(call, line, covers=f"“{line}”", otherwise=otherwise)
        if parameters.background:
            name = await context.background.start((*shell, line), line, root)
            call.add_text(f"It keeps running in the background as {name}.")
            return f'It runs in the background as {name}. Read its output with command_output(name="{name}").'
        running = await context.turn.start((*shell, line), call)
        try:
            async with asyncio.timeout(parameters.seconds):
                await running.wait()
        except TimeoutError:
            ended = await running.output_so_far()
            call.ran(ended)
            return ToolOutcome(
                (ModelText(_with_ending(ended, f"Stopped after {parameters.seconds} s.")),), failed=True
            )
        else:
            ended = await running.output_so_far()
            call.ran(ended)
        finally:
            await running.stop()
    return ToolOutcome((ModelText(_with_ending(ended, f"Ended with {ended}.")),), failed=not ended.succeeded)


def _with_ending(ended: CommandResult, how: str) -> str:
    output = ended.plain_output().strip("\n")
    return f"{output}\n\n{how}" if output else f"No output. {how}"


TOOL = BuiltInTool(
    name="run",
    description=(
        "Run a command line with the shell in the workspace, and get its output and exit code. It has "
        "no input, so use options that do not prompt. Each call is a new shell: cd does not last. Prefer the "
        "other tools for reading, searching and changing files. The user may be asked first."
    ),
    parameters=RunParameters,
    run=run,
    changes=True,
)
