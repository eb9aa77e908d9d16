"""Runs the client of a registry (npm, cargo, go) for one download, in an empty private folder.

There it finds only the user's own configuration, never that of a workspace. No client is called in a way that would
run code of a package.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from portico.components.packages.errors import RegistryFailed
from portico.processes.executables import CannotRun
from portico.processes.process_group import ProcessGroup, spawn

FETCH_SECONDS = 120.0
_MOST_OUTPUT = 4 * 1024 * 1024
_GRACE_SECONDS = 2.0
# No file that the program writes can grow beyond this; in blocks of 512 bytes.
_LIMITED = ("/bin/sh", "-c", 'ulimit -f 1048576; exec "$@"', "sh")


class ProgramResult(msgspec.Struct, frozen=True):
    """The exit code and the output of a program."""

    exit_code: int | None
    output: str
    errors: str

    def last_line(self) -> str:
        """The last line that says what went wrong."""
        lines = [line.strip() for line in (self.errors or self.output).splitlines() if line.strip()]
        return lines[-1][:300] if lines else "it said nothing"


async def run_client(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], *, seconds: float = FETCH_SECONDS
) -> ProgramResult:
    """Run a client until it ends. RegistryFailed if it is not installed or takes too long."""
    try:
        wrapper = () if sys.platform == "win32" else _LIMITED
        group = await spawn(command, cwd=folder, environ=environ, wrapper=wrapper)
    except CannotRun as error:
        raise RegistryFailed(
            f"{command[0]} is needed to fetch this package: {error}",
            suggestion=f"Ask the person to install {command[0]}, or look at another source.",
        ) from error
    try:
        if group.stdin is not None:
            group.stdin.close()
        async with asyncio.timeout(seconds):
            output, errors = await asyncio.gather(_read(group, 1), _read(group, 2))
            await group.wait()
    except TimeoutError as error:
        raise RegistryFailed(
            f"{command[0]} did not deliver the package within {seconds:g} s.",
            suggestion="The registry is slow or cannot be reached. Try again later, or continue without it.",
        ) from error
    finally:
        await group.stop(_GRACE_SECONDS)
    return ProgramResult(group.exit_code, output, errors)


async def _read(group: ProcessGroup, number: int) -> str:
    """One output to its end; only the beginning is kept."""
    stream = group.stdout if number == 1 else group.stderr
    kept = bytearray()
    while stream is not None and (data := await stream.read(64 * 1024)):
        if len(kept) < _MOST_OUTPUT:
            kept += data
    return kept[:_MOST_OUTPUT].decode(errors="replace")
