"""/write: creates a file or replaces its content, after showing the difference and asking."""

from portico.porter.changes import change
from portico.porter.commands.command import Command, misused
from portico.porter.markdown import unfenced
from portico.porter.turn import Turn


async def run(turn: Turn, argument: str) -> None:
    name, _, body = argument.partition("\n")
    if not name.strip() or not body.strip():
        raise misused(
            COMMAND.usage, "Say which file to write, and put the content on the lines after its name."
        )
    path = turn.workspace.locate(name)
    block = unfenced(body)
    content = block if block is not None else body if body.endswith("\n") else f"{body}\n"
    await change(turn, path, await turn.files.read_if_there(path), content, command=COMMAND.name)


COMMAND = Command(
    name="write",
    purpose="create a file or replace its content",
    hint="<path>, then the content on the next lines",
    run=run,
    more="The content may be a fenced block of code; then only what is inside the fence is written.",
)
