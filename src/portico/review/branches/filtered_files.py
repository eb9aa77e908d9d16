"""Handling of files with a git filter when the work of a session is committed.

Git keeps such a file in another form, which a program of the repository makes. That program runs only when the
person ends a session in a folder they trust; everywhere else the file stays among theirs, uncommitted, and is
named. A file that the session left alone is committed as it was, whatever git believes of it.
"""

import asyncio
import os
import stat
from collections.abc import Collection
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import Notice
from portico.git.repository import Repository
from portico.review.checkpoints.held_files import SnapshotBounds
from portico.review.checkpoints.lifecycle import Checkpoints
from portico.review.git.filters import clean, entries_of, store_as_is, with_entries
from portico.review.git.uncommitted_work import UncommittedWork
from portico.review.text.names import name_some


class BranchStart(msgspec.Struct, frozen=True):
    """A working tree when a session began: as a tree, with the files that seemed changed then, and its checkpoint."""

    files: str
    filtered: frozenset[str]
    checkpoint: str


class ComparedTrees(msgspec.Struct, frozen=True):
    """The trees from before and after the session, comparable in all files, and what to tell the person."""

    before: str
    after: str
    notices: tuple[Notice, ...] = ()


class FilteredFiles:
    """Files with git filters in one repository that a session changed in place."""

    def __init__(self, repository: Repository, checkpoints: Checkpoints, scratch: Path) -> None:
        self._repository = repository
        self._checkpoints = checkpoints
        self._scratch = scratch

    async def as_they_are(self, start: BranchStart, work: UncommittedWork) -> ComparedTrees:
        """Both sides with the very bytes of what changed: for a tree that is put aside, and never merged."""
        entries = await self._entries(start, work)
        for path in await self._changed(start, work):
            if mode := _mode(self._repository.root / path):
                entries[path] = f"{mode} {await store_as_is(self._repository.git, path)}"
        return ComparedTrees(start.files, await self._with(work.files, entries))

    async def committed(
        self, start: BranchStart, work: UncommittedWork, *, run_filters: bool, must: bool
    ) -> ComparedTrees:
        """Both sides as git keeps them. Without the filters, what changed is left out; InvalidInput if it `must` not be."""
        if not work.filtered:
            return ComparedTrees(start.files, work.files)
        entries = await self._entries(start, work)
        changed = await self._changed(start, work)
        if not changed:
            return ComparedTrees(start.files, await self._with(work.files, entries))
        if not run_filters:
            if must:
                raise unkept_notice(changed)
            return ComparedTrees(
                start.files, await self._with(work.files, entries), (uncommitted_notice(changed),)
            )
        root = self._repository.root
        held = await self._checkpoints.contents(root, start.checkpoint, changed)
        earlier: dict[str, str | None] = {}
        for path, (mode, data) in held.items():
            earlier[path] = f"{mode} {await clean(self._repository, path, data)}"
        for path in changed:
            if now := _mode(root / path):
                entries[path] = f"{now} {await clean(self._repository, path)}"
        before, after = await self._with(start.files, earlier), await self._with(work.files, entries)
        return ComparedTrees(before, after, (filter_run_notice(changed),))

    async def _entries(self, start: BranchStart, work: UncommittedWork) -> dict[str, str | None]:
        return await entries_of(self._repository.git, start.files, work.filtered)

    async def _changed(self, start: BranchStart, work: UncommittedWork) -> list[str]:
        """Files whose bytes differ from those of the checkpoint, and large ones, which none holds, if git says so."""
        if not work.filtered:
            return []
        differences = await self._checkpoints.diff(self._repository.root, start.checkpoint)
        different = {one.path for one in differences}
        large = await asyncio.to_thread(_large, self._repository.root, work.filtered)
        return [path for path in work.filtered if path in different or path in large - start.filtered]

    async def _with(self, tree: str, entries: dict[str, str | None]) -> str:
        return await with_entries(self._repository, tree, entries, self._scratch)


def filter_run_notice(paths: Collection[str]) -> Notice:
    return Notice(
        level="info", text=f"{name_some(sorted(paths))} passed through a filter of this repository."
    )


def uncommitted_notice(paths: Collection[str]) -> Notice:
    return Notice(
        level="warning",
        text=f"{name_some(sorted(paths))} stayed in your files, uncommitted: only a filter program that the repository names "
        "could commit it, and this folder is not trusted. Commit it yourself with git.",
    )


def unkept_notice(paths: Collection[str]) -> InvalidInput:
    return InvalidInput(
        f"Only a filter program that the repository names could put {name_some(sorted(paths))} on a branch, and this folder "
        "is not trusted.",
        suggestion="Finish with merge or squash, which leaves it in your files; or add the folder to "
        "trustedWorkspaces in your settings.",
    )


def _mode(place: Path) -> str | None:
    """The mode that git keeps of a file; None for what is no file."""
    try:
        facts = os.lstat(place)
    except OSError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return "100755" if facts.st_mode & stat.S_IXUSR else "100644"


def _large(root: Path, paths: Collection[str]) -> set[str]:
    limit = SnapshotBounds().file_bytes
    found = set()
    for path in paths:
        try:
            if os.lstat(root / path).st_size > limit:
                found.add(path)
        except OSError:
            continue
    return found
