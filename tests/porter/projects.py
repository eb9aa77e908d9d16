"""Small real projects for Porter to test and fix."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

TOOLS = Path(sys.executable).parent


def bring_along(folder: Path, *names: str) -> None:
    """Give a project a virtual environment with some of our own tools."""
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name in names:
        (programs / name).symlink_to(TOOLS / name)


def find_tool(name: str) -> str:
    """A program of our own environment, or of the machine; without it a test cannot say anything."""
    found = shutil.which(name, path=f"{TOOLS}{os.pathsep}{os.environ['PATH']}")
    assert found is not None, f"{name} is missing; run make setup"
    return found


def only(tmp_path: Path, *names: str, **scripts: str) -> Mapping[str, str]:
    """An environment in which some real programs are found, some that are shell scripts, and no others."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in names:
        found = find_tool(name)
        (folder / name).symlink_to(found)
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": str(folder)}
