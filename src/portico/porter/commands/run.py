"""/run: runs a command line in the session's folder, after asking."""

import sys

from portico.porter.commands.command import Command, misused
from portico.porter.markdown import code
from portico.porter.toolcalls import Work
from portico.porter.turn import Turn


async def run(turn: Turn, argument: str) -> None:
    line = argument.strip()
    if not line or "\0" in line:
        raise misused(COMMAND.usage, "Say which command to run.")
    work = Work(title=line, kind="execute", raw_input={"command": line, "cwd": str(turn.workspace.root)})
    async with turn.tool(work) as call:
        await turn.permit(call, covers=code(line), otherwise=f"{code(line)} was not run.")
        ended = await turn.run(
            call, ("cmd", "/c", line) if sys.platform == "win32" else ("/bin/sh", "-c", line)
        )
    await turn.say(f"{code(line)} ended with {ended}.")


COMMAND = Command(
    name="run",
    purpose="run a command in this folder and show its output",
    hint="<command>",
    run=run,
    more="The line is given to the shell as it stands, for example `/run git log --oneline | head`.",
)
