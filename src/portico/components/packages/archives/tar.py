"""Reader of tar archives that holds one block in memory, and trusts no size in a header.

The standard library's reader loads extended headers and maps of sparse files whole, however large they claim to be.
This one knows what packages use: plain files, folders, long names and pax records.
"""

import tarfile
from collections.abc import Iterator
from typing import Protocol

import msgspec

from portico.components.packages.archives.member import ArchiveMember, refuse, shown_name

_BLOCK = 512
_LARGEST_HEADER = 1024 * 1024
_FILES, _FOLDER, _HARD_LINK, _LINK = (b"0", b"\0", b"7"), b"5", b"1", b"2"
_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL = b"L", b"K", b"x", b"g"
_DEVICES = {b"3": "a device", b"4": "a device", b"6": "a named pipe", b"S": "a sparse file"}


class _Extended(msgspec.Struct):
    """Extended headers that precede a member."""

    path: str = ""
    target: str = ""
    size: int | None = None


class TarStream(Protocol):
    """The source of a tar archive."""

    def read(self, most: int, /) -> bytes: ...


class TarReader:
    """Members of a tar stream, in their order. `read` gives the bytes of the last one."""

    def __init__(self, stream: TarStream) -> None:
        self._stream = stream
        self._left = 0
        self._padding = 0

    def members(self) -> Iterator[ArchiveMember]:
        extended = _Extended()
        while (header := self._header()) is not None:
            kind = header[156:157]
            size = _number(header[124:136])
            if kind in (_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL):
                self._extend(extended, kind, self._content(size))
                continue
            self._begin(size if extended.size is None else extended.size)
            yield _member(header, kind, extended)
            self._skip()
            extended = _Extended()

    def read(self, most: int) -> bytes:
        """The next bytes of the member; nothing at its end."""
        data = self._stream.read(min(most, self._left))
        if not data and self._left:
            raise refuse("it breaks off in the middle of a file")
        self._left -= len(data)
        return data

    def _header(self) -> bytes | None:
        block = self._stream.read(_BLOCK)
        if not block or block == bytes(_BLOCK):
            return None
        if len(block) < _BLOCK:
            raise refuse("it breaks off in a header")
        if _number(block[148:156]) != sum(block[:148]) + 8 * 0x20 + sum(block[156:]):
            raise refuse("a header has a wrong checksum")
        return block

    def _begin(self, size: int) -> None:
        self._left = size
        self._padding = -size % _BLOCK

    def _skip(self) -> None:
        while self.read(64 * 1024):
            pass
        self._stream.read(self._padding)
        self._padding = 0

    def _content(self, size: int) -> bytes:
        if size > _LARGEST_HEADER:
            raise refuse(f"a header has {size:,} bytes")
        self._begin(size)
        data = b"".join(iter(lambda: self.read(64 * 1024), b""))
        self._skip()
        return data

    def _extend(self, extended: _Extended, kind: bytes, data: bytes) -> None:
        if kind == _LONG_NAME:
            extended.path = _text(data)
        elif kind == _LONG_LINK:
            extended.target = _text(data)
        elif kind == _PAX:
            records = dict(_pax_records(data))
            if any(key.startswith("GNU.sparse") for key in records):
                raise refuse("it has a sparse file")
            extended.path = records.get("path", extended.path)
            extended.target = records.get("linkpath", extended.target)
            if "size" in records:
                extended.size = _decimal(records["size"])


def _member(header: bytes, kind: bytes, extended: _Extended) -> ArchiveMember:
    prefix = _text(header[345:500]) if header[257:262] == b"ustar" and header[257:265] != b"ustar  \0" else ""
    name = _text(header[:100])
    path = extended.path or (f"{prefix}/{name}" if prefix else name)
    target = extended.target or _text(header[157:257])
    if kind == _FOLDER or (kind in _FILES and path.endswith("/")):
        return ArchiveMember(path, "folder")
    if kind in _FILES:
        return ArchiveMember(path, "file")
    if kind in (_LINK, _HARD_LINK):
        # A hard link names a member, so its target starts at the root of the archive.
        climbs = "../" * path.strip("/").count("/") if kind == _HARD_LINK and target[:1] != "/" else ""
        return ArchiveMember(path, "link", climbs + target)
    raise refuse(f"{shown_name(path)} is {_DEVICES.get(kind, 'of an unknown kind')}")


def _text(data: bytes) -> str:
    return data.split(b"\0", 1)[0].decode(errors="surrogateescape")


def _number(field: bytes) -> int:
    try:
        value = tarfile.nti(field)  # type: ignore[attr-defined]
    except tarfile.HeaderError as error:
        raise refuse("a header has no valid number") from error
    if value < 0:
        raise refuse("a header has a negative number")
    return int(value)


def _decimal(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise refuse("a header has no valid number")
    return int(text)


def _pax_records(data: bytes) -> Iterator[tuple[str, str]]:
    """Records are `LENGTH KEY=VALUE` and end with a newline; the length counts all of it."""
    place = 0
    while place < len(data) and data[place : place + 1] != b"\0":
        space = data.find(b" ", place, place + 20)
        length = _decimal(data[place:space].decode(errors="replace")) if space > 0 else 0
        record = data[place : place + length]
        key, equals, value = record[space + 1 - place : -1].partition(b"=")
        if length < 5 or len(record) < length or not equals or not record.endswith(b"\n"):
            raise refuse("a pax header is malformed")
        yield key.decode(errors="replace"), value.decode(errors="surrogateescape")
        place += length
