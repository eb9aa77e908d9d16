"""/run: runs a command line in the session's folder, after asking."""

import sys

from portico.porter.commands.command import Command, misused
from portico.porter.markdown import code
from portico.porter.turn import Turn


async def run(turn: Turn, argument: str) -> None:
    line = argument.strip()
    if not line or "\0" in line:
        raise misused(COMMAND.usage, "Say which command to run.")
    shell = ("cmd", "/c") if sys.platform == "win32" else ("/bin/sh", "-c")
    ended = await turn.run((*shell, line), line, otherwise=f"{code(line)} was not run.")
    await turn.say(f"{code(line)} ended with {ended}.")


COMMAND = Command(
    name="run",
    purpose="run a command in this folder and show its output",
    hint="<command>",
    run=run,
    more="The line is given to the shell as it stands, for example `/run git log --oneline | head`.",
)
