"""Unpacks an archive into a new folder: regular files only, each inside, all within limits.

Modes, owners and times of the archive are not taken over. Nothing in it is ever run.
"""

import gzip
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from portico.components.packages.archives.member import (
    ArchiveMember,
    UnpackLimits,
    check_link,
    refuse,
    safe_path,
    shown_name,
)
from portico.components.packages.archives.tar import TarReader
from portico.components.packages.archives.zip_file import check_directory, zip_member

DEFAULT_LIMITS = UnpackLimits()
_CHUNK = 256 * 1024
_LONGEST_TARGET = 4096
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_ZIP_MAGIC, _GZIP_MAGIC = b"PK", b"\x1f\x8b"

_Read = Callable[[int], bytes]


class Unpacked(msgspec.Struct, frozen=True):
    """The files that were written, and the number of links that were left out."""

    files: int
    size: int
    links: int


def unpack(archive: Path, folder: Path, limits: UnpackLimits = DEFAULT_LIMITS) -> Unpacked:
    """Unpack a zip or a gzipped tar into an empty folder. PackageRefused if it is unsafe. Blocks."""
    size = archive.stat().st_size
    if size > limits.archive_bytes:
        raise refuse(f"it has {size:,} bytes, and the limit is {limits.archive_bytes:,}")
    writer = _Writer(folder, limits, size)
    try:
        with archive.open("rb") as file:
            magic = file.read(2)
            file.seek(0)
            if magic == _ZIP_MAGIC:
                _unpack_zip(file, writer, limits)
            elif magic == _GZIP_MAGIC:
                _unpack_tar(file, writer)
            else:
                raise refuse("it is neither a zip nor a gzipped tar archive")
    except (zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise refuse(f"it is damaged ({error})") from error
    except (UnicodeError, ValueError, OverflowError) as error:
        raise refuse(f"it has a name or number that cannot be read ({error})") from error
    return writer.result()


def _unpack_tar(file: BinaryIO, writer: "_Writer") -> None:
    with gzip.GzipFile(fileobj=file) as stream:
        reader = TarReader(_CountedStream(stream, writer.count))
        for member in reader.members():
            writer.add(member, reader.read)


def _unpack_zip(file: BinaryIO, writer: "_Writer", limits: UnpackLimits) -> None:
    check_directory(file, limits)
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            member = zip_member(info)
            if member.kind == "folder":
                writer.add(member, lambda _: b"")
                continue
            with archive.open(info) as content:
                if member.kind == "link":
                    target = content.read(_LONGEST_TARGET).decode(errors="replace")
                    member = msgspec.structs.replace(member, target=target)
                writer.add(member, content.read)


class _CountedStream:
    """A decompressed stream, all of which counts against the limits: also what is skipped in it."""

    def __init__(self, stream: gzip.GzipFile, count: Callable[[int], None]) -> None:
        self._stream = stream
        self._count = count

    def read(self, most: int) -> bytes:
        data = self._stream.read(most)
        self._count(len(data))
        return data


class _Writer:
    def __init__(self, folder: Path, limits: UnpackLimits, archive_size: int) -> None:
        self._folder = folder
        self._limits = limits
        self._archive_size = max(archive_size, 1)
        self._read = 0
        self._members = 0
        self._files = 0
        self._size = 0
        self._links = 0
        self._folders = {""}

    def result(self) -> Unpacked:
        if self._files == 0:
            raise refuse("it has no files in it")
        return Unpacked(self._files, self._size, self._links)

    def add(self, member: ArchiveMember, read: _Read) -> None:
        self._members += 1
        if self._members > self._limits.files:
            raise refuse(f"it has more than {self._limits.files:,} members")
        path = safe_path(member.path)
        if member.kind == "link":
            check_link(path, member.target)
            self._links += 1
        elif member.kind == "folder":
            self._make_folder(path)
        elif not path:
            raise refuse("a file in it has no name")
        else:
            self._make_folder(path.rpartition("/")[0])
            self._write(path, read)

    def _make_folder(self, path: str) -> None:
        if path in self._folders:
            return
        self._make_folder(path.rpartition("/")[0])
        try:
            (self._folder / path).mkdir(mode=0o700)
        except FileExistsError as error:
            raise refuse(f"{shown_name(path)} is in it twice") from error
        self._folders.add(path)

    def _write(self, path: str, read: _Read) -> None:
        try:
            descriptor = os.open(self._folder / path, _NEW, 0o600)
        except FileExistsError as error:
            raise refuse(f"{shown_name(path)} is in it twice") from error
        self._files += 1
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            for data in _chunks(read):
                self._size += len(data)
                self._check(self._size)
                file.write(data)

    def count(self, size: int) -> None:
        self._read += size
        self._check(self._read)

    def _check(self, size: int) -> None:
        limits = self._limits
        if size > limits.unpacked_bytes:
            raise refuse(f"it unpacks to more than {limits.unpacked_bytes:,} bytes")
        if size > limits.ratio_from_bytes and size > limits.ratio * self._archive_size:
            raise refuse(f"it unpacks to more than {limits.ratio} times its size, like a zip bomb")


def _chunks(read: _Read) -> Iterator[bytes]:
    while data := read(_CHUNK):
        yield data
