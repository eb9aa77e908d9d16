"""/help: lists the commands, or shows how to use one of them."""

from portico.porter.commands.command import SlashCommand
from portico.porter.turn import PorterTurn


async def run(turn: PorterTurn, argument: str) -> None:
    from portico.porter.commands.catalog import COMMANDS, unknown_command

    name = argument.strip().removeprefix("/").lower()
    if name in COMMANDS:
        command = COMMANDS[name]
        await turn.say(f"`{command.usage}` — {command.purpose}")
        if command.more:
            await turn.say(command.more)
    elif name:
        await turn.say(unknown_command(name))
    else:
        await turn.say("Porter works in this folder with commands, and needs no model for them:")
        await turn.say("\n".join(f"- `{command.usage}` — {command.purpose}" for command in COMMANDS.values()))
        await turn.say(
            "`/help edit` shows how one of them is used. Porter asks before it changes or runs anything."
        )


COMMAND = SlashCommand(name="help", purpose="show what Porter can do", hint="[command]", run=run)
