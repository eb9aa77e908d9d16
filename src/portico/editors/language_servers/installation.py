"""Installs language servers into the user's cache, each in a folder of its own and in pinned versions.

The tools pip, npm, go and cargo do it, with the registries that they are configured for. Starting a server never downloads
anything.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from portico.domain.errors import InvalidInput, StoreFailed
from portico.domain.redaction import plain_line
from portico.editors.language_servers.programs import INSTALLED, installation_folder
from portico.editors.language_servers.specification import LanguageServerSpec
from portico.files.private import make_private_folder
from portico.processes.executables import CannotRun
from portico.processes.process_group import spawn
from portico.rpc.streams import READ_SIZE

INSTALL_SECONDS = 900.0
_BUILD_SECONDS = 2 * 3600.0
"""Time for what is built from hundreds of packages."""
_LAST_LINES = 5
_LONGEST_LINE, _SHOWN = 2000, 200
_PIP = ("-m", "pip", "install", "--disable-pip-version-check", "--no-input")
_NPM_FLAGS = ("--no-audit", "--no-fund", "--ignore-scripts", "--save-exact", "--loglevel=http")

Report = Callable[[str], None]
"""Gets each line that a tool prints."""


async def install(spec: LanguageServerSpec, environ: Mapping[str, str], report: Report) -> Path:
    """Install a server, unless it is installed already; returns its folder."""
    recipe = spec.recipe
    if recipe is None:
        raise InvalidInput(f"Portico cannot install {spec.name}.", suggestion=spec.hint or None)
    folder = installation_folder(spec, environ)
    if (folder / INSTALLED).exists():
        return folder
    await asyncio.to_thread(_start_over, folder)
    try:
        match recipe.tool:
            case "pip":
                await _run((sys.executable, "-m", "venv", str(folder)), folder, environ, report)
                python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
                await _run((str(python), *_PIP, *recipe.packages), folder, environ, report)
            case "npm":
                command = ("npm", "install", "--prefix", str(folder), *_NPM_FLAGS, *recipe.packages)
                await _run(command, folder, environ, report)
            case "cargo":
                command = ("cargo", "install", "--locked", "--root", str(folder), *recipe.packages)
                await _run(command, folder, environ, report, seconds=_BUILD_SECONDS)
            case "go":
                variables = {**environ, "GOBIN": str(folder / "bin")}
                for package in recipe.packages:
                    await _run(("go", "install", "-v", package), folder, variables, report)
        (folder / INSTALLED).touch()
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        raise
    return folder


def _start_over(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    make_private_folder(folder)


async def _run(
    command: tuple[str, ...],
    folder: Path,
    environ: Mapping[str, str],
    report: Report,
    *,
    seconds: float = INSTALL_SECONDS,
) -> None:
    tool = Path(command[0]).name
    try:
        group = await spawn(command, cwd=folder, environ=environ, merged=True)
    except CannotRun as error:
        raise InvalidInput(
            f"{tool} cannot be run: {error.reason}.", suggestion=f"Install {tool} and try again."
        ) from error
    said: list[str] = []
    rest = b""
    try:
        async with asyncio.timeout(seconds):
            while data := await group.stdout.read(READ_SIZE):
                *lines, rest = (rest + data).split(b"\n")
                for line in filter(None, (plain_line(os.fsdecode(one), _LONGEST_LINE) for one in lines)):
                    said = [*said, line][-_LAST_LINES:]
                    report(plain_line(line, _SHOWN))
            await group.wait()
    except TimeoutError as error:
        raise StoreFailed(f"{tool} did not end within {seconds:.0f} s.") from error
    finally:
        await group.stop(0)
    if group.exit_code != 0:
        raise StoreFailed(
            f"{tool} failed: {' '.join(map(_without_middle, said)) or 'it printed nothing'}",
            suggestion=f"See whether {tool} can reach its package registry from here.",
        )


def _without_middle(line: str) -> str:
    """A line with its beginning and its end, where tools put the reason."""
    half = _SHOWN // 2
    return line if len(line) <= _SHOWN else f"{line[:half]} … {line[-half:]}"
