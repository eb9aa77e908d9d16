"""Evaluation tasks, loaded from folders: prompts, initial files, what decides, and a scripted solution.

A folder holds `task.toml` (purpose, prompts, scenario, difficulty, tests) and `files/` (what the workspace begins
with). The tests among the files decide, or the program `check.py`. Optional are `script.toml` (answers of a scripted
model), `generate.py` (writes files too large to store) and `solution/` (files that solve the task, for Portico's own
tests). `@RUN_TESTS@` in the TOML files stands for the command that runs a task's tests in Python.
"""

import sys
import tomllib
from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

import portico
from portico.domain import codecs
from portico.domain.errors import InvalidInput
from portico.porter.evaluation.task_tests import TestLanguage

T = TypeVar("T")
TaskDifficulty = Literal["easy", "medium", "hard"]

RUN_TESTS = f"{'python' if sys.platform == 'win32' else 'python3'} -m unittest"


class ScriptedCall(msgspec.Struct, frozen=True):
    """A call of one of Porter's tools."""

    tool: str
    arguments: dict[str, Any] = {}

    @property
    def json_arguments(self) -> str:
        return msgspec.json.encode(self.arguments).decode()


class ScriptedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One response of a scripted model, given only if the model was shown each text in `sees`."""

    says: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    sees: tuple[str, ...] = ()


class EvaluationTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task. Prompts are sent in order, and what each turn proposes is applied before the next prompt."""

    folder: Path
    purpose: str
    prompts: tuple[str, ...]
    script: tuple[ScriptedStep, ...]
    scenario: str | None
    difficulty: TaskDifficulty = "easy"
    tests: TestLanguage | None = None

    @property
    def name(self) -> str:
        return self.folder.name


class _TaskFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    purpose: str
    prompts: tuple[str, ...]
    scenario: str | None = None
    difficulty: TaskDifficulty = "easy"
    tests: TestLanguage | None = None


class _ScriptFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    step: tuple[ScriptedStep, ...] = ()


def load_tasks(folder: Path | None) -> list[EvaluationTask]:
    """Load all tasks in a folder, by default in `evals/tasks` of the checkout that this package runs from.

    The working directory is never searched: a task's check is a program that runs as the user.
    """
    found = folder or Path(portico.__file__).resolve().parents[2] / "evals" / "tasks"
    tasks = [_load(path.parent) for path in sorted(found.glob("*/task.toml"))]
    if tasks:
        return tasks
    if folder is None:
        raise InvalidInput(
            "No evaluation tasks found: they are not part of the installed package.",
            suggestion="Run portico eval from a checkout of Portico, or name a folder of tasks with --tasks.",
        )
    raise InvalidInput(
        f"No evaluation tasks in {folder}.", suggestion="Each needs a folder with a task.toml."
    )


def find_tasks(tasks: Sequence[EvaluationTask], name: str) -> list[EvaluationTask]:
    """Return the task of a name, or all whose names fit a pattern such as `go-*`."""
    found = [task for task in tasks if fnmatchcase(task.name, name)]
    if found:
        return found
    names = [task.name for task in tasks]
    near = get_close_matches(name, names, n=1)
    raise InvalidInput(
        f'Unknown task "{name}".',
        suggestion=f"Did you mean {near[0]}?" if near else f"Available: {', '.join(names)}.",
    )


def _load(folder: Path) -> EvaluationTask:
    task = _read(folder / "task.toml", _TaskFile)
    script = folder / "script.toml"
    steps = _read(script, _ScriptFile).step if script.exists() else ()
    return EvaluationTask(
        folder=folder,
        purpose=task.purpose,
        prompts=task.prompts,
        script=steps,
        scenario=task.scenario,
        difficulty=task.difficulty,
        tests=task.tests,
    )


def _read(path: Path, expected: type[T]) -> T:
    try:
        text = path.read_text(encoding="utf-8").replace("@RUN_TESTS@", RUN_TESTS)
        return codecs.convert(tomllib.loads(text), expected)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidInput(f"Cannot read {path}: {error}") from error
