"""Leases held by one process at a time, as kernel locks on small files.

The kernel releases a lock when its process dies, so no lease has to expire. A lock belongs to an open file: two stores
in one process exclude each other too, and a child does not inherit it, because Python opens files close-on-exec.

Whether a lease is held is found out by trying its lock. A gate, a lock that is held briefly for each operation, keeps
such a trial from refusing a process that takes the lease at that moment. Files are opened and removed only inside the
gate, so no two processes can hold locks on a file and on its removed predecessor.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from portico.files.failures import file_failure
from portico.files.locks import LockFile, is_locked, lock, unlock
from portico.files.private import make_private_folder

_LONGEST_HOLDER = 4096


class FileLeases:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, name: str, holder: str) -> "FileLease | None":
        """The named lease, or None while another holder has it."""
        path = self._path(name)
        try:
            with self._gate():
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
                if not lock(descriptor, wait=False):
                    os.close(descriptor)
                    return None
                try:
                    os.ftruncate(descriptor, 0)
                    os.lseek(descriptor, 0, os.SEEK_SET)
                    os.write(descriptor, holder.encode(errors="replace")[:_LONGEST_HOLDER])
                except BaseException:
                    os.close(descriptor)
                    raise
        except OSError as error:
            raise file_failure(error, path) from error
        return FileLease(self, path, descriptor)

    def holder(self, name: str) -> str | None:
        """The holder of the named lease; None if it is free."""
        path = self._path(name)
        try:
            with self._gate():
                if not is_locked(path):
                    return None
                return path.read_bytes()[:_LONGEST_HOLDER].decode(errors="replace")
        except OSError as error:
            raise file_failure(error, path) from error

    def give_back(self, path: Path, descriptor: int) -> None:
        try:
            # A file that cannot be removed, as on Windows while it is open, does no harm. If another process
            # has replaced a removed file, the new one is its own.
            if is_in_place(path, descriptor):
                with suppress(OSError), self._gate():
                    if is_in_place(path, descriptor):
                        path.unlink()
        finally:
            unlock(descriptor)
            os.close(descriptor)

    def _path(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:32]}.lock"

    @contextmanager
    def _gate(self) -> Iterator[None]:
        for folder in (self._folder.parent, self._folder):
            make_private_folder(folder)
        with LockFile(self._folder / "gate.lock") as gate:
            if not gate.take(wait=True):
                raise TimeoutError("the gate of the leases stayed locked")
            yield


def is_in_place(path: Path, descriptor: int) -> bool:
    """Whether the path is still the file that was opened."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except OSError:
        return False


class FileLease:
    """A lease, held until it is released or the process ends."""

    is_lost = False
    """The kernel takes it from no process that lives."""

    def __init__(self, leases: FileLeases, path: Path, descriptor: int) -> None:
        self._leases = leases
        self._path = path
        self._descriptor: int | None = descriptor

    @property
    def is_in_place(self) -> bool:
        """Whether others can see the lease; its file may have been removed with its folder."""
        return self._descriptor is not None and is_in_place(self._path, self._descriptor)

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            self._leases.give_back(self._path, descriptor)
