"""Facts about the person's repository: root, HEAD, operation in progress, submodules, ignored files."""

import asyncio
import os
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path, PurePosixPath

import msgspec

from portico.domain.errors import InvalidInput, PorticoError, SessionBusy
from portico.git.file_checks import (
    GitFacts,
    check_git_files,
    common_folder_of,
    git_facts,
    leads_to,
    unreadable_error,
)
from portico.git.program import Git, translated

_FINDING_SECONDS = 20.0
"""A git file may be a pipe, or on a drive that does not answer; then git waits forever."""
_NO_REPOSITORY = ("not a git repository", "work tree", "cannot use bare repository")


class GitOperation(StrEnum):
    """Operation that a repository can be in the middle of."""

    REBASE = "rebase"
    MERGE = "merge"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"
    BISECT = "bisect"
    APPLYING_MAIL = "am"


_MARKS = (
    ("rebase-merge", GitOperation.REBASE),
    ("rebase-apply/applying", GitOperation.APPLYING_MAIL),
    ("rebase-apply", GitOperation.REBASE),
    ("MERGE_HEAD", GitOperation.MERGE),
    ("CHERRY_PICK_HEAD", GitOperation.CHERRY_PICK),
    ("REVERT_HEAD", GitOperation.REVERT),
    ("BISECT_LOG", GitOperation.BISECT),
)


class Head(msgspec.Struct, frozen=True):
    """Target of HEAD: a branch, a commit, or a branch without commits."""

    branch: str | None
    commit: str | None

    @property
    def detached(self) -> bool:
        return self.branch is None


class Repository:
    """One working tree of a repository. `git` runs at its root."""

    def __init__(self, root: Path, git_folder: Path, git: Git) -> None:
        self.root = root
        self.git_folder = git_folder
        self.git = git

    @property
    def common_folder(self) -> Path:
        """Folder with objects, branches and config; in a linked worktree it is not the git folder."""
        try:
            return common_folder_of(self.git_folder)
        except OSError as error:
            raise unreadable_error(error) from error

    async def head(self) -> Head:
        named = await self.git.ask("symbolic-ref", "--quiet", "HEAD")
        commit = await self.git.ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        branch = named.text.removeprefix("refs/heads/") if named.code == 0 else None
        return Head(branch, commit.text if commit.code == 0 else None)

    def operation(self) -> GitOperation | None:
        """A rebase, merge or the like that waits for its end."""
        return next((name for mark, name in _MARKS if (self.git_folder / mark).exists()), None)

    async def ignored(self, paths: tuple[str, ...]) -> frozenset[str]:
        """Files among these that the repository ignores, without tracked ones."""
        if not paths:
            return frozenset()
        given = b"\0".join(os.fsencode(path) for path in paths) + b"\0"
        asking = self.git.having(
            GIT_LITERAL_PATHSPECS="0"
        )  # It takes literal names only, and rejects the variable.
        answer = await asking.ask("check-ignore", "-z", "--stdin", given=given)
        if answer.code not in (0, 1):
            raise translated("check-ignore", answer.complaint)
        return frozenset(answer.names)

    async def branch_commit(self, name: str) -> str | None:
        return await self.commit_of(f"refs/heads/{name}")

    async def commit_of(self, reference: str) -> str | None:
        answer = await self.git.ask("rev-parse", "--verify", "--quiet", f"{reference}^{{commit}}")
        return answer.text if answer.code == 0 else None

    async def submodules(self) -> frozenset[str]:
        """The folders that are repositories of their own, of which this one holds only where they stand."""
        staged = (line.partition("\t") for line in (await self.git.run("ls-files", "--stage", "-z")).names)
        return frozenset(path for facts, _, path in staged if facts.startswith("160000 "))

    async def leads_to(self, later: str, earlier: str) -> bool:
        """Whether a commit is, or comes after, another one."""
        return (await self.git.ask("merge-base", "--is-ancestor", earlier, later)).code == 0

    async def need_room_for_branches(self) -> None:
        """InvalidInput where git allows no branch of Portico's."""
        if await self.branch_commit("portico") is not None:
            raise InvalidInput(
                "A branch named portico exists, so git allows none below it.",
                suggestion="Rename it: git branch -m portico another-name.",
            )

    async def settled_head(self) -> tuple[Head, str]:
        """HEAD and its commit; an error if an operation is in progress, there is no commit, or a conflict is
        unresolved.
        """
        operation = self.operation()
        if operation is not None:
            raise SessionBusy(
                f"The repository {self.root} is in the middle of a {operation}.",
                suggestion=f"Finish or abort the {operation} first (git status says how), or use the proposal mode.",
            )
        head = await self.head()
        if head.commit is None:
            raise InvalidInput(
                f"The repository {self.root} has no commit yet, so there is nothing to branch from.",
                suggestion="Make a first commit, or use the proposal mode.",
            )
        if conflicted := (await self.git.run("ls-files", "-z", "--unmerged")).names:
            name = conflicted[0].partition("\t")[2]
            raise SessionBusy(
                f"{name} has an unresolved conflict.",
                suggestion="Resolve it and git add the file, or use the proposal mode.",
            )
        return head, head.commit


