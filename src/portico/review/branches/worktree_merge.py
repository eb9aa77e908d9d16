"""Commits that bring the work of a worktree session into the person's repository.

A commit holds what the session changed and nothing of the person's uncommitted work. Neither their files nor
their index are touched here, but for `stage`, which says so.
"""

import asyncio
import os
import secrets
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.events import Notice
from portico.files.private import make_private_folder
from portico.git.private_git import private_git
from portico.git.program import path_input
from portico.git.repository import Head, Repository, submodule_of
from portico.review.branches.filtered_files import filter_run_notice, uncommitted_notice, unkept_notice
from portico.review.branches.session_branches import FinishedWork, FinishMethod
from portico.review.git.filters import clean, filtered_paths, with_entries
from portico.review.git.uncommitted_work import (
    check_index_free,
    commit,
    index_lock,
    index_of,
    merge_trees,
    staged_tree,
    tree_of,
)
from portico.review.session_records import PendingFinish, file_name
from portico.review.text.change_set import LINK_MODE, ChangeSet, FileChange, FileContent, paths_of

_NO_COMMIT = ""


class PreparedCommit(msgspec.Struct, frozen=True):
    """A commit of a session's work that nothing leads to yet. `home` is where HEAD is."""

    head: Head
    home: str
    tree: str
    commit: str
    notices: tuple[Notice, ...] = ()


