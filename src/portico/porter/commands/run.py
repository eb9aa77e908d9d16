"""/run: runs a command line in the session's folder, after asking."""

import sys

from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.markdown import inline_code
from portico.porter.turn import PorterTurn


async def run(turn: PorterTurn, argument: str) -> None:
    line = argument.strip()
    if not line or "\0" in line:
        raise usage_error(COMMAND.usage, "Say which command to run.")
    shell = ("cmd", "/c") if sys.platform == "win32" else ("/bin/sh", "-c")
    ended = await turn.run((*shell, line), line, otherwise=f"{inline_code(line)} was not run.")
    await turn.say(f"{inline_code(line)} ended with {ended}.")


COMMAND = SlashCommand(
    name="run",
    purpose="run a command in this folder and show its output",
    hint="<command>",
    run=run,
    more="The shell runs the line, for example `/run git log --oneline | head`.",
)
