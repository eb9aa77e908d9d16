"""Creation of a working copy: a copy of the tree or a git worktree, its repository, and small ignored files."""

import asyncio
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path

from portico.files.private import open_private, write_private
from portico.git.program import Git
from portico.git.repository import Repository, find_repository
from portico.processes.executables import CannotRun, find_program
from portico.review.files.omitted_file import OmittedFile
from portico.review.files.worker_thread import run_to_end
from portico.review.git.file_lister import FileLister, FileListing, GitFileLister, WalkFileLister
from portico.review.working_copies.changes import prefix_of, shown
from portico.review.working_copies.ignored_files import IgnoredCopies, IgnoredFileCopier
from portico.review.working_copies.initial_copy import TreeFiller, WorkingCopyBounds, too_large
from portico.review.working_copies.record import WorkingCopyRecord
from portico.review.working_copies.repository import create_repository, link_tree
from portico.review.working_copies.tree import CopyTree
from portico.review.working_copies.worktrees import Worktrees

_NAMED_LEFT_OUT = 100


class WorkingCopyCreator:
    """Makes working copies. `state` is where Portico keeps its own, them included, which is never copied into one."""

    def __init__(
        self, state: Path, environ: Mapping[str, str], bounds: WorkingCopyBounds, linked: tuple[str, ...]
    ) -> None:
        self._state = state
        self._environ = environ
        self._bounds = bounds
        self._linked = linked

    async def copy(self, place: Path, workspace: Path, session: str) -> WorkingCopyRecord:
        """A copy of the repository that the workspace is in, or of the workspace."""
        repository = await self._repository(workspace)
        root = workspace if repository is None else resolved(repository.root)
        check_copyable(root)
        top = place / "tree" / (root.name or "root")
        record = WorkingCopyRecord.new(place, session, "proposal", workspace, root=root, top=top)
        await create_repository(repository_folder(record), top, repository)
        trees = self.trees(record)
        listing, ignored = await self._listed(trees, root)

        def fill(stop: threading.Event) -> None:
            secret = [OmittedFile(path, "may hold secrets") for path in listing.private]
            left_out = TreeFiller(record, open_tree(record), self._bounds, stop).fill(listing.files)
            self._carry(record, ignored, [*secret, *left_out], stop)
            if repository is not None:
                link_tree(repository_folder(record), top)
            record.save()

        await run_to_end(fill)
        return record

    async def worktree(
        self, place: Path, workspace: Path, session: str, worktrees: Worktrees
    ) -> WorkingCopyRecord:
        """A git worktree, whose start is the base."""
        worktree = await worktrees.open(workspace, session)
        root, top = resolved(worktree.repository), resolved(worktree.path)
        record = WorkingCopyRecord.new(place, session, "worktree", workspace, root=root, top=top)
        repository = await find_repository(root, self._environ)
        await create_repository(repository_folder(record), top, repository)
        trees = self.trees(record)
        ignored, listed = await asyncio.gather(trees.ignored(root, self._state), trees.of_working_copy(top))
        started = Git(top, self._environ).run(
            "ls-tree", "-r", "-z", "--name-only", "--full-tree", worktree.start
        )
        # A rule may ignore what is committed nevertheless; that is work all the same.
        against_rules = frozenset((await started).names) - listed
        listed |= {path for path in against_rules if (top / path).is_symlink() or (top / path).is_file()}
        apart = [] if repository is None else await _apart(repository)

        def fill(stop: threading.Event) -> None:
            left_out = TreeFiller(record, open_tree(record), self._bounds, stop).adopt(listed)
            left_out += [one for one in apart if (root / one.path / ".git").exists()]
            self._carry(record, ignored, left_out, stop)
            record.save()

        await run_to_end(fill)
        return record

    async def _listed(self, trees: FileLister, root: Path) -> tuple[FileListing, tuple[str, ...]]:
        """The person's work and what is ignored, unless to look through it all takes too long."""
        try:
            async with asyncio.timeout(self._bounds.listing_seconds):
                return await asyncio.gather(
                    trees.of_person(root, self._state), trees.ignored(root, self._state)
                )
        except TimeoutError as error:
            seconds = f"{self._bounds.listing_seconds:g}"
            raise too_large(root, f"its files could not be listed within {seconds} seconds") from error

    def trees(self, record: WorkingCopyRecord) -> FileLister:
        """Lister of the person's files and of the working copy."""
        if not self._has_git(record.root):
            return WalkFileLister()
        git = Git(record.root, self._environ)
        return GitFileLister(repository_folder(record), git if (record.root / ".git").exists() else None, git)

    def _carry(
        self,
        record: WorkingCopyRecord,
        ignored: tuple[str, ...],
        left_out: list[OmittedFile],
        stop: threading.Event,
    ) -> None:
        carried = IgnoredFileCopier(record.root, record.top, self._bounds, self._linked, stop).carry(ignored)
        names = (*carried.paths, *carried.linked)
        write_private(ignored_list_path(record), b"\0".join(os.fsencode(name) for name in names))
        _ignore(repository_folder(record), carried)
        named = sorted((*left_out, *carried.left_out), key=lambda each: each.path)
        record.left_out = tuple(
            OmittedFile(shown(record, each.path), each.reason) for each in named[:_NAMED_LEFT_OUT]
        )
        (record.top / prefix_of(record)).mkdir(parents=True, exist_ok=True)

    async def _repository(self, workspace: Path) -> Repository | None:
        """The repository that a workspace is work in; not one that ignores it."""
        if not self._has_git(workspace):
            return None
        repository = await find_repository(workspace, self._environ)
        if repository is None:
            return None
        inner = workspace.relative_to(resolved(repository.root)).as_posix()
        ignored = inner != "." and bool(await repository.ignored((inner,)))
        return None if ignored else repository

    def _has_git(self, folder: Path) -> bool:
        try:
            find_program("git", cwd=folder, environ=self._environ)
        except CannotRun:
            return False
        return True


