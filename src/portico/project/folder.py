"""A project folder: its configuration files and installed programs."""

import json
import os
import re
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from portico.files.regular import read_beginning
from portico.processes.executables import CannotRun, find_program

_LARGEST = 1024 * 1024
_PYTHON_FOLDERS = (".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts")
_NODE_FOLDERS = ("node_modules/.bin",)


class ProjectCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command of the project, and the reason for choosing it."""

    name: str
    command: tuple[str, ...]
    because: str
    root: Path

    def __str__(self) -> str:
        """Return the command line as typed in the project's folder."""
        program, *rest = self.command
        shown = (
            os.path.relpath(program, self.root)
            if Path(program).is_relative_to(self.root)
            else Path(program).name
        )
        return shlex.join([shown, *rest])


class ProjectFolder:
    """Reads a project's configuration files; missing or broken ones count as empty."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root
        self._environ = environ
        self._package: dict[str, Any] | None = None
        self._pyproject: dict[str, Any] | None = None

    def has(self, *patterns: str) -> str | None:
        """Return the first name that exists; names may be patterns."""
        for pattern in patterns:
            try:
                found = next(self.root.glob(pattern), None)
            except OSError:
                found = None
            if found is not None:
                return found.relative_to(self.root).as_posix()
        return None

    def text(self, name: str) -> str:
        try:
            return read_beginning(self.root / name, limit=_LARGEST).decode(errors="replace")
        except OSError:
            return ""

    def pyproject_has(self, *keys: str) -> bool:
        """Return whether pyproject.toml has a table with this path."""
        if self._pyproject is None:
            try:
                self._pyproject = tomllib.loads(self.text("pyproject.toml"))
            except (tomllib.TOMLDecodeError, RecursionError):
                self._pyproject = {}
        return _value(self._pyproject, *keys) is not None

    def package(self, *keys: str) -> Any:
        """Return a value of package.json, or None."""
        if self._package is None:
            try:
                self._package = json.loads(self.text("package.json") or "{}")
            except (ValueError, RecursionError):
                self._package = {}
        return _value(self._package, *keys)

    def depends_on(self, package: str) -> bool:
        return any(self.package(kind, package) is not None for kind in ("devDependencies", "dependencies"))

    def make_target(self, *names: str) -> str | None:
        """Return the first of these targets that the Makefile has."""
        makefile = self.text("Makefile") or self.text("makefile")
        for name in names:
            if re.search(rf"^{re.escape(name)}\s*:(?!=)", makefile, re.MULTILINE):
                return name
        return None

    def python_program(self, name: str) -> str | None:
        return self._program(name, _PYTHON_FOLDERS)

    def node_program(self, name: str) -> str | None:
        return self._program(name, _NODE_FOLDERS)

    def program(self, name: str) -> str | None:
        """Return the path of a program outside the project."""
        return self._program(name, ())

    def _program(self, name: str, own: tuple[str, ...]) -> str | None:
        for place in (*(f"{folder}/{name}" for folder in own), name):
            try:
                return find_program(place, cwd=self.root, environ=self._environ)
            except CannotRun:
                continue
        return None


def _value(table: Any, *keys: str) -> Any:
    for key in keys:
        table = table.get(key) if isinstance(table, dict) else None
    return table
