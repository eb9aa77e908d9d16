"""Things to do that fit a folder: its changes, its tests, its README and its formatter."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from portico.config.paths import cache_folder
from portico.domain.catalog import Suggestion
from portico.domain.errors import PorticoError
from portico.files.deadline import within_deadline
from portico.git.repository import find_repository
from portico.git.working_tree import NO_PROGRAMS, working_tree
from portico.project.folder import ProjectFolder
from portico.project.formatters import find_formatters
from portico.project.runners import find_runners

_MOST = 4
_GIT_SECONDS = 3.0
"""A suggestion is not worth a longer wait: in a huge repository the changes are not counted."""


async def suggest(folder: Path, environ: Mapping[str, str], commands: frozenset[str]) -> Sequence[Suggestion]:
    """The best suggestions, each with a command of the agent if it has the command, or in words."""
    changed = await _count_changes(folder, environ)
    found = await within_deadline(lambda: list(_found(ProjectFolder(folder, environ), changed)))
    return [
        Suggestion(title, detail, command if command[1:].split(" ")[0] in commands else words)
        for title, detail, command, words in found[:_MOST]
    ]


def _found(project: ProjectFolder, changed: int) -> Iterator[tuple[str, str, str, str]]:
    """Title, detail, the command for an agent that has it, and the words for any other. Blocks."""
    if changed:
        detail = "1 changed file" if changed == 1 else f"{changed} changed files"
        yield "Look at my changes", detail, "/changes", "Review my uncommitted changes: bugs first."
    if runners := find_runners(project).found:
        words = f"Run the tests with `{runners[0]}` and explain what fails."
        yield "Run the tests", str(runners[0]), "/test", words
    if readme := project.has("README*"):
        words = "Explain this project: what it does, how it is built, and where to start reading."
        yield "Get to know this project", readme, f"/read {readme}", words
    if tools := find_formatters(project, ".", "").found:
        yield "Format and lint", str(tools[0]), "/fix", f"Run `{tools[0]}` and fix what it reports."
    yield "Find what is left to do", "TODO", "/search TODO", "List the TODO comments, the most urgent first."


async def _count_changes(folder: Path, environ: Mapping[str, str]) -> int:
    """The number of files that differ from the last commit; zero if it is not known."""
    try:
        async with asyncio.timeout(_GIT_SECONDS):
            repository = await find_repository(folder, environ)
            base = None if repository is None else await repository.commit_of("HEAD")
            if repository is None or base is None:
                return 0
            async with working_tree(repository, cache_folder(environ) / "changes") as git:
                return len((await git.run("diff", base, "--name-only", "-z", *NO_PROGRAMS)).names)
    except (TimeoutError, PorticoError):
        return 0
