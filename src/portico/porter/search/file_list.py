"""Lists the files of a folder, as git knows them or from a walk of the disk."""

import asyncio
import os
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from portico.porter.search.file_tree import walk
from portico.processes.executables import CannotRun
from portico.processes.git_settings import safe_git_environ, safe_git_options
from portico.processes.process_group import spawn
from portico.rpc.streams import READ_SIZE

MAX_FILES = 20_000
_MAX_BYTES = 16 * 1024 * 1024
_GIT_SECONDS = 30.0
_GIT = (
    *("git", *safe_git_options(), "ls-files", "-z", "--deduplicate"),
    *("--cached", "--others", "--exclude-standard", "--", "."),
)


async def collect_files(folder: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the regular files below a folder, at most MAX_FILES; for a file, the file itself."""
    names = await _known_to_git(folder, environ)
    return await asyncio.to_thread(_from_disk, folder, names)


async def _known_to_git(folder: Path, environ: Mapping[str, str]) -> bytes | None:
    try:
        group = await spawn(_GIT, cwd=folder, environ=safe_git_environ(environ), merged=True)
    except CannotRun:
        return None
    output = bytearray()
    try:
        async with asyncio.timeout(_GIT_SECONDS):
            while len(output) < _MAX_BYTES and (data := await group.stdout.read(READ_SIZE)):
                output += data
            await group.wait()
    except TimeoutError:
        return None  # git may block on a named pipe, which a walk does not open.
    finally:
        await group.stop(0)
    return bytes(output) if group.exit_code == 0 else None


def _from_disk(folder: Path, names: bytes | None) -> list[Path]:
    if names is None:
        return list(islice(walk(folder), MAX_FILES))
    paths = (folder / os.fsdecode(name) for name in names.split(b"\0") if name)
    return list(islice((path for path in paths if path.is_file() and not path.is_symlink()), MAX_FILES))
