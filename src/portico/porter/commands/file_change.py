"""Writes one file for a slash command, after showing the difference and asking."""

from pathlib import Path

from portico.acp import _schema as schema
from portico.domain.errors import InvalidInput
from portico.porter.markdown import count, inline_code
from portico.porter.tool_call import ToolCallDetails
from portico.porter.turn import PorterTurn


async def change_file(turn: PorterTurn, path: Path, before: str | None, after: str, *, command: str) -> None:
    """Write a file if the person agrees, and say what became of it. `before` is None for a new file."""
    shown = turn.workspace.shown(path)
    if before == after:
        await turn.say(f"{inline_code(shown)} already has this content; nothing to do.")
        return
    work = ToolCallDetails(
        title=f"{'Create' if before is None else 'Change'} {shown}",
        kind="edit",
        locations=(schema.ToolCallLocation(path=str(path), line=_first_difference(before or "", after)),),
        content=(schema.Diff(path=str(path), old_text=before, new_text=after),),
        raw_input={"path": str(path)},
        waits=True,
    )
    async with turn.tool(work) as call:
        await turn.permit(
            call,
            command,
            covers=f"every /{command}",
            otherwise=f"{inline_code(shown)} was not written; it is as it was.",
        )
        if await turn.files.read_if_exists(path) != before:
            raise InvalidInput(
                f"{inline_code(shown)} changed while you were asked, so it was not written. Try again."
            )
        await turn.files.write(path, after)
    if before is None:
        await turn.say(f"Created {inline_code(shown)} with {count(len(after.splitlines()), 'line')}.")
    else:
        added, removed = _counts(before, after)
        await turn.say(f"Changed {inline_code(shown)}: {count(added, 'line')} added, {removed} removed.")


def _first_difference(before: str, after: str) -> int:
    """The number of the first line that differs."""
    old, new = before.splitlines(), after.splitlines()
    pairs = enumerate(zip(old, new, strict=False), 1)
    return next((number for number, (one, other) in pairs if one != other), min(len(old), len(new)) + 1)


def _counts(before: str, after: str) -> tuple[int, int]:
    """How many lines were added and removed, without looking for moved ones."""
    from collections import Counter

    old, new = Counter(before.splitlines()), Counter(after.splitlines())
    return (new - old).total(), (old - new).total()
