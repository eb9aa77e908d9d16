"""Installs agents from npm, each in its own folder of the state folder.

Starting an agent never downloads anything. `portico agents install` shows the package and its version, and asks first.
"""

import asyncio
import os
import secrets
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.config.paths import state_folder
from portico.domain.errors import InvalidInput, StoreFailed
from portico.files.private import make_private_folder
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn

_VIEW_SECONDS = 60
_INSTALL_SECONDS = 900
_GRACE_SECONDS = 2.0
_LAST_LINES = 5


class NpmPackage(msgspec.Struct, frozen=True):
    """An npm package in one version."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


def installed_program(agent: str, program: str, environ: Mapping[str, str]) -> Path | None:
    """The program of an installed agent; None if it is not installed here."""
    name = f"{program}.cmd" if sys.platform == "win32" else program
    path = agent_folder(agent, environ) / "node_modules" / ".bin" / name
    return path if path.is_file() else None


async def newest_version(package: str, environ: Mapping[str, str]) -> NpmPackage:
    """The version of a package that npm would install, from the registry."""
    done = await _npm(("view", package, "version"), Path.home(), environ, _VIEW_SECONDS)
    version = done.strip().splitlines()[-1:] or [""]
    if not version[0]:
        raise StoreFailed(f"npm has no version of {package}.")
    return NpmPackage(package, version[0])


async def install(agent: str, package: NpmPackage, environ: Mapping[str, str]) -> Path:
    """Install a package with its dependencies, replacing an earlier version; returns its folder."""
    folder = agent_folder(agent, environ)
    fresh = folder.with_name(f".{agent}.{secrets.token_hex(4)}")
    make_private_folder(fresh)
    try:
        await fetch_npm_package(package, fresh, environ)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


async def fetch_npm_package(package: NpmPackage, folder: Path, environ: Mapping[str, str]) -> None:
    """Install a package into an empty folder, since npm reads the settings and packages of the current one."""
    options = ("--prefix", str(folder), "--no-audit", "--no-fund", "--save-exact", "--loglevel=error")
    await _npm(("install", *options, str(package)), folder, environ, _INSTALL_SECONDS)


def agent_folder(agent: str, environ: Mapping[str, str]) -> Path:
    return state_folder(environ) / "agents" / agent


async def _npm(words: tuple[str, ...], folder: Path, environ: Mapping[str, str], seconds: float) -> str:
    """Run npm and return its output."""
    try:
        return await run_to_end(("npm", *words), folder, environ, seconds)
    except CannotRun as error:
        raise InvalidInput(
            f"npm cannot be run: {error.reason}.",
            suggestion="Install Node.js, which brings npm, and try again.",
        ) from error


async def run_to_end(
    command: tuple[str, ...], folder: Path, environ: Mapping[str, str], seconds: float
) -> str:
    """Run a program and return its output. It is stopped with all it started when this call is cancelled."""
    program = await spawn(command, cwd=folder, environ=environ)
    assert program.stdin is not None
    assert program.stderr is not None
    program.stdin.close()
    title = " ".join((Path(command[0]).name, *command[1:2]))
    try:
        async with asyncio.timeout(seconds):
            output, errors, _ = await asyncio.gather(
                program.stdout.read(), program.stderr.read(), _end(program)
            )
    except TimeoutError as error:
        raise StoreFailed(f"{title} did not end within {seconds:.0f} s.") from error
    finally:
        await program.stop(_GRACE_SECONDS)
    if program.exit_code != 0:
        said = os.fsdecode(errors).strip().splitlines()[-_LAST_LINES:]
        raise StoreFailed(
            f"{title} failed: {' '.join(said) or f'exit code {program.exit_code}'}",
            suggestion="Check whether this machine can reach the registry of packages.",
        )
    return os.fsdecode(output)


async def _end(program: ProcessGroup) -> None:
    """Wait for the end of a program, and end what it left behind, which may hold its output open."""
    await program.wait()
    await program.sweep()
