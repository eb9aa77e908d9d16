"""Reader of git's index file, for what a git process would take longer to tell."""

import hashlib
from pathlib import Path

_CHECKSUM = 20
_VERSION_2 = b"DIRC\x00\x00\x00\x02"
_BEFORE_NAME = 62
"""Bytes of an entry before its name: stat data, SHA-1 and flags."""


class IndexFile:
    """An index file as it was when it was read. An index that does not exist holds nothing."""

    def __init__(self, path: Path) -> None:
        try:
            self._data = path.read_bytes()
        except FileNotFoundError:
            self._data = b""

    @property
    def is_empty(self) -> bool:
        return self._count == 0

    @property
    def _count(self) -> int:
        return int.from_bytes(self._data[8:12], "big")

    @property
    def checksum(self) -> str:
        """Changes with the content."""
        return self._data[-_CHECKSUM:].hex() or "none"

    def names(self) -> set[bytes] | None:
        """Paths of all entries; None for an index in another format than version 2 with SHA-1."""
        data = self._data
        if not data:
            return set()
        if not data.startswith(_VERSION_2) or hashlib.sha1(data[:-_CHECKSUM]).digest() != data[-_CHECKSUM:]:
            return None
        names = set()
        at = 12
        for _ in range(self._count):
            end = data.index(b"\0", at + _BEFORE_NAME)
            names.add(data[at + _BEFORE_NAME : end])
            at += (end - at + 8) & ~7  # One to eight NULs fill an entry up.
        return names
