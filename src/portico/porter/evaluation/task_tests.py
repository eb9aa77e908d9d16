"""The tests that decide a task: the program that runs them, and the files that must stay as they were."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

TestLanguage = Literal["python", "node", "go"]


class TaskTests(msgspec.Struct, frozen=True):
    """A command, patterns of the files with tests, and the longest time that the command may take."""

    program: str
    arguments: tuple[str, ...]
    files: tuple[str, ...]
    seconds: float = 60.0


TESTS: Mapping[TestLanguage, TaskTests] = {
    "python": TaskTests(sys.executable, ("-B", "-m", "unittest"), ("test_*.py", "tests/**/*.py")),
    "node": TaskTests("node", ("--test",), ("test/**/*",)),
    # The first time, Go compiles its standard library.
    "go": TaskTests("go", ("test", "-vet=off", "./..."), ("**/*_test.go",), seconds=600.0),
}


def missing_program(language: TestLanguage | None, environ: Mapping[str, str]) -> str | None:
    """Return the program that tests need, if it is not installed."""
    program = None if language is None else TESTS[language].program
    return program if program and shutil.which(program, path=environ.get("PATH")) is None else None


def changed_test(tests: TaskTests, files: Path, workspace: Path) -> str | None:
    """Return the first test that is not what the task began with. Blocks."""
    for pattern in tests.files:
        for path in sorted(filter(Path.is_file, files.glob(pattern))):
            name = path.relative_to(files)
            found = workspace / name
            if not found.is_file() or found.read_bytes() != path.read_bytes():
                return name.as_posix()
    return None
