"""Checks of zip archives before the standard library reads their directory into memory."""

import struct
import zipfile
from typing import BinaryIO

from portico.components.packages.archives.member import ArchiveMember, UnpackLimits, refuse, shown_name

_END = b"PK\x05\x06"
_LOCATOR = b"PK\x06\x07"
_END_SIZE = 22
_LONGEST_COMMENT = 65535
_LARGEST_ENTRY = 46 + 3 * 1024
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED = 0x1
_UNIX = 3
_KINDS = {
    0o120000: "link",
    0o020000: "a device",
    0o060000: "a device",
    0o010000: "a named pipe",
    0o140000: "a socket",
}


def check_directory(file: BinaryIO, limits: UnpackLimits) -> None:
    """PackageRefused if the directory of an archive lists too much, or is of the kind for more than 65,535 files."""
    size = file.seek(0, 2)
    tail_size = min(size, _END_SIZE + _LONGEST_COMMENT + 20)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    place = tail.rfind(_END)
    if place < 0 or len(tail) < place + _END_SIZE:
        raise refuse("it is not a zip archive")
    count, directory = struct.unpack_from("<HI", tail, place + 10)
    if _LOCATOR in tail[max(0, place - 20) : place] or count == 0xFFFF or directory == 0xFFFFFFFF:
        raise refuse("its directory is of the kind for more than 65,535 files")
    if count > limits.files or directory > count * _LARGEST_ENTRY:
        raise refuse(f"its directory lists {count:,} files in {directory:,} bytes")
    file.seek(0)


def zip_member(info: zipfile.ZipInfo) -> ArchiveMember:
    """A member with its kind. PackageRefused for one that is encrypted, no file, or packed in a rare way."""
    shown = shown_name(info.orig_filename)
    if info.flag_bits & _ENCRYPTED:
        raise refuse(f"{shown} is encrypted")
    if "\0" in info.orig_filename:
        raise refuse(f"{shown} has the character U+0000, which cannot be seen")
    if info.compress_type not in _METHODS:
        raise refuse(f"{shown} is packed in a way that is not supported ({info.compress_type})")
    kind = _KINDS.get((info.external_attr >> 16) & 0o170000, "") if info.create_system == _UNIX else ""
    if kind == "link":
        return ArchiveMember(info.orig_filename, "link")
    if kind:
        raise refuse(f"{shown} is {kind}")
    return ArchiveMember(info.orig_filename, "folder" if info.orig_filename.endswith("/") else "file")
