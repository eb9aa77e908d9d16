"""Turns what changed since a checkpoint into changes that can be proposed or shown: only the person's own lines.

Reads checkpoints and the disk, and writes neither.
"""

import asyncio
from collections.abc import Collection
from pathlib import Path

from portico.review.checkpoints.checkpoints import Checkpoints, Restored
from portico.review.disk.calls import Disk
from portico.review.git.tree_changes import TreeChange
from portico.review.text.changes import ChangeSet, Content, FileChange, Operation
from portico.review.text.merging import merge

_MODES = {"100644": 0o644, "100755": 0o755}
_Files = dict[str, tuple[str, bytes]]


async def changes_put_aside(checkpoints: Checkpoints, workspace: Path, restored: Restored) -> ChangeSet:
    """What the person had changed and a restore took away, as changes to the restored files.

    Where the agent had a hand in a file too, only what the person changed after it comes back, if that can be
    told apart.
    """
    paths = {each.path for each in restored.changes}
    if not paths:
        return ChangeSet()
    now = await checkpoints.contents(workspace, restored.checkpoint.id, paths)
    kept = await checkpoints.contents(workspace, restored.kept.id, paths)
    base: _Files = {}
    if restored.base is not None:
        base = await checkpoints.contents(workspace, restored.base, paths)
    return ChangeSet(
        tuple(
            change
            for path in sorted(paths)
            if (change := _put_aside(path, now.get(path), kept.get(path), base.get(path))) is not None
        )
    )


async def changes_since(
    checkpoints: Checkpoints,
    workspace: Path,
    checkpoint_id: str,
    until: str | None,
    listed: Collection[TreeChange],
) -> ChangeSet:
    """These changes from a checkpoint to another, or to now, with their contents. Links are left out."""
    paths = {each.path for each in listed if not each.link}
    old = await checkpoints.contents(workspace, checkpoint_id, paths)
    if until is None:
        new = await asyncio.to_thread(_on_disk, workspace, paths)
    else:
        new = await checkpoints.contents(workspace, until, paths)
    found = (_change(path, old.get(path), new.get(path)) for path in sorted(paths))
    return ChangeSet(tuple(one for one in found if one is not None))


def _put_aside(
    path: str, now: tuple[str, bytes] | None, kept: tuple[str, bytes] | None, base: tuple[str, bytes] | None
) -> FileChange | None:
    if now is None or kept is None or base is None or not _plain(now, kept, base):
        return _change(path, now, kept)
    both = merge(base[1], kept[1], now[1])
    if both.merged is not None:
        return _change(path, now, (kept[0], both.merged))
    warning = "What the agent had changed in this file comes back with your own changes."
    return _change(path, now, kept, warning)


def _change(
    path: str,
    old: tuple[str, bytes] | None,
    new: tuple[str, bytes] | None,
    warning: str | None = None,
) -> FileChange | None:
    """The change of a file; None if there is none, or one side is a link."""
    if old == new or not _plain(*(side for side in (old, new) if side is not None)):
        return None
    operation = Operation.CREATE if old is None else Operation.DELETE if new is None else Operation.UPDATE
    modes = tuple(None if side is None else _MODES[side[0]] for side in (old, new))
    if modes[0] == modes[1] or modes == (None, 0o644):
        modes = (None, None)
    return FileChange(
        path=path,
        operation=operation,
        old=None if old is None else Content.of(old[1]),
        new=None if new is None else Content.of(new[1]),
        old_mode=modes[0],
        new_mode=modes[1],
        warning=warning,
    )


def _plain(*sides: tuple[str, bytes]) -> bool:
    return all(mode in _MODES for mode, _ in sides)


def _on_disk(workspace: Path, paths: Collection[str]) -> _Files:
    found: _Files = {}
    disk = Disk()
    for path in paths:
        try:
            file = disk.read(workspace / path)
        except OSError:
            continue
        found[path] = ("100755" if file.mode & 0o100 else "100644", file.data)
    return found
