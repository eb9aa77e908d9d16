"""Git for commands that read the files of a working tree, without the programs that its repository names."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from portico.files.private import copy_private, make_private_folder
from portico.git.file_checks import unreadable_error
from portico.git.private_git import private_git
from portico.git.program import Git
from portico.git.repository import Repository

NO_PROGRAMS = (
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--ignore-submodules=dirty",
    "--submodule=short",
)
"""Options of commands that compare, so that git runs no program of the repository."""


@asynccontextmanager
async def working_tree(repository: Repository, scratch: Path) -> AsyncIterator[Git]:
    """Make a private git folder below `scratch` for the files as they are now. InvalidInput if they cannot be read."""
    await asyncio.to_thread(make_private_folder, scratch)
    async with private_git(repository, scratch) as git:
        folder = (await git.run("rev-parse", "--absolute-git-dir")).text
        try:
            await asyncio.to_thread(_copy_index, repository.git_folder, Path(folder))
        except OSError as error:
            raise unreadable_error(error) from error
        yield git


def _copy_index(source: Path, target: Path) -> None:
    """The index has the facts by which git knows unchanged files without reading them."""
    if (source / "index").exists():
        copy_private(source / "index", target / "index")