class WorktreeMerge:
    """Merge of a worktree into one repository. `folder` is the agent's workspace in it; `scratch` is in the
    state folder.
    """

    def __init__(self, repository: Repository, folder: Path, scratch: Path) -> None:
        self._repository = repository
        self._prefix = Path(os.path.realpath(folder)).relative_to(os.path.realpath(repository.root))
        self._scratch = scratch

    async def prepare(
        self, changes: ChangeSet, ending: FinishMethod, message: str, *, run_filters: bool = False
    ) -> PreparedCommit:
        """Commits of the changes, merged with the current HEAD.

        InvalidInput names files that cannot be merged. SessionBusy if another git holds the index lock.
        """
        head, home = await self._repository.settled_head()
        filtered: frozenset[str] = frozenset()
        notices: tuple[Notice, ...] = ()
        if ending is not FinishMethod.DISCARD:  # What is put aside is kept as it is.
            await self._check_submodules(changes)
            filtered = await filtered_paths(self._repository, self._named(set(paths_of(changes))))
        if filtered and run_filters:
            notices = (filter_run_notice(filtered),)
        elif filtered:
            if ending is FinishMethod.KEEP:
                raise unkept_notice(filtered)
            notices = (uncommitted_notice(filtered),)
            changes = self._without(changes, filtered)
        tree = await tree_of(self._repository, home)
        base = await self._tree(tree, changes, filtered, new=False)
        theirs = await self._tree(tree, changes, filtered, new=True)
        if ending in (FinishMethod.KEEP, FinishMethod.DISCARD):
            started = await self._commit(base, home, tree, "Uncommitted work when the session began\n")
            made = await self._commit(theirs, started, base, message)
            return PreparedCommit(head, home, theirs, made, notices)
        merged = await self._merged(base, tree, theirs)
        await self._staged(home, merged)  # What would fail after the files are written fails before.
        check_index_free(self._repository)
        made = await self._commit(merged, home, tree, message)
        if ending is FinishMethod.MERGE and made != home:
            made = await commit(self._repository, merged, [home, made], message)
        return PreparedCommit(head, home, merged, made, notices)

    def _without(self, changes: ChangeSet, paths: Collection[str]) -> ChangeSet:
        kept = (
            one
            for one in changes.changes
            if not {*self._named({one.path, one.old_path or one.path})} & set(paths)
        )
        return msgspec.structs.replace(changes, changes=tuple(kept))

    async def _check_submodules(self, changes: ChangeSet) -> None:
        """InvalidInput if a commit would have files in the place of a submodule."""
        submodules = await self._repository.submodules()
        for path in self._named(set(paths_of(changes))) if submodules else ():
            if (inner := submodule_of(path, submodules)) is not None:
                raise InvalidInput(
                    f"{path} is in the submodule {inner}, whose files no commit of this repository can hold.",
                    suggestion="Apply or discard the changes in it first, then finish; to commit them is up to you.",
                )

    async def _commit(self, tree: str, parent: str, parent_tree: str, message: str) -> str:
        return parent if tree == parent_tree else await commit(self._repository, tree, [parent], message)

    async def keep(self, prepared: PreparedCommit, reference: str, ending: FinishMethod) -> FinishedWork:
        """Create a new ref for the commit, without touching existing ones."""
        name, number = reference, 1
        while (there := await self._repository.commit_of(name)) is not None:
            if await tree_of(self._repository, there) == prepared.tree:
                return FinishedWork(ending, there, name)  # An end that was cut short had made it.
            number += 1
            name = f"{reference}-{number}"
        git = self._repository.git
        await git.run("update-ref", "-m", f"portico: {ending}", name, prepared.commit, _NO_COMMIT)
        return FinishedWork(ending, prepared.commit, name, prepared.notices)

    async def hold(self, session: str, prepared: PreparedCommit) -> None:
        """Protect the commit from git's garbage collection until the person's branch has it."""
        await self._repository.git.run("update-ref", _held(session), prepared.commit)

    async def let_go(self, session: str) -> None:
        await self._repository.git.run("update-ref", "-d", _held(session))

    async def carry_on(self, homecoming: PendingFinish, ending: FinishMethod, message: str) -> None:
        """Stage what an end that was cut short had brought into the files, unless that has happened by now."""
        head, now = await self._repository.settled_head()
        check_index_free(self._repository)
        home, made = homecoming.home, homecoming.commit
        tree = await tree_of(self._repository, made)
        if now in (home, made):
            await self.stage(PreparedCommit(head, now, tree, made), ending, since=home)
        elif not await self._repository.leads_to(now, made):
            ours = await tree_of(self._repository, now)
            merged = await self._merged(await tree_of(self._repository, home), ours, tree)
            commit_id = await self._commit(merged, now, ours, message)
            await self.stage(PreparedCommit(head, now, merged, commit_id), ending)

    async def stage(
        self, prepared: PreparedCommit, ending: FinishMethod, since: str | None = None
    ) -> FinishedWork:
        """Move the person's branch on to the commit, and their index along, with what they had staged.

        The index may be one of `since`, if that is not where HEAD is.
        """
        staged = await self._staged(since or prepared.home, prepared.tree)
        reference = f"refs/heads/{prepared.head.branch}" if prepared.head.branch else "HEAD"
        async with index_of(self._repository, staged, self._scratch) as index:
            # Both or neither: an index from before would take the session's work back with the next commit.
            with index_lock(self._repository) as lock:
                moved = await self._repository.git.ask(
                    *("update-ref", "--no-deref", "-m", f"portico: {ending}", reference),
                    *(prepared.commit, prepared.home),
                )
                if moved.code != 0:
                    raise SessionBusy(
                        "Your branch has moved on just now; the session's changes are in your files, uncommitted.",
                        suggestion="Finish once more, which commits them.",
                    )
                lock.put(index)
        return FinishedWork(ending, prepared.commit, reference, prepared.notices)

    async def _staged(self, home: str, merged: str) -> str:
        """The person's staged changes, with the session's work added."""
        index = await staged_tree(self._repository, self._scratch)
        return await self._merged(await tree_of(self._repository, home), index, merged)

    async def _merged(self, base: str, ours: str, theirs: str) -> str:
        return await merge_trees(self._repository, base, ours, theirs, self._scratch)

    async def _tree(self, tree: str, changes: ChangeSet, filtered: Collection[str], *, new: bool) -> str:
        """A tree that has one side of the changes, as git would have it after an add. Runs filters of `filtered`."""
        added = await self._added(tree, changes, new=new)
        entries: dict[str, str | None] = {}
        for name, content, mode in self._side(changes.changes, new) if filtered else ():
            (full,) = self._named({name})
            if full in filtered and mode != LINK_MODE:
                blob = await clean(self._repository, full, content.loaded())
                entries[full] = f"{_git_mode(mode):o} {blob}"
        return await with_entries(self._repository, added, entries, self._scratch)

    async def _added(self, tree: str, changes: ChangeSet, *, new: bool) -> str:
        folder = self._scratch / f"sides.{secrets.token_hex(4)}"
        index = folder / "index"
        try:
            there, gone = await asyncio.to_thread(self._write, folder / "tree", changes.changes, new)
            async with private_git(self._repository, self._scratch) as private:
                git = private.at(folder / "tree").having(
                    GIT_WORK_TREE=str(folder / "tree"), GIT_INDEX_FILE=str(index)
                )
                await git.run("read-tree", tree)
                # A file may be gone because a link is where its folder was, which git would not look behind.
                for words, names in ((("--force-remove",), gone), (("--add", "--replace"), there)):
                    given = path_input(names)
                    await git.run("update-index", "-z", *words, "--stdin", given=given)
                # A partial clone has not all that HEAD names, and needs it for nothing here.
                return (await git.run("write-tree", "--missing-ok")).text
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _write(self, folder: Path, changes: tuple[FileChange, ...], new: bool) -> tuple[list[str], list[str]]:
        """Put one side of each file into a folder, and name those that are there, and those that are not."""
        names = {name for change in changes for name in (change.path, change.old_path or change.path)}
        there: set[str] = set()
        make_private_folder(folder)
        for name, content, mode in self._side(changes, new):
            there.add(name)
            place = folder / self._prefix / name
            place.parent.mkdir(parents=True, exist_ok=True)
            if mode == LINK_MODE:
                place.symlink_to(os.fsdecode(content.loaded()))
                continue
            place.write_bytes(content.loaded())
            place.chmod(_git_mode(mode) & 0o777)
        return self._named(there), self._named(names - there)

    def _side(
        self, changes: tuple[FileChange, ...], new: bool
    ) -> Iterator[tuple[str, FileContent, int | None]]:
        """Files that exist on one side."""
        for change in changes:
            content, mode = (change.new, change.new_mode) if new else (change.old, change.old_mode)
            if content is not None:
                yield change.path if new else change.old_path or change.path, content, mode

    def _named(self, paths: set[str]) -> list[str]:
        return sorted((self._prefix / path).as_posix() for path in paths)


def _git_mode(mode: int | None) -> int:
    return 0o100755 if mode is not None and mode & 0o100 else 0o100644


def _held(session: str) -> str:
    return f"refs/portico/finishing/worktree-{file_name(session)}"
