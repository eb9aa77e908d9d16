"""The head of an HTTP/2 call in the words of ASGI. Its authority is what other versions call the Host."""

from urllib.parse import unquote

from portico.doors.web.asgi import Scope
from portico.doors.web.headers import Header

Address = tuple[str, int | None] | None


def read_head(headers: list[Header], client: Address, server: Address) -> Scope | None:
    """The scope of a call; None if its head makes no sense. The library has checked what HTTP/2 demands."""
    said = {name: value for name, value in headers if name.startswith(b":")}
    plain = [(name, value) for name, value in headers if not name.startswith(b":")]
    if b":authority" in said:
        others = (header for header in plain if header[0] != b"host")
        plain = [(b"host", said[b":authority"]), *others]
    target, method = said.get(b":path", b""), said.get(b":method", b"")
    if not target.isascii() or not target.startswith((b"/", b"*")) or not method.isascii():
        return None
    raw_path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "2",
        "server": server,
        "client": client,
        "scheme": "http",
        "method": method.decode("ascii"),
        "root_path": "",
        "path": unquote(raw_path.decode("ascii")),
        "raw_path": raw_path,
        "query_string": query,
        "headers": plain,
        "state": {},
        "extensions": {"http.response.trailers": {}},
    }
