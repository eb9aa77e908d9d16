"""One folder of a repository as an agent may see it: its commits and files, without those that hold secrets.

Every command has the options that keep git from running a program of the repository's (external diffs, text
converters, git in submodules). Where files of the working tree are read, a private git folder is used.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

import msgspec

from portico.config.paths import cache_folder
from portico.domain.secret_files import is_private
from portico.git.program import Git
from portico.git.repository import Repository, need_repository
from portico.git.working_tree import NO_PROGRAMS, working_tree
from portico.mcp.tools import ToolFailure

SECONDS = 60.0
MOST_SECRETS = 500
_SETTINGS = (
    "core.quotePath=false",
    "i18n.logOutputEncoding=UTF-8",
    # These name files that git would open by itself.
    "blame.ignoreRevsFile=",
    "mailmap.file=",
    "mailmap.blob=",
)
_RANGE = re.compile(r"(.*?)(\.{2,3})(.*)", re.DOTALL)


class RepositoryView:
    """`folder` is where the agent works, `scope` the same as git names it; it is `.` at the root."""

    def __init__(
        self, repository: Repository, folder: Path, scope: PurePosixPath, environ: Mapping[str, str]
    ) -> None:
        self.git = repository.git.having(*_SETTINGS, GIT_LITERAL_PATHSPECS="0")
        self._repository = repository
        self._folder = folder
        self._scope = scope
        self._environ = environ

    @classmethod
    async def of(cls, folder: Path, environ: Mapping[str, str]) -> "RepositoryView":
        repository = await need_repository(folder, environ)
        root, real = await asyncio.to_thread(lambda: tuple(map(os.path.realpath, (repository.root, folder))))
        return cls(repository, folder, PurePosixPath(Path(real).relative_to(root).as_posix()), environ)

    async def ask(self, *words: str, git: Git | None = None) -> bytes:
        """The output of a command. ToolFailure with git's own words if it fails."""
        answer = await (git or self.git).ask(*words, seconds=SECONDS)
        if answer.code != 0:
            complaint = " ".join(answer.complaint.replace("fatal: ", "").split())[:500]
            raise ToolFailure(f"git {words[0]} failed: {complaint or 'no reason given'}")
        return answer.output

    async def commit(self, revision: str) -> str:
        """The id of a commit. ToolFailure if there is none."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        answer = await self.git.ask(*words, seconds=SECONDS)
        if answer.code != 0:
            raise ToolFailure(f"There is no commit {revision!r}. Look for one with git_log.")
        return answer.text

    async def commits(self, revision: str) -> str:
        """A commit, or a range of two, by ids."""
        if (found := _RANGE.fullmatch(revision)) is None:
            return await self.commit(revision)
        first, dots, last = found.groups()
        return f"{await self.commit(first or 'HEAD')}{dots}{await self.commit(last or 'HEAD')}"

    async def is_file(self, place: str) -> bool:
        """Whether the last commit has a file there: git follows only those through renames."""
        answer = await self.git.ask("cat-file", "-t", f"HEAD:{place}", seconds=SECONDS)
        return answer.output.strip() == b"blob"

    async def base_of(self, commit: str) -> str:
        """The first parent of a commit; the empty tree for a first one."""
        answer = await self.git.ask("rev-parse", "--verify", "--quiet", f"{commit}^1", seconds=SECONDS)
        if answer.code == 0:
            return answer.text
        return (await self.ask("hash-object", "-t", "tree", "--stdin")).decode().strip()

    def place(self, path: str) -> str:
        """A path as git names it. ToolFailure outside of the folder, and for files that may hold secrets."""
        given = Path(os.path.normpath(self._folder / (path or ".")))
        if not given.is_relative_to(self._folder):
            raise ToolFailure(f"{path} is outside of the folder you work in.")
        inner = given.relative_to(self._folder)
        if is_private(inner.parts):
            raise ToolFailure(f"{path} may hold secrets, so its history is not shown.")
        return (self._scope / inner.as_posix()).as_posix()

    def spec(self, place: str) -> str:
        """A pathspec for one place and what is below it."""
        return ":(top)" if place == "." else f":(top,literal){place}"

    def shown(self, name: str) -> str:
        """A file as the agent names it."""
        inner = PurePosixPath(name)
        return inner.relative_to(self._scope).as_posix() if inner.is_relative_to(self._scope) else name

    async def patch(self, *compared: str, place: str, git: Git | None = None) -> list[str]:
        """Changes as a patch, after a summary of files. What may hold secrets is left out."""
        names = _names(
            await self.ask(*compared, "-z", "--name-only", *NO_PROGRAMS, "--", self.spec(place), git=git)
        )
        secret = [name for name in names if is_secret(name)]
        if len(secret) > MOST_SECRETS:
            raise ToolFailure(
                "Too many of these files may hold secrets. Ask for one file or folder with path."
            )
        without = [f":(top,exclude,literal){name}" for name in secret]
        options = ("--stat=100", "-p", "--no-color", *NO_PROGRAMS)
        text = (await self.ask(*compared, *options, "--", self.spec(place), *without, git=git)).decode(
            errors="replace"
        )
        lines = text.rstrip("\n").split("\n") if text.strip() else ["Nothing changed."]
        if secret:
            lines.append(f"({len(secret)} of the changed files may hold secrets and are left out.)")
        return lines

    @asynccontextmanager
    async def working_tree(self) -> AsyncIterator[Git]:
        """Git for commands that read the files as they are now."""
        async with working_tree(self._repository, cache_folder(self._environ) / "history") as private:
            yield private.having(*_SETTINGS, GIT_LITERAL_PATHSPECS="0")


class Commit(msgspec.Struct, frozen=True):
    id: str
    author: str
    address: str
    date: str
    subject: str

    @classmethod
    def read(cls, record: str) -> "Commit | None":
        fields = record.strip("\n\0").split("\x1f")
        if len(fields) < 5:
            return None
        return cls(fields[0], fields[1], fields[2], fields[3], " ".join(fields[4:]))

    def __str__(self) -> str:
        return f"{self.id} {self.date[:10]} {self.author}: {self.subject}"


COMMIT_FORMAT = "--format=%x1e%h%x1f%aN%x1f%aE%x1f%aI%x1f%s"


def is_secret(name: str) -> bool:
    return is_private(name.split("/"))


def _names(output: bytes) -> list[str]:
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def read_commits(output: bytes) -> Sequence[tuple[Commit, list[str]]]:
    """Commits in COMMIT_FORMAT, each with the names of files after it, if there are any."""
    found = []
    for record in os.fsdecode(output).split("\x1e"):
        head, *names = record.split("\0")
        commit = Commit.read(head)
        if commit is not None:
            found.append((commit, [name.strip("\n") for name in names if name.strip("\n")]))
    return found
