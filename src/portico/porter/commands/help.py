"""/help: lists the commands, or shows how to use one of them."""

from collections.abc import Sequence

from portico.porter.commands.command import SlashCommand, unknown_command
from portico.porter.turn import PorterTurn


def help_command(others: Sequence[SlashCommand]) -> SlashCommand:
    """Build /help, which lists itself and the other commands."""
    commands: dict[str, SlashCommand] = {}

    async def run(turn: PorterTurn, argument: str) -> None:
        name = argument.strip().removeprefix("/").lower()
        if name in commands:
            command = commands[name]
            await turn.say(f"`{command.usage}` — {command.purpose}")
            if command.more:
                await turn.say(command.more)
        elif name:
            await turn.say(unknown_command(name, commands))
        else:
            await turn.say("Porter works in this folder with commands that need no model:")
            await turn.say(
                "\n".join(f"- `{command.usage}` — {command.purpose}" for command in commands.values())
            )
            await turn.say(
                "`/help edit` explains one of them. Porter asks before it changes or runs anything."
            )

    own = SlashCommand(name="help", purpose="show what Porter can do", hint="[command]", run=run)
    commands.update({command.name: command for command in (own, *others)})
    return own
