"""The folder of an evaluation task: created as a git repository, and checked afterwards."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.porter.evaluation.task import EvaluationTask

CHECK_SECONDS = 60.0
_IGNORED = "__pycache__/\n"
_LAST_WORDS = 300


class TaskVerdict(msgspec.Struct, frozen=True):
    """Whether a task is done; `words` say why it is not."""

    passed: bool
    words: str = ""


def lay_out(task: EvaluationTask, folder: Path, environ: Mapping[str, str]) -> None:
    """Write the files that a task begins with. Line ends stay as they are. Blocks."""
    folder.mkdir(parents=True)
    for name, content in {".gitignore": _IGNORED, **task.files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    _commit(folder, environ)


def check(task: EvaluationTask, folder: Path, environ: Mapping[str, str]) -> TaskVerdict:
    """Run a task's check. It runs code that a model may have written. Blocks."""
    try:
        done = subprocess.run(
            (sys.executable, "-B", "-c", task.check),
            cwd=folder,
            env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CHECK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return TaskVerdict(False, f"The check did not end within {CHECK_SECONDS:.0f} s.")
    if done.returncode == 0:
        return TaskVerdict(True)
    return TaskVerdict(False, _reason(done.stderr.decode(errors="replace")))


def _reason(errors: str) -> str:
    """The line that says what is wrong: the last one of an exception, not unittest's count after it."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line.partition(":")[0]]
    return (telling or lines or ["The check failed and said nothing."])[-1][:_LAST_WORDS]


def _commit(folder: Path, environ: Mapping[str, str]) -> None:
    """Make it a repository, where there is git. Whoever's settings they are, they stay outside."""
    alone = {**environ, "GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_SYSTEM": "", "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ("-c", "user.name=Portico", "-c", "user.email=portico@localhost")
    steps = (("init", "-q"), ("add", "-A"), (*identity, "commit", "-q", "-m", "The task"))
    try:
        for step in steps:
            subprocess.run(("git", *step), cwd=folder, env=alone, capture_output=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return  # A folder without a repository can be worked in as well.