async def find_repository(folder: Path, environ: Mapping[str, str]) -> Repository | None:
    """Repository that contains a folder; None outside of one, and in a bare one."""
    git = Git(folder, environ)
    await asyncio.to_thread(check_git_files, folder)
    questions = ("--is-inside-work-tree", "--show-toplevel", "--absolute-git-dir")
    answer = await git.ask("rev-parse", *questions, seconds=_FINDING_SECONDS)
    lines = os.fsdecode(answer.output).removesuffix("\n").split("\n")
    if answer.code != 0 or lines[0] != "true":
        unknown = any(words in answer.complaint for words in _NO_REPOSITORY)
        if unknown or lines[0] == "false":
            return None
        raise translated("rev-parse", answer.complaint)
    if len(lines) != 3:  # A name may hold the very character by which names are parted here.
        lines = [
            "true",
            await _rev_parse(git, "--show-toplevel"),
            await _rev_parse(git, "--absolute-git-dir"),
        ]
    root, git_folder = Path(lines[1]), Path(lines[2])
    if not await asyncio.to_thread(leads_to, root / ".git", git_folder):
        return None  # Its config names another folder as the work tree, perhaps the person's home.
    return Repository(root, git_folder, git.at(root))


def _checked_facts(folder: Path) -> GitFacts:
    check_git_files(folder)
    return git_facts(folder)


class RepositoryFinder:
    """Finds repositories and remembers them as long as nothing that decides the answer has changed."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._known: dict[Path, tuple[GitFacts, Repository | None]] = {}

    async def find(self, folder: Path) -> Repository | None:
        """Cached `find_repository`. Git's files are checked each time."""
        facts = await asyncio.to_thread(_checked_facts, folder)
        known = self._known.get(folder)
        if known is None or known[0] != facts:
            known = facts, await find_repository(folder, self._environ)
            self._known[folder] = known
        return known[1]


async def _rev_parse(git: Git, question: str) -> str:
    return os.fsdecode((await git.run("rev-parse", question)).output).removesuffix("\n")


async def need_repository(folder: Path, environ: Mapping[str, str]) -> Repository:
    repository = await find_repository(folder, environ)
    if repository is None:
        raise InvalidInput(
            f"{folder} is not in a git repository.",
            suggestion="Run git init there, or use the proposal mode, which needs no repository.",
        )
    return repository


async def initialize_repository(folder: Path, environ: Mapping[str, str]) -> None:
    """Make a folder a git repository, with an empty first commit to branch from. Its files stay as they are.

    Raises InvalidInput if it is in a repository already.
    """
    if (repository := await find_repository(folder, environ)) is not None:
        raise InvalidInput(f"{folder} is in the git repository {repository.root} already.")
    git = Git(folder, environ)
    await git.run("init", "--quiet")
    author = {"GIT_AUTHOR_NAME": "Portico", "GIT_AUTHOR_EMAIL": "portico@localhost"}
    committer = {"GIT_COMMITTER_NAME": "Portico", "GIT_COMMITTER_EMAIL": "portico@localhost"}
    message = ("--message", "Start of the repository")
    await git.having(**author, **committer).run("commit", "--quiet", "--allow-empty", *message)


def submodule_of(path: str, submodules: Collection[str]) -> str | None:
    """Submodule that contains a file."""
    return next((str(one) for one in PurePosixPath(path).parents if str(one) in submodules), None)


async def ignored_files(workspace: Path, paths: Iterable[str], environ: Mapping[str, str]) -> frozenset[str]:
    """Files of a workspace that its repository ignores; none if that cannot be determined."""
    try:
        repository = await find_repository(workspace, environ)
        if repository is None:
            return frozenset()
        inner = await asyncio.to_thread(_between, repository.root, workspace)
        names = {(inner / path).as_posix(): path for path in paths}
        return frozenset(names[name] for name in await repository.ignored(tuple(names)))
    except (PorticoError, ValueError):
        return frozenset()


def _between(outer: Path, inner: Path) -> Path:
    """Relative path from a folder to one inside it, with links resolved."""
    return Path(os.path.realpath(inner)).relative_to(os.path.realpath(outer))
