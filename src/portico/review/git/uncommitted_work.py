"""Uncommitted and untracked work as commits under refs/portico, tree merges, and the lock of the person's
index.

Works on copies of the index. What is in the person's own index, on their branches and in their stash changes
only where an index is installed, which says so.
"""

import os
import secrets
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec

from portico.domain.errors import InvalidInput, SessionBusy
from portico.domain.secret_files import is_private
from portico.files.private import copy_private, make_private_folder
from portico.git.private_git import private_git
from portico.git.program import Git, path_input, translated
from portico.git.repository import Repository
from portico.review.git.filters import filtered_paths
from portico.review.git.index_update import add_to_index

_NOT_INSIDE = "--ignore-submodules=dirty"
"""To look for changes inside of submodules, git would run itself there, with their config."""
_MERGE = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages")


class UncommittedWork(msgspec.Struct, frozen=True):
    """A working tree, as trees of its own repository: with all that is not ignored, and what was staged.

    `intended` are the files of which git was told that they will be added, and holds no more than the name.
    `filtered` are files that seem changed, and whose new form only a program of the repository could tell: the
    tree has them as they are staged, or not at all if they are new.
    """

    files: str
    staged: str
    intended: tuple[bytes, ...] = ()
    filtered: tuple[str, ...] = ()


async def keep_work(repository: Repository, scratch: Path) -> UncommittedWork:
    """Write the current working tree to the repository as trees. Untracked files that may hold secrets are
    left out.
    """
    async with _index_copy(repository, scratch) as (git, _):
        staged = (await git.run("write-tree", "--missing-ok")).text
        intended = await _intended(git, staged)
        changed = (await git.run("diff-files", "-z", "--name-status", "--no-renames", _NOT_INSIDE)).names
        states = dict(zip(changed[1::2], changed[::2], strict=True))
        gone = {name for name, state in states.items() if state == "D"}
        listed = (await git.run("ls-files", "-z", "--others", "--exclude-standard")).names
        new = [name for name in listed if not name.endswith("/") and not is_private(name.split("/"))]
        there = [name for name in (*states, *new) if name not in gone]
        filtered = await filtered_paths(repository, there)
        taken = [name for name in there if name not in filtered]
        if gone:
            given = path_input(gone)
            await git.run("update-index", "-z", "--force-remove", "--stdin", given=given)
        if taken:
            await add_to_index(git, repository.root, taken)
        files = (await git.run("write-tree", "--missing-ok")).text
        return UncommittedWork(files, staged, intended, tuple(sorted(filtered)))


async def uncommitted(repository: Repository, scratch: Path) -> frozenset[str]:
    """The files that are otherwise than in HEAD's commit, or not in it."""
    work = await keep_work(repository, scratch)
    head = (await repository.head()).commit
    listing = ("ls-tree", "--full-tree") if head is None else ("diff-tree", "--no-renames", head)
    names = (
        await repository.git.run(*listing[:2], "-r", "-z", "--name-only", *listing[2:], work.files)
    ).names
    return frozenset((*names, *work.filtered))


async def staged_tree(repository: Repository, scratch: Path) -> str:
    """Tree of the current index."""
    async with _index_copy(repository, scratch) as (git, _):
        return (await git.run("write-tree", "--missing-ok")).text


async def unchanged_since(
    repository: Repository, tree: str, paths: Collection[str], scratch: Path
) -> list[str]:
    """Files among these that are unchanged from a tree, apart from line endings and encoding."""
    async with _index_copy(repository, scratch) as (git, _):
        await git.run("read-tree", tree)
        given = path_input(paths)
        await git.run("update-index", "-z", "--remove", "--stdin", given=given)
        changed = (await git.run("diff-index", "--cached", "-z", "--name-only", tree)).names
        return sorted(set(paths).difference(changed))


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


async def merge_trees(repository: Repository, base: str, ours: str, theirs: str, scratch: Path) -> str:
    """Merge of two trees as git merges text, without merge drivers. InvalidInput names files with conflicts."""
    if base in (ours, theirs) or ours == theirs:
        return theirs if base == ours else ours
    origin = await commit(repository, base, [], "base")
    left = await commit(repository, ours, [origin], "ours")
    right = await commit(repository, theirs, [origin], "theirs")
    async with private_git(repository, scratch) as git:
        answer = await git.ask(*_MERGE, left, right)
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
    """A private git with a copy of the person's index, and where that is."""
    copy = scratch / f"index.{secrets.token_hex(4)}"
    make_private_folder(copy.parent)
    source = repository.git_folder / "index"
    if source.exists():
        # With its time: git mistrusts its cache for files that are no older than the index.
        copy_private(source, copy)
    try:
        async with private_git(repository, scratch) as git:
            yield git.having(GIT_INDEX_FILE=str(copy)), copy
    finally:
        copy.unlink(missing_ok=True)


