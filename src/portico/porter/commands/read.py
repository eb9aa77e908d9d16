"""/read: shows a file, or some of its lines, as the client has it."""

import re
from pathlib import Path

from portico.acp import _schema as schema
from portico.domain.errors import InvalidInput
from portico.porter.commands.command import SlashCommand, usage_error
from portico.porter.files import NoSuchFile
from portico.porter.markdown import code_block, count, inline_code, language_of
from portico.porter.prompt import PromptAttachment
from portico.porter.search.similar_paths import similar_paths
from portico.porter.tool_call import ToolCallDetails
from portico.porter.turn import PorterTurn

MAX_LINES = 400
_MAX_CHARACTERS = 40_000
_RANGE = re.compile(r"(.+?):(\d{1,9})(?:-(\d{1,9})?)?")


async def run(turn: PorterTurn, argument: str) -> None:
    name = argument.strip()
    if name:
        name, first, last = _parse(name)
        await _read(turn, turn.workspace.locate(name), first, last)
    elif turn.attached:
        for attachment in turn.attached:
            await _read_attached(turn, attachment)
    else:
        raise usage_error(COMMAND.usage, "Say which file to read.")


def _parse(name: str) -> tuple[str, int, int | None]:
    """Return the name of a file, its first line and its last line, which is None for the end."""
    ranged = _RANGE.fullmatch(name)
    if ranged is None:
        return name, 1, None
    first = int(ranged[2])
    last = int(ranged[3]) if ranged[3] else None if name.endswith("-") else first
    if first < 1 or (last is not None and last < first):
        raise InvalidInput(
            "Invalid range of lines: lines are counted from 1, and the first must not be after the last."
        )
    return ranged[1], first, last


async def _read(turn: PorterTurn, path: Path, first: int, last: int | None) -> None:
    shown = turn.workspace.shown(path)
    wanted = MAX_LINES if last is None else min(last - first + 1, MAX_LINES)
    work = ToolCallDetails(
        title=f"Read {shown}",
        kind="read",
        locations=(schema.ToolCallLocation(path=str(path), line=first),),
        raw_input={"path": str(path), "line": first, "limit": wanted},
    )
    try:
        async with turn.tool(work):
            # One extra line tells whether there is more.
            text = await turn.files.read(path, first, wanted + 1)
    except NoSuchFile as error:
        raise NoSuchFile(
            f"No such file: {inline_code(shown)}.", suggestion=await _suggestion(turn, path)
        ) from error
    lines = text.splitlines()
    part = "\n".join(lines[:wanted])[:_MAX_CHARACTERS]
    if not lines:
        await turn.say(f"{inline_code(shown)} " + ("is empty." if first == 1 else f"has no line {first}."))
        return
    end = first + min(len(lines), wanted) - 1
    whole = first == 1 and last is None and len(lines) <= wanted
    what = count(len(lines), "line") if whole else f"lines {first} to {end}"
    await turn.say(f"**{inline_code(shown)}**, {what}\n\n{code_block(part, language_of(path))}")
    if len(part) == _MAX_CHARACTERS:
        await turn.say("The rest is not shown, because the lines are very long.")
    elif len(lines) > wanted and (last is None or last > end):
        await turn.say(f"There is more: continue with `/read {shown}:{end + 1}-`.")


async def _read_attached(turn: PorterTurn, attachment: PromptAttachment) -> None:
    if attachment.text is not None:
        text = attachment.text[:_MAX_CHARACTERS]
        await turn.say(
            f"**{inline_code(attachment.name)}**, as attached\n\n{code_block(text, language_of(Path(attachment.name)))}"
        )
    elif attachment.path is not None:
        await _read(turn, attachment.path, 1, None)
    else:
        await turn.say(
            f"Porter cannot read {inline_code(attachment.name)}: it is not a file on this machine."
        )


async def _suggestion(turn: PorterTurn, path: Path) -> str | None:
    near = await similar_paths(turn.workspace, path, turn.environ)
    return f"Did you mean {' or '.join(map(inline_code, near))}?" if near else None


COMMAND = SlashCommand(
    name="read",
    purpose="show a file or some of its lines",
    hint="<path>[:from-to]",
    run=run,
    more=f"`/read src/a.py:10-20` shows lines 10 to 20; at most {MAX_LINES} lines are shown at once.",
)
