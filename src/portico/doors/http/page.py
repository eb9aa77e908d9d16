"""Built files of the chat page, and their cache headers.

The build writes them; nothing here makes or changes one. They hold no secret, so anybody who
reaches the server may load them.
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
# The bundler puts a hash of the content into a name: such a file never changes.
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
    ".woff2": "font/woff2",
}
_NOT_BUILT = b"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Portico</title>
<h1>The server runs, and its page is not built yet.</h1>
<p>Build it with <code>make page</code> in the folder of Portico's sources, then load this again.</p>
</html>
"""


class PageFile(msgspec.Struct, frozen=True):
    """One file, ready to be sent."""

    status: int
    body: bytes
    content_type: str
    headers: tuple[Header, ...]


class _Build(msgspec.Struct, frozen=True):
    """What the build says of itself."""

    build: str


class PageFolder:
    """The files of one folder. They are read when asked for, so a page that is built anew is there at once."""

    def __init__(self, folder: Path = BUILT_PAGE) -> None:
        self._folder = folder

    def build(self) -> str:
        """Names the page that is there: another one has another name. Empty if none is built."""
        try:
            return codecs.decode_json((self._folder / _BUILD).read_bytes(), _Build).build
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return ""

    def load(self, path: str) -> PageFile | None:
        """What stands at a path of the server, if anything does."""
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
            return None  # A name that no file can have.
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
