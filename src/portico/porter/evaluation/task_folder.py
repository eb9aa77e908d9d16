"""The workspace of an evaluation task: created as a git repository, and checked afterwards."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from portico.porter.evaluation.task import EvaluationTask
from portico.porter.evaluation.task_tests import TESTS, TaskTests, changed_test

CHECK_SECONDS = 60.0
_GITIGNORE = "__pycache__/\n"
_REASON_LENGTH = 300
_FAILURE = re.compile(r"[^:]*Error|--- FAIL|not ok")
"""Beginnings of lines with a failed test, in the output of Python, Node and Go."""


class TaskVerdict(msgspec.Struct, frozen=True):
    """The verdict on a task: done, or the reason why not."""

    passed: bool
    reason: str = ""


def create_workspace(task: EvaluationTask, workspace: Path, environ: Mapping[str, str]) -> None:
    """Create a folder with the files that a task begins with, byte for byte. Blocks."""
    workspace.mkdir(parents=True)
    (workspace / ".gitignore").write_text(_GITIGNORE)
    if (task.folder / "files").exists():
        shutil.copytree(task.folder / "files", workspace, dirs_exist_ok=True)
    if (task.folder / "generate.py").exists():
        _run_program(task, "generate.py", workspace, environ).check_returncode()
    _commit(workspace, environ)


def check(task: EvaluationTask, workspace: Path, environ: Mapping[str, str]) -> TaskVerdict:
    """Run a task's tests, or its check, and with it code that a model may have written. Blocks."""
    tests = None if task.tests is None else TESTS[task.tests]
    if tests and (changed := changed_test(tests, task.folder / "files", workspace)):
        return TaskVerdict(False, f"The test {changed} was changed.")
    try:
        done = (
            _run_tests(tests, workspace, environ)
            if tests
            else _run_program(task, "check.py", workspace, environ)
        )
    except subprocess.TimeoutExpired as error:
        return TaskVerdict(False, f"The check did not end within {error.timeout:.0f} s.")
    if done.returncode == 0:
        return TaskVerdict(True)
    return TaskVerdict(False, _reason((done.stdout + done.stderr).decode(errors="replace")))


def _run_tests(
    tests: TaskTests, workspace: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which(tests.program, path=environ.get("PATH")) or tests.program
    return _run((program, *tests.arguments), workspace, environ, tests.seconds)


def _run_program(
    task: EvaluationTask, name: str, workspace: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run a program of a task in its workspace, so that it imports the modules there."""
    return _run(
        (sys.executable, "-B", "-c", (task.folder / name).read_text(encoding="utf-8")), workspace, environ
    )


def _run(
    command: Sequence[str], workspace: Path, environ: Mapping[str, str], seconds: float = CHECK_SECONDS
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        cwd=workspace,
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=seconds,
        check=False,
    )


def _reason(output: str) -> str:
    """Return the last line of a failure, which says more than the counts below it."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    failures = [line for line in lines if _FAILURE.match(line)]
    return (failures or lines or ["The check failed without a message."])[-1][:_REASON_LENGTH]


def _commit(workspace: Path, environ: Mapping[str, str]) -> None:
    """Make the workspace a git repository, if git is installed; the user's git settings do not apply."""
    isolated = {**environ, "GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_SYSTEM": "", "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=Portico", "-c", "user.email=portico@localhost")
    steps = (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "The task"))
    try:
        for step in steps:
            subprocess.run(("git", *step), cwd=workspace, env=isolated, capture_output=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return  # The task works without a repository as well.
