"""Changes since a checkpoint as a change set; of a restore, only the person's own lines.

Reads checkpoints and the disk, and writes neither.
"""

import asyncio
import os
from collections.abc import Collection
from pathlib import Path

import msgspec

from portico.review.checkpoints.checkpoint import RestoredCheckpoint
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.checkpoints.permissions import FilePermissions
from portico.review.files.disk import Disk
from portico.review.git.tree_changes import TreeChange, TreeOperation
from portico.review.text.change_set import LINK_MODE, ChangeOperation, ChangeSet, FileChange, FileContent
from portico.review.text.merge import merge

_LINK = "120000"
_MODES = {"100644": 0o644, "100755": 0o755, _LINK: LINK_MODE}
_MIXED = "What the agent had changed in this file comes back with your own changes."
_File = tuple[str, bytes]
_Files = dict[str, _File]


async def changes_put_aside(
    checkpoints: Checkpoints, workspace: Path, restored: RestoredCheckpoint
) -> ChangeSet:
    """The person's changes that a restore removed, as changes to the restored files.

    In a file that the agent changed too, each of the person's edits is replayed on the restored content, if
    it can be separated.
    """
    paths = {each.path for each in restored.changes}
    if not paths:
        return ChangeSet()
    now = await checkpoints.contents(workspace, restored.checkpoint.id, paths)
    kept = await checkpoints.contents(workspace, restored.kept.id, paths)
    redone: dict[str, _File | None] = {path: now.get(path) for path in paths}
    mixed: set[str] = set()
    for earlier, later in restored.own:
        old = await checkpoints.contents(workspace, earlier, paths)
        new = await checkpoints.contents(workspace, later, paths)
        for path in paths - mixed:
            try:
                redone[path] = _redone(old.get(path), new.get(path), redone[path])
            except _Mixed:
                mixed.add(path)
    permissions = await checkpoints.permissions(workspace, restored.kept.id)
    changes = (
        _change(path, now.get(path), kept.get(path), _MIXED)
        if path in mixed
        else _change(path, now.get(path), redone[path])
        for path in sorted(paths)
    )
    return ChangeSet(tuple(_permitted(change, permissions) for change in changes if change is not None))


def _permitted(change: FileChange, permissions: FilePermissions | None) -> FileChange:
    """The change; to a file that comes back, with the bits that it had if they were not the usual ones."""
    bits = None if permissions is None else permissions.others.get(os.fsencode(change.path))
    if bits is None or change.operation is not ChangeOperation.CREATE or change.links:
        return change
    return msgspec.structs.replace(change, new_mode=bits)


async def changes_since(
    checkpoints: Checkpoints,
    workspace: Path,
    checkpoint_id: str,
    until: str | None,
    listed: Collection[TreeChange],
) -> ChangeSet:
    """These changes from a checkpoint to another, or to now, with their contents."""
    paths = {each.path for each in listed}
    old = await checkpoints.contents(workspace, checkpoint_id, paths)
    if until is None:
        there = {each.path for each in listed if each.operation is not TreeOperation.DELETE}
        new = await asyncio.to_thread(_on_disk, workspace, there)
    else:
        new = await checkpoints.contents(workspace, until, paths)
    found = (_change(path, old.get(path), new.get(path)) for path in sorted(paths))
    return ChangeSet(tuple(one for one in found if one is not None))


class _Mixed(Exception):
    """The person's edits cannot be separated from the agent's."""


def _redone(earlier: _File | None, later: _File | None, now: _File | None) -> _File | None:
    """A file after a step of the person, done again where the steps of the agent are not."""
    if now == earlier or later is None:
        return later
    if later in (earlier, now):
        return now
    if earlier is None or now is None or not _plain(earlier, later, now):
        raise _Mixed
    both = merge(earlier[1], later[1], now[1])
    if both.merged is None:
        raise _Mixed
    return (now[0] if earlier[0] == later[0] else later[0]), both.merged


def _change(
    path: str,
    old: _File | None,
    new: _File | None,
    warning: str | None = None,
) -> FileChange | None:
    """The change of a file or a link; None if there is none."""
    if old == new:
        return None
    modes = tuple(None if side is None else _MODES[side[0]] for side in (old, new))
    if LINK_MODE not in modes and (modes[0] == modes[1] or modes == (None, 0o644)):
        modes = (None, None)
    return FileChange(
        path=path,
        operation=ChangeOperation.between(old, new),
        old=None if old is None else FileContent.of(old[1]),
        new=None if new is None else FileContent.of(new[1]),
        old_mode=modes[0],
        new_mode=modes[1],
        warning=warning,
    )


def _plain(*sides: _File) -> bool:
    """Whether these can be merged by line: no link can."""
    return all(mode != _LINK for mode, _ in sides)


def _on_disk(workspace: Path, paths: Collection[str]) -> _Files:
    found: _Files = {}
    disk = Disk()
    root = Path(os.path.realpath(workspace))
    for path in paths:
        try:
            file = disk.read_entry(root / path)
        except OSError:
            continue
        mode = _LINK if file.mode == LINK_MODE else "100755" if file.mode & 0o100 else "100644"
        found[path] = (mode, file.data)
    return found
