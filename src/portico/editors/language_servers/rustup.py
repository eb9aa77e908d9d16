"""Programs of Rust's toolchains, which rustup stands for on PATH whether a toolchain has them or not."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path


def behind_rustup(program: str, environ: Mapping[str, str]) -> str | None:
    """The program itself, or what rustup would run in its place; None if the default toolchain does not have it.

    The toolchain's own program is returned, since rustup may download another toolchain that a folder names. Blocks.
    """
    rustup = Path(program).with_name("rustup")
    try:
        if not rustup.samefile(program):
            return program
    except OSError:
        return program
    home = Path(environ.get("RUSTUP_HOME") or Path(environ.get("HOME") or Path.home()) / ".rustup")
    try:
        toolchain = (
            environ.get("RUSTUP_TOOLCHAIN")
            or tomllib.loads((home / "settings.toml").read_text())["default_toolchain"]
        )
    except (OSError, ValueError, KeyError):
        return None
    found = home / "toolchains" / str(toolchain) / "bin" / Path(program).name
    return str(found) if os.access(found, os.X_OK) else None
