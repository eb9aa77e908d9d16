"""Git worktrees for worktree mode, each with the person's uncommitted work and a branch of its own.

The person's tree, index and branches are not touched. A worktree lives in the state folder on a branch of its
own; where it started is kept under refs/portico/worktree, and so is how it ended, so that closing one loses
nothing. One that was deleted by hand is noticed, and can be closed or opened again.
"""

import asyncio
import filecmp
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from portico.domain.errors import FileMissing, InvalidInput
from portico.files import real_path
from portico.files.folders import make_folders
from portico.files.private import make_private_folder
from portico.git.private_git import private_git
from portico.git.repository import Repository, find_repository, need_repository
from portico.review.checkpoints.blobs import read_blob
from portico.review.files.clone import copy_bytes
from portico.review.git.filters import filtered_paths, store_as_is, with_entries
from portico.review.git.tree_changes import TreeChange, tree_changes
from portico.review.git.uncommitted_work import (
    UncommittedWork,
    commit,
    keep_work,
    stage_tree,
    unchanged_since,
)

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree at `path`. `folder` in it is what the workspace is in the person's tree."""

    session: str
    path: Path
    folder: Path
    branch: str
    start: str
    repository: Path


class WorktreeChanges(msgspec.Struct, frozen=True):
    """Changes of a session, from the commit `start` to the commit `end`."""

    start: str
    end: str
    files: tuple[TreeChange, ...]


