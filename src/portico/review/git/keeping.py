"""Keeps a person's uncommitted and untracked work as commits under refs/portico, and knows how to merge trees.

Works on copies of the index. What is in the person's own index, on their branches and in their stash changes
only in `install_index`, which says so.
"""

import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.privacy import is_private
from portico.review.git.program import Git, translated
from portico.review.git.repositories import Repository

_MERGE = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")


class Work(msgspec.Struct, frozen=True):
    """A working tree, as trees of its own repository: with all that is not ignored, and what was staged."""

    files: str
    staged: str


async def keep_work(repository: Repository, scratch: Path) -> Work:
    """What is there now. Untracked files of secrets are left where they are, and out of this."""
    async with _index_copy(repository, scratch) as (git, _):
        staged = (await git.run("write-tree")).text
        await git.run("add", "--update")
        listed = (await git.run("ls-files", "-z", "--others", "--exclude-standard")).names
        new = [name for name in listed if not name.endswith("/") and not is_private(name.split("/"))]
        given = b"".join(os.fsencode(name) + b"\0" for name in new)
        if new:
            await git.run("update-index", "-z", "--add", "--remove", "--stdin", given=given)
        return Work((await git.run("write-tree")).text, staged)


async def commit(repository: Repository, tree: str, parents: list[str], message: str) -> str:
    """A commit that no branch knows of yet, by the person if git knows who that is."""
    git = repository.git
    if (await git.ask("var", "GIT_COMMITTER_IDENT")).code != 0:
        git = git.having(
            GIT_AUTHOR_NAME="Portico",
            GIT_AUTHOR_EMAIL="portico@localhost",
            GIT_COMMITTER_NAME="Portico",
            GIT_COMMITTER_EMAIL="portico@localhost",
        )
    words = [word for parent in parents for word in ("-p", parent)]
    return (await git.run("commit-tree", tree, *words, given=message.encode())).text


async def tree_of(repository: Repository, commit_id: str) -> str:
    return (await repository.git.run("rev-parse", "--verify", f"{commit_id}^{{tree}}")).text


async def merge_trees(repository: Repository, base: str, ours: str, theirs: str) -> str:
    """The tree with both changes. InvalidInput names the files in which they cannot be told apart."""
    if base in (ours, theirs) or ours == theirs:
        return theirs if base == ours else ours
    origin = await commit(repository, base, [], "base")
    left = await commit(repository, ours, [origin], "ours")
    right = await commit(repository, theirs, [origin], "theirs")
    answer = await repository.git.ask(*_MERGE, left, right)
    match answer.code:
        case 0:
            return answer.names[0]
        case 1:
            files = ", ".join(sorted(set(answer.names[1:]))[:5])
            raise InvalidInput(
                f"The session and your own uncommitted work changed the same lines of {files}.",
                suggestion="Finish with keep, which loses neither, and merge the branch by hand; or commit your work.",
            )
        case _:
            raise translated("merge-tree", answer.complaint)


@asynccontextmanager
async def _index_copy(repository: Repository, scratch: Path) -> AsyncIterator[tuple[Git, Path]]:
    """Git with a copy of the person's index, and where that is."""
    copy = scratch / f"index.{secrets.token_hex(4)}"
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    source = repository.git_folder / "index"
    if source.exists():
        # With its time: git mistrusts its cache for files that are no older than the index.
        shutil.copy2(source, copy)
    try:
        yield repository.git.having("core.safecrlf=false", GIT_INDEX_FILE=str(copy)), copy
    finally:
        copy.unlink(missing_ok=True)


async def stage_tree(repository: Repository, tree: str, scratch: Path) -> None:
    """Make a tree the person's index, with the files on disk untouched."""
    async with _index_copy(repository, scratch) as (git, index):
        await git.run("read-tree", tree)
        await git.ask("update-index", "-q", "--refresh")  # Fails where files differ, as they may.
        install_index(repository, index)


def install_index(repository: Repository, source: Path) -> None:
    """Put a file in the place of the person's index, its time kept, under the lock that git itself respects."""
    place = repository.git_folder / "index"
    lock = repository.git_folder / "index.lock"
    try:
        descriptor = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    except FileExistsError as error:
        raise SessionBusy(
            f"Another git is at work in {repository.root}.",
            suggestion=f"Wait for it to end; if none runs, remove {lock}.",
        ) from error
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - pathlib opens no descriptors
            file.write(source.read_bytes())
            file.flush()
            os.fsync(descriptor)
        facts = source.stat()
        os.utime(lock, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        lock.replace(place)
    except BaseException:
        lock.unlink(missing_ok=True)
        raise
