"""Suggestions for a new session: what fits the folder, as the agent understands it."""

import os
import subprocess
from pathlib import Path

from portico.app.suggestions import suggest

PORTER = frozenset({"test", "changes", "read", "search"})


async def test_an_empty_folder_still_has_something_to_do(tmp_path: Path) -> None:
    (only,) = await suggest(tmp_path, os.environ, PORTER)
    assert (only.title, only.prompt) == ("Find what is left to do", "/search TODO")


async def test_changed_files_tests_and_the_readme_come_first(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Boats\n")
    (tmp_path / "Makefile").write_text("test:\n\techo fine\n")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "First")
    (tmp_path / "README.md").write_text("# More boats\n")
    found = await suggest(tmp_path, os.environ, PORTER)
    assert [(one.detail, one.prompt) for one in found] == [
        ("1 changed file", "/changes"),
        ("make test", "/test"),
        ("README.md", "/read README.md"),
        ("TODO", "/search TODO"),
    ]


async def test_an_agent_without_commands_is_asked_in_words(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("test:\n\techo fine\n")
    first, *_ = await suggest(tmp_path, os.environ, frozenset())
    assert first.prompt == "Run the tests with `make test` and explain what fails."


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)
