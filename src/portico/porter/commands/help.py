"""/help: what Porter can do, or how one command is used."""

from portico.porter.commands.command import Command
from portico.porter.turn import Turn


async def run(turn: Turn, argument: str) -> None:
    from portico.porter.commands.table import COMMANDS, unknown

    name = argument.strip().removeprefix("/").lower()
    if name in COMMANDS:
        command = COMMANDS[name]
        await turn.say(f"`{command.usage}` — {command.purpose}")
        if command.more:
            await turn.say(command.more)
    elif name:
        await turn.say(unknown(name))
    else:
        await turn.say("Porter works in this folder with commands, and needs no model for them:")
        await turn.say("\n".join(f"- `{command.usage}` — {command.purpose}" for command in COMMANDS.values()))
        await turn.say(
            "`/help edit` shows how one of them is used. Porter asks before it changes or runs anything."
        )


COMMAND = Command(name="help", purpose="show what Porter can do", hint="[command]", run=run)
