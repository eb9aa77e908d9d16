"""The write of one file by a slash command: asks first, and says afterwards what changed."""

from collections import Counter
from functools import partial
from pathlib import Path

from portico.domain.errors import InvalidInput
from portico.porter.file_write import FileWrite
from portico.porter.markdown import count, inline_code
from portico.porter.turn import PorterTurn


async def change_file(turn: PorterTurn, path: Path, before: str | None, after: str, *, command: str) -> None:
    """Write a file if the user agrees, and say what changed. `before` is None for a new file."""
    name = inline_code(turn.workspace.shown(path))
    if before == after:
        await turn.say(f"{name} already has this content; nothing to do.")
        return
    permit = partial(
        turn.permit,
        scope=command,
        covers=f"every /{command}",
        otherwise=f"{name} was not written; it is unchanged.",
    )
    stale = InvalidInput(f"{name} changed while you were asked, so it was not written. Try again.")
    await FileWrite(path, before, after).run(turn, permit, stale=stale)
    if before is None:
        await turn.say(f"Created {name} with {count(len(after.splitlines()), 'line')}.")
    else:
        added, removed = _counts(before, after)
        await turn.say(f"Changed {name}: {count(added, 'line')} added, {removed} removed.")


def _counts(before: str, after: str) -> tuple[int, int]:
    """Count lines added and removed; a moved line counts as neither."""
    old, new = Counter(before.splitlines()), Counter(after.splitlines())
    return (new - old).total(), (old - new).total()
