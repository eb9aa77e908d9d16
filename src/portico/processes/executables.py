"""Finds the executable of a command and explains why it cannot run.

It looks where the child would look: its own PATH and its own folder. It starts nothing.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

_INTERPRETER_LINE_LIMIT = 256


class CannotRun(Exception):
    """A program cannot be started: why, in one sentence, and what could be done about it.

    `absent` if there is nothing of its name; otherwise there is something that is broken.
    """

    def __init__(self, reason: str, *, suggestion: str | None = None, absent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.suggestion = suggestion
        self.absent = absent


def find_program(program: str, *, cwd: Path, environ: Mapping[str, str]) -> str:
    """The absolute path of a program that can be executed, or CannotRun."""
    if not program or "\0" in program:
        raise CannotRun("the command is empty" if not program else "the command holds a NUL character")
    if sys.platform == "win32":
        found = shutil.which(program, path=environ.get("PATH"))
        if found is None:
            raise CannotRun(f"“{program}” was not found on PATH", absent=True)
        return found
    if "/" in program:
        path = cwd / program
        _check(path, environ)
        return str(path)
    return _search(program, environ)


def _search(program: str, environ: Mapping[str, str]) -> str:
    obstacle: CannotRun | None = None
    for folder in _folders(environ):
        path = folder / program
        if not path.is_file():
            if path.is_symlink() and not path.exists():
                obstacle = obstacle or CannotRun(
                    f"{path} is a link to {path.readlink()}, which does not exist"
                )
            continue
        try:
            _check(path, environ)
        except CannotRun as error:
            obstacle = obstacle or error
        else:
            return str(path)
    raise obstacle or CannotRun(f"“{program}” was not found on PATH", absent=True)


def _folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """The folders of PATH, without relative ones: the folder being worked on chooses no programs."""
    for entry in environ.get("PATH", os.defpath).split(os.pathsep):
        if Path(entry).is_absolute():
            yield Path(entry)


def _check(path: Path, environ: Mapping[str, str]) -> None:
    try:
        if path.is_dir():
            raise CannotRun(f"{path} is a folder, not a program")
        if not path.exists():
            raise CannotRun(f"{path} does not exist")
    except OSError as error:
        raise CannotRun(f"{path} cannot be reached: {error.strerror}") from error
    if not path.is_file():
        raise CannotRun(f"{path} is not a regular file")
    if not os.access(path, os.X_OK):
        raise CannotRun(f"{path} is not executable", suggestion=f"Make it executable: chmod +x {path}")
    _check_interpreter(path, environ)


def _check_interpreter(path: Path, environ: Mapping[str, str]) -> None:
    """The kernel calls a script "not found" when only its interpreter is; that would mislead."""
    try:
        with path.open("rb") as file:
            start = file.read(_INTERPRETER_LINE_LIMIT)
    except OSError:
        return  # A program need not be readable to be run.
    if not start.startswith(b"#!"):
        return
    line = start[2:].split(b"\n", 1)[0].decode(errors="replace")
    if line.endswith("\r"):
        raise CannotRun(
            f"{path} has Windows line endings, so its interpreter line cannot be understood",
            suggestion=f"Convert it to Unix line endings: sed -i 's/\\r$//' {path}",
        )
    words = line.split()
    interpreter = Path(words[0]) if words else Path()
    suggestion = f"Install the interpreter, or correct the first line of {path}."
    if not os.access(interpreter, os.X_OK) or not interpreter.is_file():
        raise CannotRun(
            f"{path} asks for the interpreter {interpreter}, which cannot be run", suggestion=suggestion
        )
    if interpreter.name == "env":
        wanted = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
        if (
            wanted
            and "/" not in wanted
            and not any(os.access(f / wanted, os.X_OK) for f in _folders(environ))
        ):
            raise CannotRun(f"{path} asks for “{wanted}”, which is not on PATH", suggestion=suggestion)
