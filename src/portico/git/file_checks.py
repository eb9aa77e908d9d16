"""Checks of the files that git opens by itself: git would wait on a pipe and read a device forever."""

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from portico.domain.errors import StoreFailed
from portico.files.regular import check_regular, read_regular

_POINTER_BYTES = 64 * 1024
_CONFIG_BYTES = 16 * 1024 * 1024
_GIT_FILES: dict[str, int | None] = {
    "HEAD": _POINTER_BYTES,
    "commondir": _POINTER_BYTES,
    "gitdir": _POINTER_BYTES,
    "config": _CONFIG_BYTES,
    "config.worktree": _CONFIG_BYTES,
    "info/exclude": _CONFIG_BYTES,
    "info/attributes": _CONFIG_BYTES,
    "info/sparse-checkout": _CONFIG_BYTES,
    "info/grafts": _CONFIG_BYTES,
    "objects/info/alternates": _CONFIG_BYTES,
    "packed-refs": None,
    "shallow": None,
    "index": None,
}
_DECIDING = ("HEAD", "config", "config.worktree", "commondir", "gitdir", "objects", "refs")
_TREE_FILES = dict.fromkeys((".gitignore", ".gitattributes", ".gitmodules"), _CONFIG_BYTES)

GitFacts = tuple[tuple[int, ...] | None, ...]


def check_git_files(folder: Path) -> None:
    """StoreFailed if the repository around a folder has something else where git expects a file of bounded size."""
    try:
        for parent in (folder, *folder.parents):
            git_folder = _git_folder(parent / ".git")
            if git_folder is not None:
                _check(parent, _TREE_FILES)
                _check(git_folder, _GIT_FILES)
                _check(common_folder_of(git_folder), _GIT_FILES)
                return
    except OSError as error:
        raise unreadable_error(error) from error


def git_facts(folder: Path) -> GitFacts:
    """Stat facts that change whenever git may find another repository around a folder, or none."""
    facts: list[tuple[int, ...] | None] = []
    for parent in (folder, *folder.parents):
        link = parent / ".git"
        facts.append(_facts_of(link))
        if facts[-1] is not None:
            with contextlib.suppress(OSError):
                git_folder = _git_folder(link) or link
                places = (git_folder, common_folder_of(git_folder))
                facts += [_facts_of(place / name) for place in places for name in _DECIDING]
    return tuple(facts)


def _facts_of(path: Path) -> tuple[int, ...] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    owned = (facts.st_dev, facts.st_ino, facts.st_mode, facts.st_uid)
    # The date of a folder changes with everything that git does there.
    return (
        owned
        if stat.S_ISDIR(facts.st_mode)
        else (*owned, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
    )


def common_folder_of(git_folder: Path) -> Path:
    """Folder with objects, branches and config; for a linked worktree it is not the git folder itself."""
    try:
        named = read_regular(git_folder / "commondir", limit=_POINTER_BYTES)
    except FileNotFoundError:
        return git_folder
    return Path(os.path.realpath(git_folder / os.fsdecode(named.strip())))


def leads_to(link: Path, git_folder: Path) -> bool:
    """Whether `.git` is a git folder, or the file that names it."""
    found = _git_folder(link)
    return found is not None and os.path.realpath(found) == os.path.realpath(git_folder)


def unreadable_error(error: OSError) -> StoreFailed:
    """Error for a file of git that cannot be read."""
    return StoreFailed(
        f"{error.filename} cannot be read: {error.strerror}.",
        suggestion="Put a proper file in its place, or remove it.",
    )


def _git_folder(link: Path) -> Path | None:
    """The git folder that `.git` is or names; None for anything else."""
    try:
        mode = link.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISDIR(mode):
        return link
    if not stat.S_ISREG(mode):
        return None
    named = read_regular(link, limit=_POINTER_BYTES)
    if not named.startswith(b"gitdir:"):
        return None
    return link.parent / os.fsdecode(named.removeprefix(b"gitdir:").strip(b" \r\n"))


def _check(folder: Path, names: Mapping[str, int | None]) -> None:
    for name, limit in names.items():
        path = folder / name
        try:
            facts = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        check_regular(path, facts, limit)
