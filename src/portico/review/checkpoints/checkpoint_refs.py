"""Refs of the checkpoints of one workspace, each on a commit whose message is the checkpoint.

Commits and refs are written and read as files, in git's own formats: that takes no git process, of which a
checkpoint would otherwise need three. Git is asked about commits that it has packed, and in stores with reftables.
"""

import asyncio
import hashlib
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.files.private import FILE, FOLDER
from portico.git.program import Git
from portico.review.checkpoints.checkpoint import Checkpoint
from portico.review.files.worker_thread import run_to_end

_REFS = "refs/checkpoints"
_AUTHOR = "Portico <portico@localhost>"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class CheckpointRefs:
    """The refs in one store. The caller holds the lock of the store."""

    def __init__(self, store: Path, git: Git) -> None:
        self._store = store
        self._folder = store / _REFS
        self._git = git

    async def write(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint, or replace the one with its ID; it survives a power cut."""
        if self._has_reftables:
            message = msgspec.json.encode(checkpoint)
            commit = await self._git.run("commit-tree", checkpoint.tree, given=message)
            await self._git.run("update-ref", f"{_REFS}/{checkpoint.id}", commit.text)
        else:
            await run_to_end(lambda _: self._write_files(checkpoint))

    async def delete(self, checkpoints: Iterable[Checkpoint]) -> None:
        commands = "".join(f"delete {_REFS}/{each.id}\n" for each in checkpoints)
        await self._git.run("update-ref", "--stdin", given=commands.encode())

    async def newest(self, *, watch: bool = True) -> Checkpoint | None:
        """The newest checkpoint, or the newest that is no `watch`; the older ones are not read."""
        found = None if self._has_reftables else await run_to_end(lambda _: self._read_newest(watch=watch))
        if found is None:
            found = next((one for one in await self.list() if watch or not one.watch), None)
        return found

    async def ids(self) -> tuple[str, ...]:
        """IDs of all checkpoints, newest first, without reading one."""
        if not self._has_reftables:
            return await asyncio.to_thread(self._list_files)
        words = ("for-each-ref", "--sort=-refname", "--format=%(refname:lstrip=2)", _REFS)
        return tuple((await self._git.run(*words)).text.split())

    async def list(self) -> tuple[Checkpoint, ...]:
        """All checkpoints, newest first."""
        found = None if self._has_reftables else await run_to_end(lambda _: self._read_files())
        if found is not None:
            return found
        words = ("for-each-ref", "--sort=-refname", "--format=%(contents:subject)", _REFS)
        lines = (await self._git.run(*words)).output.splitlines()
        return tuple(codecs.decode_json(line, Checkpoint) for line in lines if line)

    @property
    def _has_reftables(self) -> bool:
        return (self._store / "reftable").exists()

    def _write_files(self, checkpoint: Checkpoint) -> None:
        author = f"{_AUTHOR} {checkpoint.at_ms // 1000} +0000"
        head = f"tree {checkpoint.tree}\nauthor {author}\ncommitter {author}\n\n"
        body = head.encode() + msgspec.json.encode(checkpoint)
        commit = b"commit %d\0" % len(body) + body
        name = (hashlib.sha1 if len(checkpoint.tree) == 40 else hashlib.sha256)(commit).hexdigest()
        place = self._commit_path(name)
        place.parent.mkdir(mode=FOLDER, exist_ok=True)
        _replace(place, zlib.compress(commit, 1), place.with_name(f"tmp_obj_{secrets.token_hex(4)}"))
        self._folder.mkdir(mode=FOLDER, parents=True, exist_ok=True)
        ref = self._folder / checkpoint.id
        # Git takes any other file for a ref.
        _replace(ref, f"{name}\n".encode(), ref.with_name(f"{checkpoint.id}.lock"))

    def _read_files(self) -> tuple[Checkpoint, ...] | None:
        """All checkpoints, or None if git must be asked: a commit is in a pack or cannot be read."""
        try:
            return tuple(self._read_commits())
        except (OSError, zlib.error):
            return None

    def _read_newest(self, *, watch: bool) -> Checkpoint | None:
        """The newest checkpoint; None if there is none, or git must be asked."""
        try:
            return next((one for one in self._read_commits() if watch or not one.watch), None)
        except (OSError, zlib.error):
            return None

    def _read_commits(self) -> Iterator[Checkpoint]:
        """Checkpoints from commits that are files, newest first."""
        packed = self._packed_refs()
        for name in self._list_files():
            try:
                commit = (self._folder / name).read_text().strip()
            except FileNotFoundError:
                commit = packed[name]
            data = zlib.decompress(self._commit_path(commit).read_bytes())
            yield codecs.decode_json(data[data.index(b"\n\n") + 2 :], Checkpoint)

    def _list_files(self) -> tuple[str, ...]:
        """IDs, newest first."""
        loose = [place.name for place in self._folder.iterdir()] if self._folder.is_dir() else []
        return tuple(
            sorted(
                {*self._packed_refs(), *(name for name in loose if not name.endswith(".lock"))}, reverse=True
            )
        )

    def _packed_refs(self) -> dict[str, str]:
        try:
            lines = (self._store / "packed-refs").read_text().splitlines()
        except FileNotFoundError:
            return {}
        refs = (line.partition(" ") for line in lines if not line.startswith(("#", "^")))
        return {ref.removeprefix(f"{_REFS}/"): name for name, _, ref in refs if ref.startswith(f"{_REFS}/")}

    def _commit_path(self, name: str) -> Path:
        return self._store / "objects" / name[:2] / name[2:]


def _replace(path: Path, data: bytes, draft: Path) -> None:
    """Replace a file atomically and durably."""
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, _NEW, FILE)
    with open(descriptor, "wb") as file:  # noqa: PTH123 - pathlib opens no descriptors
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    draft.replace(path)
