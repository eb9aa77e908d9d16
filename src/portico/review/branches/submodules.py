"""Positions of submodules: recorded when a session branch begins, and restored at its end.

Their files are in the checkpoint of the start; HEAD and index are each submodule's own. What was committed in one
meanwhile stays there under refs/portico, and the person's branch is where it was.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from portico.domain.errors import PorticoError
from portico.files.private import copy_private, make_private_folder
from portico.git.repository import Repository, find_repository
from portico.review.git.uncommitted_work import check_index_free, install_index, stage_tree


class SubmodulePosition(msgspec.Struct, frozen=True):
    """Commit of one submodule. `branch` is None if its HEAD was detached, as it usually is."""

    path: bytes
    branch: str | None
    commit: str


class Submodules:
    """Submodules of all repositories. `index` returns the path for the copy of a submodule's index."""

    def __init__(
        self, scratch: Path, environ: Mapping[str, str], index: Callable[[Repository], Path]
    ) -> None:
        self._scratch = scratch
        self._environ = environ
        self._index = index

    async def keep(self, repository: Repository) -> tuple[SubmodulePosition, ...]:
        """Positions of all submodules that are checked out and have no operation in progress, nested ones
        included.
        """
        found: list[SubmodulePosition] = []
        async for path, inner in self._inside(repository, ""):
            try:
                head, commit = await inner.settled_head()
            except PorticoError:
                continue  # What the person has begun in it is theirs to end, and stays as they have it.
            found.append(SubmodulePosition(os.fsencode(path), head.branch, commit))
            place = self._index(inner)
            make_private_folder(place.parent)
            with contextlib.suppress(FileNotFoundError):
                copy_private(inner.git_folder / "index", place)
        return tuple(found)

    async def check(self, repository: Repository, standings: Sequence[SubmodulePosition]) -> None:
        """SessionBusy for a submodule in the middle of something, before anything is brought back."""
        async for inner, _ in self._still_there(repository, standings):
            await inner.settled_head()
            check_index_free(inner)

    async def bring_back(
        self, repository: Repository, standings: Sequence[SubmodulePosition], name: str
    ) -> None:
        """HEAD and index as they were, with the files on disk untouched. `name` is of refs for what was committed."""
        async for inner, standing in self._still_there(repository, standings):
            await _go_home(inner, standing, name)
            saved = self._index(inner)
            if saved.exists():
                install_index(inner, saved)
            else:
                await stage_tree(inner, f"{standing.commit}^{{tree}}", self._scratch)

    async def forget(self, repository: Repository, standings: Sequence[SubmodulePosition]) -> None:
        async for inner, _ in self._still_there(repository, standings):
            self._index(inner).unlink(missing_ok=True)

    async def _inside(self, repository: Repository, prefix: str) -> AsyncIterator[tuple[str, Repository]]:
        for path in sorted(await repository.submodules()):
            inner = await self._at(repository.root / path)
            if inner is not None:
                yield prefix + path, inner
                async for found in self._inside(inner, f"{prefix}{path}/"):
                    yield found

    async def _still_there(
        self, repository: Repository, standings: Sequence[SubmodulePosition]
    ) -> AsyncIterator[tuple[Repository, SubmodulePosition]]:
        for standing in standings:
            inner = await self._at(repository.root / os.fsdecode(standing.path))
            if inner is not None:
                yield inner, standing

    async def _at(self, folder: Path) -> Repository | None:
        """The repository that a folder is; None for one that is not checked out, or gone."""
        if not (folder / ".git").exists():
            return None
        found = await find_repository(folder, self._environ)
        return found if found is not None and _is_at(found, folder) else None


def _is_at(repository: Repository, folder: Path) -> bool:
    return repository.root.resolve() == folder.resolve()


async def _go_home(inner: Repository, standing: SubmodulePosition, name: str) -> None:
    """HEAD as it was named and where it was. What it led to until now gets a name."""
    head = await inner.head()
    branch = None if standing.branch is None else f"refs/heads/{standing.branch}"
    tips = {head.commit, None if branch is None else await inner.commit_of(branch)}
    for tip in tips - {standing.commit, None}:
        await inner.git.run("update-ref", f"{name}/{str(tip)[:12]}", str(tip))
    if (head.branch, head.commit) == (standing.branch, standing.commit):
        return
    note = "portico: the start comes back"
    if branch is None:
        await inner.git.run("update-ref", "--no-deref", "-m", note, "HEAD", standing.commit)
        return
    await inner.git.run("update-ref", "-m", note, branch, standing.commit)
    await inner.git.run("symbolic-ref", "-m", note, "HEAD", branch)
