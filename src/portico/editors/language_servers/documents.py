"""Texts that a language server has been told, each with a version that grows with every change."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from portico.editors.language_servers.positions import TextLines


class OpenDocument:
    """One file that is open in a server. `on_disk` says whether its text is that of the disk."""

    def __init__(self, path: Path, language: str, text: str, *, on_disk: bool) -> None:
        self.path = path
        self.uri = path_to_uri(path)
        self.language = language
        self.version = 1
        self.on_disk = on_disk
        self.told_at = 0
        """Number of changes reported to the server before this version."""
        self.pushes_before = 0
        """Number of diagnostics that it had pushed by then."""
        self.diagnosed_version = 0
        """The version whose diagnostics are known, if the server tells no versions itself."""
        self.awaited_version = 0
        """The version whose first diagnostics were waited for, if the server answered nothing before them."""
        self._text = text
        self._lines: TextLines | None = None

    @property
    def text(self) -> str:
        return self._text

    @property
    def lines(self) -> TextLines:
        if self._lines is None:
            self._lines = TextLines(self._text)
        return self._lines

    def change(self, text: str) -> None:
        """Take a new text, under the next version."""
        self.version += 1
        self._text = text
        self._lines = None


class OpenDocuments:
    """The files that are open in one server, the one that was used last at the end."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_path: dict[Path, OpenDocument] = {}
        self._versions: dict[Path, int] = {}

    def __iter__(self) -> Iterator[OpenDocument]:
        return iter(list(self._by_path.values()))

    def __len__(self) -> int:
        return len(self._by_path)

    def __contains__(self, path: Path) -> bool:
        return path in self._by_path

    def get(self, path: Path) -> OpenDocument | None:
        document = self._by_path.pop(path, None)
        if document is not None:
            self._by_path[path] = document
        return document

    def add(self, document: OpenDocument) -> list[OpenDocument]:
        """Open a file; returns those to be closed for it. A file that is opened again continues its versions."""
        document.version = self._versions.get(document.path, 0) + 1
        self._by_path[document.path] = document
        surplus = list(self._by_path.values())[: max(0, len(self._by_path) - self._most)]
        return [self.remove(one.path) or one for one in surplus]

    def remove(self, path: Path) -> OpenDocument | None:
        document = self._by_path.pop(path, None)
        if document is not None:
            self._versions[path] = document.version
        return document


def path_to_uri(path: Path) -> str:
    return "file://" + quote(path.as_posix(), safe="/:@!$&'()*+,;=~-._") if path.is_absolute() else str(path)


def uri_to_path(uri: str) -> Path | None:
    """The file of a URI; None for one that is not a file of this machine."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    name = unquote(parts.path)
    if len(name) > 2 and name[0] == "/" and name[2] == ":":
        name = name[1:]  # A drive of Windows.
    return Path(name) if name and "\0" not in name else None
