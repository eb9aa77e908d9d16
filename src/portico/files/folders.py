"""Folders opened without following links, and operations on their entries by descriptor.

A room resolves a path and judges where it leads. Before the file is used, a folder above it may be replaced by a
link. A `OpenFolder` is opened by its real path, so a link in that path is an error (ELOOP) and is never followed.

Linux opens the whole path with one call (openat2) and macOS with a flag; elsewhere it is opened part by part.
Windows has no descriptors of folders: there the path is compared with its real path first, which leaves a gap.
"""

import errno
import functools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

# Absent on Windows.
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_SEARCHED = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
_LISTED = _FOLDER | os.O_RDONLY
_FILE = _NO_FOLLOW | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_NO_LINK_ANYWHERE = getattr(os, "O_NOFOLLOW_ANY", 0)  # macOS
_HAS_DESCRIPTORS = os.open in os.supports_dir_fd
_MOST_OPEN = 16

_OPENAT2 = 437
_RESOLVE_NO_SYMLINKS = 0x04
_KNOWN_MACHINES = {"x86_64", "aarch64", "riscv64", "ppc64le", "s390x", "loongarch64", "armv7l", "i686"}


class OpenFolder:
    """An open folder. Names are those of entries in it, and no link is followed."""

    __slots__ = ("descriptor", "path")

    def __init__(self, path: str, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if (
            isinstance(error, OSError)
            and isinstance(error.filename, str)
            and not os.path.isabs(error.filename)
        ):
            error.filename = f"{self.path}/{error.filename}"

    def close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def lstat(self, name: str) -> os.stat_result:
        return os.stat(self.named(name), dir_fd=self.descriptor, follow_symlinks=False)

    def exists(self, name: str) -> bool:
        """Whether there is an entry of that name, links that lead nowhere included."""
        try:
            self.lstat(name)
        except FileNotFoundError:
            return False
        return True

    def facts(self) -> os.stat_result:
        """The facts of the folder itself."""
        return os.stat(self.path if self.descriptor is None else self.descriptor)

    def is_writable(self, name: str) -> bool:
        """Whether this process may write a file."""
        effective = os.access in os.supports_effective_ids
        return os.access(self.named(name), os.W_OK, dir_fd=self.descriptor, effective_ids=effective)

    def open(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """The descriptor of a file. Opening a named pipe does not wait for its other end."""
        return os.open(self.named(name), flags | _FILE | _NO_WAIT, mode, dir_fd=self.descriptor)

    def readlink(self, name: str) -> str:
        """The target of a link, as written."""
        return os.readlink(self.named(name), dir_fd=self.descriptor)

    def symlink(self, target: str, name: str) -> None:
        os.symlink(target, self.named(name), dir_fd=self.descriptor)

    def unlink(self, name: str) -> None:
        os.unlink(self.named(name), dir_fd=self.descriptor)

    def mkdir(self, name: str, mode: int = 0o777) -> None:
        os.mkdir(self.named(name), mode, dir_fd=self.descriptor)

    def rmdir(self, name: str) -> None:
        os.rmdir(self.named(name), dir_fd=self.descriptor)

    def replace(self, name: str, folder: "OpenFolder", other: str) -> None:
        """Move an entry to another name, in the place of what is there."""
        with _naming((self, name), (folder, other)):
            os.replace(
                self.named(name),
                folder.named(other),
                src_dir_fd=self.descriptor,
                dst_dir_fd=folder.descriptor,
            )

    def link(self, name: str, folder: "OpenFolder", other: str) -> None:
        """Give a file, or a link itself, a second name."""
        with _naming((self, name), (folder, other)):
            os.link(
                self.named(name),
                folder.named(other),
                src_dir_fd=self.descriptor,
                dst_dir_fd=folder.descriptor,
                follow_symlinks=False,
            )

    def chmod(self, name: str, mode: int) -> None:
        """Set the permission bits of a file or folder. OSError for a link."""
        if self.descriptor is None:
            Path(self.named(name)).chmod(mode)
            return
        try:
            descriptor = self.open(name)
        except PermissionError:
            self._chmod_unreadable(name, mode)
            return
        try:
            os.chmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def _chmod_unreadable(self, name: str, mode: int) -> None:
        """Set the bits of a file that its own owner may not open, where the system has a name for its descriptor."""
        descriptor = os.open(name, getattr(os, "O_PATH", 0) | _NO_FOLLOW, dir_fd=self.descriptor)
        try:
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
            os.chmod(f"/proc/self/fd/{descriptor}", mode)
        finally:
            os.close(descriptor)

    def names(self) -> list[str]:
        """The names of all entries."""
        if self.descriptor is None:
            return os.listdir(self.path)
        with self._listed() as descriptor:
            return os.listdir(descriptor)

    @contextmanager
    def scan(self) -> Iterator[Iterator["os.DirEntry[str]"]]:
        """All entries with their kinds. The `path` of an entry is its name."""
        if self.descriptor is None:
            with os.scandir(self.path) as entries:
                yield entries
            return
        with self._listed() as descriptor, os.scandir(descriptor) as entries:
            yield entries

    def sync(self) -> None:
        """Let names survive a power cut, where folders can be synced."""
        if self.descriptor is not None:
            with self._listed() as descriptor:
                os.fsync(descriptor)

    def folder(self, name: str) -> "OpenFolder":
        """A folder in this one."""
        path = f"{self.path}/{name}" if self.path != "/" else f"/{name}"
        return (
            OpenFolder(path, None)
            if self.descriptor is None
            else OpenFolder(path, _step(self.descriptor, name))
        )

    @contextmanager
    def _listed(self) -> Iterator[int]:
        descriptor = os.open(".", _LISTED, dir_fd=self.descriptor)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def named(self, name: str) -> str:
        """The name to pass to a system call beside the descriptor."""
        return name if self.descriptor is not None else f"{self.path}/{name}"


class FolderCache:
    """Opens the folders of many files, and keeps the last few open: for work on one file after the other."""

    def __init__(self) -> None:
        self._open: dict[str, OpenFolder] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._open:
            self._open.popitem()[1].close()

    def parent(self, path: str) -> tuple[OpenFolder, str]:
        """The folder that a real path is in, and its name there."""
        above, name = split(path)
        folder = self._open.get(above)
        if folder is None:
            folder = open_folder(above)
            if len(self._open) >= _MOST_OPEN:
                self._open.pop(next(iter(self._open))).close()
            self._open[above] = folder
        return folder, name


def split(path: str | Path) -> tuple[str, str]:
    """The folder of a path, and its name there."""
    if os.sep != "/":
        return os.path.split(path)
    above, _, name = str(path).rpartition("/")
    return above or "/", name


def open_folder(path: str | Path) -> OpenFolder:
    """The folder at a real path. OSError (ELOOP) if a link is in the path by now."""
    name = str(path)
    if _HAS_DESCRIPTORS:
        if name[:1] != "/" or "/.." in name:
            raise ValueError(f"{name} is not a real path")
        return OpenFolder(name, _opener()(name))
    if os.path.normcase(os.path.realpath(name)) != os.path.normcase(os.path.normpath(name)):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
    return OpenFolder(name, None)


def make_folders(path: str | Path) -> OpenFolder:
    """The folder at a real path, made with those above it if it is not there."""
    try:
        return open_folder(path)
    except FileNotFoundError:
        above, name = split(path)
        with make_folders(above) as folder:
            try:
                folder.mkdir(name)
            except FileExistsError:
                pass  # Another program made it just now.
            return folder.folder(name)


@functools.cache
def _opener() -> Callable[[str], int]:
    """The function that opens a folder on this system, tried once."""
    if _NO_LINK_ANYWHERE:
        return lambda path: os.open(path, _SEARCHED | _NO_LINK_ANYWHERE)
    return _kernel_opener() or open_stepwise


def _kernel_opener() -> Callable[[str], int] | None:
    """Opens through openat2, which Python does not know; None where the kernel, or a filter, refuses it."""
    if sys.platform != "linux" or os.uname().machine not in _KNOWN_MACHINES:
        return None
    try:
        import ctypes
    except ImportError:
        return None

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    how = (ctypes.c_uint64 * 3)(_SEARCHED, 0, _RESOLVE_NO_SYMLINKS)
    here = -100

    def opened(path: str) -> int:
        while (descriptor := call(_OPENAT2, here, os.fsencode(path), how, 24)) < 0:
            number = ctypes.get_errno()
            if number != errno.EINTR:
                raise OSError(number, os.strerror(number), path)
        return int(descriptor)

    try:
        os.close(opened("/"))
    except OSError:
        return None
    return opened


def open_stepwise(path: str) -> int:
    """Opens a folder part by part, none of which may be a link."""
    descriptor = os.open("/", _SEARCHED)
    try:
        for part in filter(None, path.split("/")):
            inner = _step(descriptor, part)
            os.close(descriptor)
            descriptor = inner
    except OSError as error:
        os.close(descriptor)
        error.filename = path
        raise
    return descriptor


def _step(descriptor: int, name: str) -> int:
    try:
        return os.open(name, _SEARCHED | _NO_FOLLOW, dir_fd=descriptor)
    except NotADirectoryError:
        # Linux says so of a link, too.
        if stat.S_ISLNK(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from None
        raise


@contextmanager
def _naming(source: tuple[OpenFolder, str], target: tuple[OpenFolder, str]) -> Iterator[None]:
    """Have an error of two names tell where each of them is."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = (f"{folder.path}/{name}" for folder, name in (source, target))
        raise