async def _apart(repository: Repository) -> list[OmittedFile]:
    """The repositories within a repository, whose files are in no worktree of the outer one."""
    listed = (await repository.git.run("ls-files", "-z", "--others", "--exclude-standard")).names
    unknown = [name.rstrip("/") for name in listed if name.endswith("/")]
    submodules = await repository.submodules()
    return [
        *(OmittedFile(path, "is a submodule, which is empty in a worktree") for path in submodules),
        *(OmittedFile(path, "is a repository of its own, which is in no worktree") for path in unknown),
    ]


def check_copyable(folder: Path) -> None:
    """InvalidInput for the root of the file system, which is not copied."""
    if folder.parent == folder:
        raise too_large(folder, "it is the whole disk")


def resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))


def open_tree(record: WorkingCopyRecord) -> CopyTree:
    standing = record.top / prefix_of(record)
    return CopyTree(record.top, record.root, waiting=record.folder / "waiting", standing=standing)


def repository_folder(record: WorkingCopyRecord) -> Path:
    """Path of the repository of a working copy."""
    return record.folder / "git"


def ignored_list_path(record: WorkingCopyRecord) -> Path:
    """Path of the list of ignored files that were copied."""
    return record.folder / "carried"


def _ignore(rules: Path, carried: IgnoredCopies) -> None:
    """Have git ignore links that replace ignored folders, which a rule for folders does not cover."""
    if not carried.linked:
        return
    exclude = open_private(rules / "info" / "exclude", os.O_WRONLY | os.O_APPEND, follows=False)
    with open(exclude, "ab") as file:  # noqa: PTH123 - a descriptor
        for name in carried.linked:
            file.write(b"\n/" + re.sub(rb"([\\*?\[ ])", rb"\\\1", os.fsencode(name)))
        file.write(b"\n")
