"""Private git folder over the person's objects, for commands that must not run the repository's filters.

Git runs a filter or merge driver only if a config file names its program, and it reads the config of its git
folder. This one has its own config: the person's line ends, encodings and file modes, and no program. So
there is nothing to run, whatever the repository's config says or becomes in the meantime.
"""

import asyncio
import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from portico.files.private import copy_private, write_private
from portico.files.regular import read_regular
from portico.git.file_checks import unreadable_error
from portico.git.program import Git
from portico.git.repository import Repository

_RULE_LIMIT_BYTES = 16 * 1024 * 1024
_KEPT_SETTINGS = frozenset(
    {
        *("core.autocrlf", "core.eol", "core.checkroundtripencoding", "core.attributesfile"),
        *("core.excludesfile", "core.filemode", "core.symlinks", "core.ignorecase"),
        *("core.precomposeunicode", "core.protecthfs", "core.protectntfs", "core.longpaths"),
        *("core.trustctime", "core.checkstat", "core.sparsecheckout", "core.sparsecheckoutcone"),
        *("core.bigfilethreshold", "core.compression", "core.loosecompression", "core.sharedrepository"),
        *("core.fsync", "core.fsyncmethod", "index.version", "index.sparse", "extensions.objectformat"),
        *("merge.renames", "merge.renamelimit", "merge.directoryrenames", "diff.renames", "diff.renamelimit"),
    }
)


@asynccontextmanager
async def private_git(repository: Repository, scratch: Path) -> AsyncIterator[Git]:
    """Git at the root of a repository, with its objects and attributes, and without its config, refs and index."""
    settings = (await repository.git.run("config", "--list", "-z")).output
    folder = scratch / f"private.{secrets.token_hex(4)}"
    try:
        try:
            await asyncio.to_thread(_lay_out, folder, repository, _kept(settings))
        except OSError as error:
            raise unreadable_error(error) from error
        yield repository.git.having(
            "core.safecrlf=false",
            GIT_DIR=str(folder),
            GIT_WORK_TREE=str(repository.root),
            GIT_OBJECT_DIRECTORY=str(repository.common_folder / "objects"),
            GIT_CONFIG_GLOBAL=os.devnull,
            GIT_CONFIG_NOSYSTEM="1",
        )
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def copy_rules(repository: Repository, folder: Path) -> None:
    """Copy which files a repository ignores, converts and leaves out to another git folder."""
    common = repository.common_folder
    for source in (common / "exclude", common / "attributes", repository.git_folder / "sparse-checkout"):
        with suppress(FileNotFoundError):
            rules = read_regular(source.parent / "info" / source.name, limit=_RULE_LIMIT_BYTES)
            write_private(folder / "info" / source.name, rules)


def quoted(text: str) -> str:
    """A value as a config file has it."""
    for plain, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(plain, written)
    return f'"{text}"'


def _lay_out(folder: Path, repository: Repository, settings: dict[str, str]) -> None:
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir(parents=True, mode=0o700)
    version = 1 if "extensions.objectformat" in settings else 0
    lines = [f"[core]\n\trepositoryformatversion = {version}\n\tbare = false\n"]
    for key, value in settings.items():
        section, _, name = key.partition(".")
        lines.append(f"[{section}]\n\t{name} = {quoted(value)}\n")
    write_private(folder / "config", os.fsencode("".join(lines)))
    write_private(folder / "HEAD", b"ref: refs/heads/none\n")
    copy_rules(repository, folder)
    for shared in repository.git_folder.glob("sharedindex.*"):
        copy_private(shared, folder / shared.name)


def _kept(listed: bytes) -> dict[str, str]:
    """The settings that change bytes, names and modes of files, from what `config --list -z` prints."""
    kept: dict[str, str] = {}
    for entry in os.fsdecode(listed).split("\0"):
        key, newline, value = entry.partition("\n")
        if key in _KEPT_SETTINGS:
            kept[key] = value if newline else "true"
    return kept
