"""Git repository of a working copy: its own HEAD, index, refs and config over the person's objects.

An agent can look at history, diffs and status there, and commit or stash as it likes: nothing of that is seen
in the person's repository, not even a ref. Outside of git the same folder only knows which files to ignore.
It is laid out by hand, since a clone would cost more processes and a worktree would share refs and stash.
"""

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.files.private import copy_private, make_private_folder, write_private
from portico.files.regular import read_regular
from portico.git.private_git import copy_rules, quoted
from portico.git.program import Git
from portico.git.repository import Repository
from portico.review.working_copies.file_access import current_stamp
from portico.review.working_copies.record import Stamp

_SHA256 = re.compile(rb"objectformat\s*=\s*sha256", re.IGNORECASE)
_HEAD_LIMIT_BYTES = 64 * 1024
_CONFIG_LIMIT_BYTES = 16 * 1024 * 1024
_OTHER_STORE = "ref: refs/heads/.invalid"
_NOT_COPIED = ("refs/portico/", "refs/stash")
_MOVING = ("HEAD", "index", "logs/HEAD", "packed-refs")
_NOWHERE = (None, None, None, None)


class _Origin(msgspec.Struct, frozen=True):
    """The person's repository as it was when it was last copied, and the HEAD that was made from it."""

    git_folder: bytes
    stamps: tuple[Stamp | None, ...]
    head: str


async def create_repository(folder: Path, top: Path, repository: Repository | None) -> None:
    """Make the repository in `folder` for the tree `top`, from the person's if there is one."""
    await asyncio.to_thread(_make, folder, top, repository)
    if repository is None:
        write_private(folder / "HEAD", b"ref: refs/heads/main\n")
    else:
        await _copy_state(folder, repository)


def link_tree(folder: Path, top: Path) -> None:
    """Connect the tree with its repository."""
    (top / ".git").write_bytes(b"gitdir: " + os.fsencode(folder) + b"\n")


async def update_repository(folder: Path, root: Path, environ: Mapping[str, str]) -> None:
    """Take over where the person's HEAD, refs and index are by now, unless the agent has a history of its own."""
    try:
        origin = codecs.decode_msgpack(read_regular(folder / "origin", limit=_CONFIG_LIMIT_BYTES), _Origin)
    except (OSError, msgspec.DecodeError):
        return
    git_folder = Path(os.fsdecode(origin.git_folder))
    stamps = _stamps(git_folder)
    if stamps in (origin.stamps, _NOWHERE):
        return
    repository = Repository(root, git_folder, Git(root, environ))
    heads = (origin.head, await _head(repository))
    if await asyncio.to_thread(_is_untouched, folder, heads):
        await _copy_state(folder, repository)


def _is_untouched(folder: Path, heads: tuple[str, ...]) -> bool:
    """Whether the agent has neither committed nor gone to another branch."""
    try:
        head = read_regular(folder / "HEAD", limit=_HEAD_LIMIT_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return False
    return head in heads and not any(path.is_file() for path in (folder / "refs").rglob("*"))


async def _copy_state(folder: Path, repository: Repository) -> None:
    stamps = _stamps(repository.git_folder)
    answer = await repository.git.run("for-each-ref", "--format=%(objectname) %(refname)")
    lines = answer.output.splitlines(keepends=True)
    references = b"".join(
        line for line in lines if not os.fsdecode(line).partition(" ")[2].startswith(_NOT_COPIED)
    )
    head = await _head(repository)
    origin = _Origin(os.fsencode(repository.git_folder), stamps, head)
    await asyncio.to_thread(_write_state, folder, repository, references, origin)


async def _head(repository: Repository) -> str:
    try:
        text = read_regular(repository.git_folder / "HEAD", limit=_HEAD_LIMIT_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        text = ""
    if text and not text.startswith(_OTHER_STORE):
        return text
    head = await repository.head()
    return f"ref: refs/heads/{head.branch}\n" if head.branch is not None else f"{head.commit}\n"


def _write_state(folder: Path, repository: Repository, references: bytes, origin: _Origin) -> None:
    write_private(folder / "packed-refs", references)
    shallow = repository.common_folder / "shallow"
    if shallow.is_file():
        copy_private(shallow, folder / "shallow")
    for source in (*repository.git_folder.glob("sharedindex.*"), repository.git_folder / "index"):
        if source.is_file():
            # With its time: git mistrusts its cache for files that are no older than the index.
            copy_private(source, folder / source.name)
    write_private(folder / "HEAD", origin.head.encode())
    write_private(folder / "origin", msgspec.msgpack.encode(origin))


def _make(folder: Path, top: Path, repository: Repository | None) -> None:
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        make_private_folder(folder / name)
    write_private(folder / "config", os.fsencode(_config(top, repository)))
    if repository is None:
        return
    common = repository.common_folder
    write_private(folder / "objects" / "info" / "alternates", os.fsencode(_line(common / "objects")))
    copy_rules(repository, folder)


def _config(top: Path, repository: Repository | None) -> str:
    """The person's git config, except for settings that must differ."""
    included, version, extensions = "", 0, ""
    if repository is not None:
        source = repository.common_folder / "config"
        included = f"[include]\n\tpath = {quoted(str(source))}\n"
        if _SHA256.search(_config_of(source)):
            version, extensions = 1, "[extensions]\n\tobjectFormat = sha256\n"
    return (
        f"{included}[core]\n\trepositoryformatversion = {version}\n\tbare = false\n\tfsmonitor = false\n\tuntrackedCache = false\n"
        f"\tworktree = {quoted(str(top))}\n{extensions}[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"
    )


def _config_of(path: Path) -> bytes:
    try:
        return read_regular(path, limit=_CONFIG_LIMIT_BYTES)
    except OSError:
        return b""


def _stamps(git_folder: Path) -> tuple[Stamp | None, ...]:
    return tuple(current_stamp(str(git_folder / name)) for name in _MOVING)


def _line(path: Path) -> str:
    """A path as a line of its own, in quotes where it holds a line's end."""
    return f"{quoted(str(path)) if chr(10) in str(path) else path}\n"
