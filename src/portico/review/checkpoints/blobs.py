"""Blobs of a snapshot repository: read one, read many, write many as files."""

import asyncio
import os
import secrets
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import BinaryIO

from portico.domain.errors import StoreFailed
from portico.files import real_path
from portico.files.folders import FolderCache
from portico.git.program import Git, translated
from portico.review.checkpoints.permissions import FilePermissions
from portico.review.checkpoints.snapshot_repository import SnapshotDifference
from portico.review.files.file_swap import set_restored_mode

_CHUNK_BYTES = 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_BATCH_BYTES = 8 * 1024 * 1024


async def read_blob(git: Git, tree: str, path: str) -> bytes | None:
    """The content of a file in a tree; None if there is none."""
    listed = (await git.run("ls-tree", "-z", "--full-tree", tree, "--", path)).names
    if not listed or listed[0].split(" ", 2)[1] != "blob":
        return None
    blob = listed[0].partition("\t")[0].split(" ")[2]
    return (await git.run("cat-file", "blob", blob)).output


async def read_blobs(git: Git, tree: str, paths: Collection[str]) -> dict[str, tuple[str, bytes]]:
    """The mode and content of each of these files that is in a tree, with few runs of git."""
    wanted: list[tuple[str, str, str, int]] = []
    for line in (await git.run("ls-tree", "-r", "-l", "-z", "--full-tree", tree)).names:
        facts, _, path = line.partition("\t")
        mode, kind, blob, length = facts.split()
        if kind == "blob" and path in paths:
            wanted.append((path, mode, blob, int(length)))
    found: dict[str, tuple[str, bytes]] = {}
    while wanted:
        taken, total = 1, wanted[0][3]
        while taken < len(wanted) and total + wanted[taken][3] <= _BATCH_BYTES:
            total += wanted[taken][3]
            taken += 1
        batch, wanted = wanted[:taken], wanted[taken:]
        given = "".join(f"{blob}\n" for _, _, blob, _ in batch).encode()
        output = (await git.run("cat-file", "--batch", given=given)).output
        at = 0
        for path, mode, _, size in batch:
            at = output.index(b"\n", at) + 1
            found[path] = (mode, output[at : at + size])
            at += size + 1
    return found


async def write_blobs(
    git: Git,
    scratch: Path,
    wanted: Sequence[tuple[Path, SnapshotDifference]],
    permissions: FilePermissions | None,
) -> None:
    """Write what a difference has on its new side to the file beside it, ready to be moved into place."""
    gathered = scratch / f"blobs.{secrets.token_hex(4)}"
    given = "".join(f"{each.new.blob}\n" for _, each in wanted).encode()
    try:
        answer = await git.ask("cat-file", "--batch", given=given, into=gathered)
        if answer.code != 0:
            raise translated("cat-file", answer.complaint)
        await asyncio.to_thread(_part, gathered, git.folder, wanted, permissions)
    except OSError as error:
        raise StoreFailed(
            f"The files to be restored could not be written ({error.strerror}); everything is as it was.",
            suggestion="Free some space if the disk is full, and restore again.",
        ) from error
    finally:
        gathered.unlink(missing_ok=True)


def _part(
    gathered: Path,
    workspace: Path,
    wanted: Sequence[tuple[Path, SnapshotDifference]],
    permissions: FilePermissions | None,
) -> None:
    with gathered.open("rb") as source, FolderCache() as folders:
        for place, each in wanted:
            header = source.readline().decode().split()
            if len(header) != 3 or header[1] != "blob":
                raise StoreFailed(
                    f"The checkpoint no longer holds {each.path}; everything is as it was.",
                    suggestion="Choose another checkpoint.",
                )
            size = int(header[2])
            if each.new.mode == "120000":
                real_path.symlink(os.fsdecode(source.read(size)), place)
            else:
                executable = each.new.mode == "100755"
                had = None if permissions is None else permissions.of(each.path, program=executable)
                descriptor = real_path.open_file(place, _NEW, 0o777 if executable else 0o666, folders)
                with open(descriptor, "wb") as file:  # noqa: PTH123 - pathlib opens no descriptors
                    _copy(source, size, file)
                    set_restored_mode(descriptor, workspace / each.path, had, folders, executable=executable)
                    os.fsync(descriptor)
            source.read(1)


def _copy(source: BinaryIO, size: int, target: BinaryIO) -> None:
    while size > 0:
        chunk = source.read(min(size, _CHUNK_BYTES))
        if not chunk:
            raise StoreFailed("The checkpoint is incomplete; no file was changed.")
        target.write(chunk)
        size -= len(chunk)
    target.flush()