async def stage_tree(
    repository: Repository, tree: str, scratch: Path, intended: Iterable[bytes] = ()
) -> None:
    """Make a tree the person's index, with the files on disk untouched."""
    async with index_of(repository, tree, scratch, intended) as index:
        install_index(repository, index)


@asynccontextmanager
async def index_of(
    repository: Repository, tree: str, scratch: Path, intended: Iterable[bytes] = ()
) -> AsyncIterator[Path]:
    """A file that can be the person's index, with a tree in it and what they have told git of single files.

    In a sparse checkout git is told so of all files that are not there; unmarked, they would count as deleted.
    Files that were `intended` to be added before are so again, beside those that are now.
    """
    async with _index_copy(repository, scratch) as (git, index):
        flags = await _index_flags(git)
        staged = (await git.run("write-tree", "--missing-ok")).text
        names = {os.fsdecode(name) for name in (*intended, *await _intended(git, staged))}
        await git.run("read-tree", tree)
        there = set((await git.run("ls-files", "-z")).names) if flags or names else set()
        for option, marked in flags.items():
            given = path_input(name for name in marked if name in there)
            await git.run("update-index", "-z", option, "--stdin", given=given)
        await _intend(git, names - there)
        await git.ask("update-index", "-q", "--refresh")  # Fails where files differ, as they may.
        yield index


async def _index_flags(git: Git) -> dict[str, list[str]]:
    """Files that an index holds and git shall not look for, or not look at, by the option that says so."""
    flags: dict[str, list[str]] = {}
    for line in (await git.run("ls-files", "-v", "-z")).names:
        tag, _, name = line.partition(" ")
        if tag in ("S", "s"):
            flags.setdefault("--skip-worktree", []).append(name)
        if tag.islower():
            flags.setdefault("--assume-unchanged", []).append(name)
    return flags


async def _intended(git: Git, staged: str) -> tuple[bytes, ...]:
    """The names that are in an index, and not in the tree that can be written of it."""
    words = ("diff-index", "--cached", "--ita-visible-in-index", "-z", "--name-only", "--diff-filter=A")
    return tuple(name for name in (await git.run(*words, staged)).output.split(b"\0") if name)


async def _intend(git: Git, names: Iterable[str]) -> None:
    """Mark files that an index does not have yet as intended to be added."""
    root = git.folder.resolve()
    given = path_input(name for name in sorted(names) if _is_entry(root, name))
    words = ("add", "--intent-to-add", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
    if given:
        await git.run(*words, given=given)


def _is_entry(root: Path, name: str) -> bool:
    """Whether a file or link is there, and not behind a link."""
    place = root / name
    return (place.is_symlink() or place.is_file()) and place.parent.resolve() == place.parent


def install_index(repository: Repository, source: Path) -> None:
    """Put a file in the place of the person's index, under the lock that git itself respects."""
    with index_lock(repository) as lock:
        lock.put(source)


class IndexLock:
    """The lock of an index, held. What is put takes the place of the index, and the lock is gone with that."""

    def __init__(self, index: Path, place: Path) -> None:
        self._index = index
        self._place = place
        self._held = True

    def put(self, source: Path) -> None:
        """Make a file the index, its time kept."""
        with self._place.open("wb") as file:
            file.write(source.read_bytes())
            file.flush()
            os.fsync(file.fileno())
        facts = source.stat()
        os.utime(self._place, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        self._place.replace(self._index)
        self._held = False

    def release(self) -> None:
        if self._held:
            self._place.unlink(missing_ok=True)


@contextmanager
def index_lock(repository: Repository) -> Iterator[IndexLock]:
    """Hold the person's index, as git does. SessionBusy while another git has it."""
    place = repository.git_folder / "index.lock"
    try:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
    except FileExistsError as error:
        raise _busy(repository, place) from error
    lock = IndexLock(repository.git_folder / "index", place)
    try:
        yield lock
    finally:
        lock.release()


def check_index_free(repository: Repository) -> None:
    """SessionBusy while another git has the person's index, before anything is done that ends in it."""
    place = repository.git_folder / "index.lock"
    if place.exists():
        raise _busy(repository, place)


def _busy(repository: Repository, lock: Path) -> SessionBusy:
    return SessionBusy(
        f"Another git process is using {repository.root}.",
        suggestion=f"Wait for it to end. If none is running, remove {lock}.",
    )
