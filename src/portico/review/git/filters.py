"""Git filters: which files a repository converts, and the blobs of those files.

Without its program, the form of such a file that git keeps is not known. Nothing here runs one but `clean`.
"""

import asyncio
import os
from collections.abc import Collection, Mapping
from pathlib import Path

from portico.git.private_git import private_git
from portico.git.program import Git, path_input
from portico.git.repository import Repository
from portico.review.files.disk import Disk

_PROGRAMS = ("clean", "smudge", "process", "required")
_GONE = "0 " + "0" * 40


async def filtered_paths(repository: Repository, paths: Collection[str]) -> frozenset[str]:
    """Files among these that have a filter which some config file defines."""
    if not paths:
        return frozenset()
    keys = (await repository.git.run("config", "--list", "-z", "--name-only")).names
    parts = (key.removeprefix("filter.").rpartition(".") for key in keys if key.startswith("filter."))
    drivers = {driver for driver, _, name in parts if name in _PROGRAMS}
    if not drivers:
        return frozenset()
    given = path_input(paths)
    attributes = (await repository.git.run("check-attr", "-z", "--stdin", "filter", given=given)).names
    return frozenset(
        path for path, driver in zip(attributes[::3], attributes[2::3], strict=True) if driver in drivers
    )


async def clean(repository: Repository, path: str, data: bytes | None = None) -> str:
    """The blob that git keeps of a file, or of other content at its path. **Runs the repository's filter.**"""
    words = ("hash-object", "-w")
    if data is None:
        return (await repository.git.run(*words, "--", path)).text
    return (await repository.git.run(*words, "--stdin", "--path", path, given=data)).text


async def store_as_is(git: Git, path: str) -> str:
    """A blob with the very bytes of a file."""
    data = await asyncio.to_thread(lambda: Disk().read(Path(os.path.realpath(git.folder), path)).data)
    return (await git.run("hash-object", "-w", "--no-filters", "--stdin", given=data)).text


async def entries_of(git: Git, tree: str, paths: Collection[str]) -> dict[str, str | None]:
    """Entries of a tree at these paths, as `mode blob`; None where there is none."""
    listed = (line.partition("\t") for line in (await git.run("ls-tree", "-r", "-z", tree)).names)
    found = {path: facts.split(" ") for facts, _, path in listed if path in paths}
    return {path: f"{found[path][0]} {found[path][2]}" if path in found else None for path in paths}


async def with_entries(
    repository: Repository, tree: str, entries: Mapping[str, str | None], scratch: Path
) -> str:
    """A tree with other entries at these paths, or none where there shall be nothing."""
    if not entries:
        return tree
    given = b"".join(os.fsencode(f"{entry or _GONE}\t{path}") + b"\0" for path, entry in entries.items())
    async with private_git(repository, scratch) as git:
        await git.run("read-tree", tree)
        await git.run("update-index", "-z", "--index-info", given=given)
        return (await git.run("write-tree", "--missing-ok")).text
