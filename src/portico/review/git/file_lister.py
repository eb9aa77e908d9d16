"""Listing of the files of a tree that are work and those that are ignored: through git, or by a walk where
git is not installed.
"""

import asyncio
import os
import stat
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec

from portico.domain.secret_files import is_private
from portico.files.folders import open_folder
from portico.git.program import Git
from portico.review.files.worker_thread import run_to_end

_WORK = ("ls-files", "-z", "-t", "--others", "--exclude-standard")
_IGNORED = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
_NEW = "?"
_REMEMBERED_NAMES = 20_000


class FileListing(msgspec.Struct, frozen=True):
    """Paths relative to the tree. `private` ones are new files of secrets, which no agent gets."""

    files: frozenset[str]
    private: frozenset[str]


class FileLister(Protocol):
    """Lists the tree of a person and that of a working copy by the same rules."""

    async def of_person(self, root: Path, without: Path) -> FileListing:
        """The person's work, tracked or not, but for what is in the folder `without`, which is ours."""
        ...

    async def of_working_copy(self, top: Path) -> frozenset[str]:
        """All files of a working copy that are not ignored."""
        ...

    async def ignored(self, root: Path, without: Path) -> tuple[str, ...]:
        """Ignored files, and folders in which all is ignored, outermost only."""
        ...


class GitFileLister:
    """Asks git. `rules` is the folder of Portico's own repository; `repository` is at the person's tree."""

    def __init__(self, rules: Path, repository: Git | None, plain: Git) -> None:
        self._rules = rules
        self._repository = repository
        self._plain = plain

    async def of_person(self, root: Path, without: Path) -> FileListing:
        lines = await self._listed(root, "", person=True)
        ours = inside(without, root)
        files = {path for tag, path in lines if not (tag == _NEW and may_hold_secrets(path))}
        private = {path for tag, path in lines if tag == _NEW} - files
        if ours is not None:
            files = {path for path in files if not f"{path}/".startswith(f"{ours}/")}
        return FileListing(frozenset(files), frozenset(private))

    async def of_working_copy(self, top: Path) -> frozenset[str]:
        return frozenset(path for _, path in await self._listed(top, "", person=False))

    async def ignored(self, root: Path, without: Path) -> tuple[str, ...]:
        git = self._repository or self._own(root)
        names = {name.rstrip("/") for name in (await git.run(*_IGNORED)).names}
        ours = inside(without, root)
        return tuple(
            name
            for name in sorted(names)
            if not any(str(parent) in names for parent in Path(name).parents)
            and (ours is None or not f"{ours}/".startswith(f"{name}/"))
        )

    async def _listed(self, root: Path, prefix: str, *, person: bool) -> list[tuple[str, str]]:
        folder = root / prefix
        if not person or (self._repository is None and not prefix):
            answer = await self._own(folder).run(*_WORK)
        else:
            git = self._repository if not prefix else None
            answer = await (git or self._plain.at(folder)).run(*_WORK, "--cached")
        lines, inner = await asyncio.to_thread(_parted, root, prefix, answer.names)
        for path in inner:
            lines += await self._listed(root, f"{path}/", person=person)
        return lines

    def _own(self, folder: Path) -> Git:
        return self._plain.at(folder).having(
            GIT_DIR=str(self._rules),
            GIT_WORK_TREE=str(folder),
            GIT_INDEX_FILE=str(self._rules / "no-index"),
        )


def _parted(root: Path, prefix: str, names: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Existing files among those that git lists, with their tags, and the repositories among them."""
    lines: list[tuple[str, str]] = []
    inner: set[str] = set()
    for name in names:
        tag, path = name[0], prefix + name[2:].rstrip("/")
        try:
            mode = os.lstat(f"{root}/{path}").st_mode
        except OSError:
            continue  # Deleted and not yet staged, or outside of a sparse checkout.
        if not stat.S_ISDIR(mode):
            lines.append((tag, path))
        elif os.path.lexists(f"{root}/{path}/.git"):
            inner.add(path)
    return lines, sorted(inner)


def inside(folder: Path, root: Path) -> str | None:
    """Path of a folder within a tree, with slashes; None if it is elsewhere."""
    real = Path(os.path.realpath(folder))
    return real.relative_to(root).as_posix() if real.is_relative_to(root) and real != root else None


def may_hold_secrets(path: str) -> bool:
    """Cached result of `is_private` for a path."""
    *folders, name = path.split("/")
    return _is_private_file(folders[-1] if folders else "", name) or any(map(_is_private_folder, folders))


@lru_cache(maxsize=_REMEMBERED_NAMES)
def _is_private_file(folder: str, name: str) -> bool:
    return is_private((folder, name))


@lru_cache(maxsize=_REMEMBERED_NAMES)
def _is_private_folder(name: str) -> bool:
    return is_private((name, "any"))


_FILLED_BY_TOOLS = {"node_modules", "__pycache__", ".venv", "venv", ".tox"}
_MARKS = ("pyvenv.cfg", "CACHEDIR.TAG")
_OF_GIT = ".git"


class WalkFileLister:
    """Walks through trees. Implements `Trees`."""

    async def of_person(self, root: Path, without: Path) -> FileListing:
        found = await run_to_end(lambda stop: [path for path, work in _walk(root, without, stop) if work])
        private = frozenset(path for path in found if may_hold_secrets(path))
        return FileListing(frozenset(found) - private, private)

    async def of_working_copy(self, top: Path) -> frozenset[str]:
        found = await run_to_end(lambda stop: [path for path, work in _walk(top, top, stop) if work])
        return frozenset(found)

    async def ignored(self, root: Path, without: Path) -> tuple[str, ...]:
        found = await run_to_end(lambda stop: [path for path, work in _walk(root, without, stop) if not work])
        return tuple(sorted(found))


def _walk(root: Path, without: Path, stop: threading.Event) -> Iterator[tuple[str, bool]]:
    """Files that are work, and folders that are not and are not entered."""
    ours = inside(without, root)
    waiting = [""]
    while waiting and not stop.is_set():
        prefix = waiting.pop()
        try:
            with open_folder(root / prefix) as folder, folder.scan() as scanned:
                entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in scanned]
        except OSError:
            continue
        for name, is_folder in entries:
            path = prefix + name
            if name == _OF_GIT or path == ours:
                continue
            if not is_folder:
                yield path, True
            elif name in _FILLED_BY_TOOLS or any(os.path.lexists(f"{root}/{path}/{mark}") for mark in _MARKS):
                yield path, False
            else:
                waiting.append(f"{path}/")
