"""All slash commands in the order of /help, and the dispatch of a prompt to one of them."""

from collections.abc import Awaitable, Callable
from functools import cache

from portico.acp import _schema as schema
from portico.domain.errors import PersonMustAct
from portico.porter.commands import (
    changes,
    edit,
    explain,
    fix,
    plan,
    read,
    run,
    search,
    test,
    todo,
    write,
)
from portico.porter.commands.command import unknown_command
from portico.porter.commands.fallback_answer import answer_without_model
from portico.porter.commands.help import help_command
from portico.porter.prompt import PorterPrompt
from portico.porter.turn import PorterTurn

_COMMANDS = (
    search.COMMAND,
    read.COMMAND,
    explain.COMMAND,
    changes.COMMAND,
    write.COMMAND,
    edit.COMMAND,
    fix.COMMAND,
    test.COMMAND,
    run.COMMAND,
    todo.COMMAND,
    plan.COMMAND,
)
COMMANDS = {command.name: command for command in (help_command(_COMMANDS), *_COMMANDS)}


@cache
def available_commands() -> schema.AvailableCommandsUpdate:
    return schema.AvailableCommandsUpdate(
        available_commands=[
            schema.AvailableCommand(
                name=command.name,
                description=command.purpose,
                input=schema.UnstructuredCommandInput(hint=command.hint) if command.hint else None,
            )
            for command in COMMANDS.values()
        ]
    )


FreeText = Callable[[PorterTurn, PorterPrompt], Awaitable[schema.StopReason | None]]
"""Answers free text with a model; returns None if no model is set up, or a command answers better than it."""


async def run_prompt(turn: PorterTurn, prompt: PorterPrompt, free_text: FreeText) -> schema.StopReason:
    """Run a command or answer free text. Errors that the user can correct become part of the answer."""
    if prompt.command is None and prompt.has_content:
        reason = await free_text(turn, prompt)
        if reason is not None:
            return reason
    meant = prompt.meant
    try:
        if meant is None:
            await answer_without_model(turn, prompt.argument)
        elif meant.command in COMMANDS:
            if prompt.command is None:
                await turn.say(f"Porter's command `{meant}` answers this, without a model:")
            await COMMANDS[meant.command].run(turn, meant.argument)
        else:
            await turn.say(unknown_command(meant.command, COMMANDS))
    except PersonMustAct as error:
        await turn.say(
            error.message if error.suggestion is None else f"{error.message}\n\n{error.suggestion}"
        )
    if meant is not None:
        turn.remember(str(meant))
    return "end_turn"
