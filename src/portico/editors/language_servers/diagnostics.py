"""Diagnostics as a server pushed them: which version of a file they belong to, and whether they are current."""

import asyncio

import msgspec
from msgspec import Raw

from portico.domain import codecs
from portico.editors.language_servers.wire import LspDiagnostic, PublishedDiagnostics

MOST_PER_FILE = 2000
_MOST_FILES = 5000


class _Pushed(msgspec.Struct, frozen=True):
    version: int | None
    number: int
    """Number of notifications before this one."""
    items: list[Raw]


class PushedDiagnostics:
    """The last diagnostics of each file."""

    def __init__(self) -> None:
        self._by_uri: dict[str, _Pushed] = {}
        self._waiting: dict[str, asyncio.Event] = {}
        self.count = 0

    def take(self, published: PublishedDiagnostics) -> None:
        """Keep what was pushed. Diagnostics of an older version than those that are known are dropped."""
        self.count += 1
        known = self._by_uri.pop(published.uri, None)
        if (
            known is not None
            and known.version is not None
            and published.version is not None
            and published.version < known.version
        ):
            self._by_uri[published.uri] = known
            return
        items = published.diagnostics[:MOST_PER_FILE]
        self._by_uri[published.uri] = _Pushed(published.version, self.count, items)
        if len(self._by_uri) > _MOST_FILES:
            del self._by_uri[next(iter(self._by_uri))]
        if (waiting := self._waiting.get(published.uri)) is not None:
            waiting.set()

    def of_version(self, uri: str, version: int) -> list[Raw] | None:
        """Diagnostics of a version; None if they are not known, or if the server tells no versions."""
        known = self._by_uri.get(uri)
        return known.items if known is not None and known.version == version else None

    def unversioned(self, uri: str, *, after: int) -> list[Raw] | None:
        """Diagnostics without a version that were pushed after notification number `after`."""
        known = self._by_uri.get(uri)
        return known.items if known is not None and known.version is None and known.number > after else None

    def wake(self) -> None:
        """Have everything that waits look again."""
        for waiting in self._waiting.values():
            waiting.set()

    async def changed(self, uri: str) -> None:
        """Wait for the next diagnostics of a file, or a `wake`."""
        event = self._waiting.setdefault(uri, asyncio.Event())
        event.clear()
        await event.wait()


def read_diagnostics(items: list[Raw]) -> list[tuple[LspDiagnostic, Raw]]:
    """Diagnostics that can be read, each with its own bytes; others are left out."""
    read = []
    for item in items[:MOST_PER_FILE]:
        try:
            read.append((codecs.decode_json(item, LspDiagnostic), item))
        except msgspec.DecodeError:
            continue
    return read
