"""Built files of the chat page, and their cache headers.

The files contain no secrets, so everyone who reaches the server may load them.
"""

import re
import secrets
from pathlib import Path

import msgspec

from portico.domain import codecs
from portico.doors.http.headers import Header, page_policy

BUILT_PAGE = Path(__file__).parent / "page"

_INDEX = "index.html"
_BUILD = "build.json"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
# The bundler puts a hash of the content into the name, so the file never changes.
_HASHED = re.compile(r"-[A-Z2-7]{8}\.[a-z0-9]+$")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".ttf": "font/ttf",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_NOT_BUILT = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Portico</title>
<h1>The chat page is not built.</h1>
<p>Run <code>make page</code> in Portico's source folder and reload.</p>
</html>
"""


class PageFile(msgspec.Struct, frozen=True):
    """A file of the page, as a response."""

    status: int
    body: bytes
    content_type: str
    headers: tuple[Header, ...]


class _Build(msgspec.Struct, frozen=True):
    """Content of `build.json`."""

    build: str


class PageFolder:
    """Files of the built page, read on each request, so that a new build shows at once."""

    def __init__(self, folder: Path = BUILT_PAGE) -> None:
        self._folder = folder

    def build(self) -> str:
        """Name of the build; empty if the page is not built."""
        try:
            return codecs.decode_json((self._folder / _BUILD).read_bytes(), _Build).build
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return ""

    def load(self, path: str) -> PageFile | None:
        """The file at a path of the server, or None."""
        name = path.removeprefix("/") or _INDEX
        if name == _INDEX:
            return self._index()
        if not _NAME.fullmatch(name):
            return None
        try:
            file = (self._folder / name).resolve()
            if not file.is_relative_to(self._folder.resolve()) or not file.is_file():
                return None
        except OSError:
            return None  # not a valid file name
        lasting = b"public, max-age=31536000, immutable" if _HASHED.search(name) else b"no-cache"
        content_type = _TYPES.get(file.suffix, "application/octet-stream")
        return PageFile(200, file.read_bytes(), content_type, ((b"cache-control", lasting),))

    def _index(self) -> PageFile:
        try:
            template = (self._folder / _INDEX).read_bytes()
        except OSError:
            return PageFile(503, _NOT_BUILT, _TYPES[".html"], ())
        nonce = secrets.token_urlsafe(16)
        body = template.replace(b"{{nonce}}", nonce.encode()).replace(b"{{build}}", self.build().encode())
        return PageFile(200, body, _TYPES[".html"], (page_policy(nonce),))