class Worktrees:
    """The worktrees of all repositories, in one folder of the state folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = environ

    async def open(self, workspace: Path, session: str) -> Worktree:
        """The session's worktree: a new one, or the one it has. One deleted by hand is created again."""
        if not _SESSION.fullmatch(session):
            raise InvalidInput(f"“{session}” cannot be the name of a worktree.")
        repository = await need_repository(workspace, self._environ)
        worktree = await self._named(repository, workspace, session)
        if worktree is not None and await self._alive(worktree):
            return worktree
        _, home = await repository.settled_head()
        await repository.need_room_for_branches()
        await self._forget(repository, session)
        if worktree is None:
            work = await keep_work(repository, self._folder)
            message = f"The person's work when the session {session} began\n"
            start = await commit(repository, work.files, [home], message)
            await repository.git.run("update-ref", _reference(session, "start"), start)
            filtered = work.filtered
        else:
            start, filtered = worktree.start, ()
        path = self._path(repository, session)
        make_private_folder(path.parent)
        branch = _branch(session)
        at = await repository.commit_of(f"{start}^1") or start
        try:
            await repository.git.run(
                "worktree", "add", "--no-checkout", "--quiet", "--detach", str(path), start
            )
            inner = await need_repository(path, self._environ)
            await self._check_out(inner, start)
            await self._take_over(repository, path, start, filtered)
            await inner.git.run("update-ref", f"refs/heads/{branch}", at)
            await inner.git.run("symbolic-ref", "-m", f"portico: {session}", "HEAD", f"refs/heads/{branch}")
            await stage_tree(inner, f"{at}^{{tree}}", self._folder)
        except BaseException:
            await self._forget(repository, session)
            raise
        worktree = self._worktree(repository, workspace, session, start)
        worktree.folder.mkdir(parents=True, exist_ok=True)
        return worktree

    async def find(self, workspace: Path, session: str) -> Worktree | None:
        """The session's worktree, on disk or deleted by hand; None if it never had one or it is closed."""
        return await self._named(await need_repository(workspace, self._environ), workspace, session)

    async def changes(self, worktree: Worktree) -> WorktreeChanges:
        """Changes since the start, including the agent's commits and new files."""
        if not await self._alive(worktree):
            raise FileMissing(
                f"The worktree of the session {worktree.session} is gone from {worktree.path}.",
                suggestion="It was deleted. Close the session, or open its worktree again.",
            )
        inner = await need_repository(worktree.path, self._environ)
        work = await keep_work(inner, self._folder)
        files = await self._with_filtered(inner, worktree, work)
        head = await inner.head()
        parents = [head.commit] if head.commit else [worktree.start]
        end = await commit(inner, files, parents, f"The end of the session {worktree.session}\n")
        await inner.git.run("update-ref", _reference(worktree.session, "end"), end)
        return WorktreeChanges(worktree.start, end, await tree_changes(inner.git, worktree.start, end))

    async def read(self, worktree: Worktree, commit_id: str, path: str) -> bytes | None:
        """The content of a file at the start or the end of a session."""
        repository = await need_repository(worktree.repository, self._environ)
        return await read_blob(repository.git, commit_id, path)

    async def close(self, worktree: Worktree) -> None:
        """Take the worktree and its branch away, dirty, locked or deleted. Its last state stays in a ref."""
        repository = await need_repository(worktree.repository, self._environ)
        if await self._alive(worktree):
            await self.changes(worktree)
        await self._forget(repository, worktree.session)
        await repository.git.run("update-ref", "-d", f"refs/heads/{worktree.branch}")
        await repository.git.run("update-ref", "-d", _reference(worktree.session, "start"))

    async def _check_out(self, inner: Repository, start: str) -> None:
        """Write the files of a commit, with line ends and encodings as git has them, and no filter run."""
        async with private_git(inner, self._folder) as git:
            checking_out = git.having(GIT_INDEX_FILE=str(inner.git_folder / "index"))
            await checking_out.run("read-tree", "-m", "-u", start)

    async def _take_over(
        self, repository: Repository, path: Path, start: str, changed: Sequence[str]
    ) -> None:
        """Give files the person's own rights, and their bytes where git wrote others: line ends, or a filter's.

        To git both are the same file; where the work is compared and applied they would be two. `changed` are
        files with a filter that `start` has otherwise, or not at all.
        """
        listed = (await repository.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", start)).names
        other = await asyncio.to_thread(_of_other_size, repository.root, path, listed)
        same = await unchanged_since(repository, start, other, self._folder) if other else []
        filtered = await filtered_paths(repository, listed)
        theirs = {*same, *filtered, *changed}
        await asyncio.to_thread(_take_over, repository.root, path, [*listed, *changed], theirs)

    async def _with_filtered(self, inner: Repository, worktree: Worktree, work: UncommittedWork) -> str:
        """The files with those that have a filter as they are, unless the person's are the same."""
        own = await asyncio.to_thread(_differing, worktree.repository, worktree.path, work.filtered)
        entries: dict[str, str | None] = {
            name: f"{mode} {await store_as_is(inner.git, name)}" for name, mode in own.items()
        }
        return await with_entries(inner, work.files, entries, self._folder)

    async def _named(self, repository: Repository, workspace: Path, session: str) -> Worktree | None:
        start = await repository.commit_of(_reference(session, "start"))
        return None if start is None else self._worktree(repository, workspace, session, start)

    async def _alive(self, worktree: Worktree) -> bool:
        if not worktree.path.is_dir():
            return False
        found = await find_repository(worktree.path, self._environ)
        return found is not None and found.root.resolve() == worktree.path.resolve()

    async def _forget(self, repository: Repository, session: str) -> None:
        """Remove the worktree and what the repository knows of it, but for what was committed there."""
        path = self._path(repository, session)
        if (tip := await repository.branch_commit(_branch(session))) is not None:
            await repository.git.run("update-ref", _reference(session, "commits"), tip)
        await repository.git.ask("worktree", "unlock", str(path))
        await repository.git.ask("worktree", "remove", "--force", "--force", str(path))
        if path.exists():  # Submodules, or an entry that is broken: git leaves these to others.
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
        await repository.git.run("worktree", "prune")

    def _path(self, repository: Repository, session: str) -> Path:
        key = hashlib.sha256(os.fsencode(repository.root)).hexdigest()[:16]
        return self._folder / key / session

    def _worktree(self, repository: Repository, workspace: Path, session: str, start: str) -> Worktree:
        path = self._path(repository, session)
        inner = Path(os.path.realpath(workspace)).relative_to(os.path.realpath(repository.root))
        return Worktree(
            session=session,
            path=path,
            folder=path / inner,
            branch=_branch(session),
            start=start,
            repository=repository.root,
        )


def _differing(root: Path, path: Path, names: Iterable[str]) -> dict[str, str]:
    """The files of a worktree that are not the person's, each with the mode that git keeps."""
    root, path = _real(root), _real(path)
    found: dict[str, str] = {}
    for name in names:
        theirs, ours = _facts(root, name), _facts(path, name)
        if ours is None or (theirs is not None and filecmp.cmp(root / name, path / name, shallow=False)):
            continue
        found[name] = "100755" if ours.st_mode & stat.S_IXUSR else "100644"
    return found


def _of_other_size(root: Path, path: Path, names: Iterable[str]) -> list[str]:
    """The files that both trees have, with more bytes in one. None that is found behind a link."""
    root, path = _real(root), _real(path)
    pairs = ((name, _facts(root, name), _facts(path, name)) for name in names)
    return [
        name
        for name, theirs, ours in pairs
        if theirs is not None and ours is not None and theirs.st_size != ours.st_size
    ]


def _take_over(root: Path, path: Path, names: Iterable[str], same: Iterable[str]) -> None:
    root, path = _real(root), _real(path)
    for name in same:
        theirs, ours = _facts(root, name), _facts(path, name)
        if theirs is None:
            continue
        make_folders((path / name).parent).close()
        real_path.unlink(path / name, missing_ok=True)
        copy_bytes(root / name, path / name)
        real_path.chmod(path / name, (ours or theirs).st_mode & 0o777)
    for name in names:
        theirs, ours = _facts(root, name), _facts(path, name)
        if theirs is None or ours is None or (theirs.st_mode ^ ours.st_mode) & 0o777 == 0:
            continue
        if (theirs.st_mode ^ ours.st_mode) & stat.S_IXUSR == 0:
            real_path.chmod(path / name, theirs.st_mode & 0o777)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _facts(root: Path, name: str) -> os.stat_result | None:
    """Facts of a file; None for anything else, or behind a link."""
    try:
        facts = real_path.lstat(f"{root}/{name}")
    except OSError:
        return None
    return facts if stat.S_ISREG(facts.st_mode) else None


def _branch(session: str) -> str:
    return f"portico/worktree-{session}"


def _reference(session: str, which: str) -> str:
    return f"refs/portico/worktree/{session}/{which}"
