"""All slash commands in the order of /help, and the dispatch of a prompt to one of them."""

from collections.abc import Awaitable, Callable
from functools import cache

from portico.acp import _schema as schema
from portico.domain.errors import PersonMustAct
from portico.porter.commands import (
    edit,
    explain,
    fix,
    help,  # noqa: A004 - the command's name
    plan,
    read,
    run,
    search,
    test,
    todo,
    write,
)
from portico.porter.commands.command import SlashCommand
from portico.porter.commands.fallback_answer import answer_without_model
from portico.porter.prompt import PorterPrompt
from portico.porter.turn import PorterTurn

COMMANDS: dict[str, SlashCommand] = {
    command.name: command
    for command in (
        help.COMMAND,
        search.COMMAND,
        read.COMMAND,
        explain.COMMAND,
        write.COMMAND,
        edit.COMMAND,
        fix.COMMAND,
        test.COMMAND,
        run.COMMAND,
        todo.COMMAND,
        plan.COMMAND,
    )
}


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
"""Answers in words of a model; None without one."""


async def run_prompt(turn: PorterTurn, prompt: PorterPrompt, free_text: FreeText) -> schema.StopReason:
    """Do what a prompt asks for; how it ended. What the person can put right is said to them."""
    if prompt.command is None and prompt.has_content:
        reason = await free_text(turn, prompt)
        if reason is not None:
            return reason
    try:
        if prompt.command is None:
            await answer_without_model(turn, prompt.argument)
        elif prompt.command in COMMANDS:
            await COMMANDS[prompt.command].run(turn, prompt.argument)
        else:
            await turn.say(unknown_command(prompt.command))
    except PersonMustAct as error:
        await turn.say(
            error.message if error.suggestion is None else f"{error.message}\n\n{error.suggestion}"
        )
    if prompt.command is not None:
        turn.remember(f"/{prompt.command} {prompt.argument}".strip())
    return "end_turn"


def unknown_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=2, cutoff=0.5)
    hint = f"Did you mean {' or '.join(f'`/{one}`' for one in near)}?" if near else "`/help` shows them all."
    return f"There is no command `/{name}`. {hint}"
