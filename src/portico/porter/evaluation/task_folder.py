"""The workspace of an evaluation task: created as a git repository, and checked afterwards."""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.porter.evaluation.task import EvaluationTask

CHECK_SECONDS = 60.0
_GITIGNORE = "__pycache__/\n"
_REASON_LENGTH = 300


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
    """Run a task's check, and with it code that a model may have written. Blocks."""
    try:
        done = _run_program(task, "check.py", workspace, environ)
    except subprocess.TimeoutExpired:
        return TaskVerdict(False, f"The check did not end within {CHECK_SECONDS:.0f} s.")
    if done.returncode == 0:
        return TaskVerdict(True)
    return TaskVerdict(False, _reason(done.stderr.decode(errors="replace")))


def _run_program(
    task: EvaluationTask, name: str, workspace: Path, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run a program of a task in its workspace, so that it imports the modules there."""
    return subprocess.run(
        (sys.executable, "-B", "-c", (task.folder / name).read_text(encoding="utf-8")),
        cwd=workspace,
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=CHECK_SECONDS,
        check=False,
    )


def _reason(errors: str) -> str:
    """Return the last line of an exception, which says more than unittest's count below it."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    exceptions = [line for line in lines if "Error" in line.partition(":")[0]]
    return (exceptions or lines or ["The check failed without a message."])[-1][:_REASON_LENGTH]


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
