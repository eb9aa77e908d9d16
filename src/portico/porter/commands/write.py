"""/write: creates a file or replaces its content, after showing the difference and asking."""

from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.commands.file_change import change_file
from portico.porter.markdown import code_block_content
from portico.porter.turn import PorterTurn


async def run(turn: PorterTurn, argument: str) -> None:
    name, _, body = argument.partition("\n")
    if not name.strip() or not body.strip():
        raise usage_error(
            COMMAND.usage, "Say which file to write, and put the content on the lines after its name."
        )
    path = turn.workspace.locate(name)
    block = code_block_content(body)
    content = block if block is not None else body if body.endswith("\n") else f"{body}\n"
    await change_file(turn, path, await turn.files.read_if_exists(path), content, command=COMMAND.name)


COMMAND = SlashCommand(
    name="write",
    purpose="create a file or replace its content",
    hint="<path>, then the content on the next lines",
    run=run,
    more="The content may be a fenced block of code; then only what is inside the fence is written.",
)
