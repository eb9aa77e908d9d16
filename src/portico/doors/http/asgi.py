"""Request and response of one HTTP call, as thin wrappers over ASGI.

Only the parts of ASGI that are used here.
"""

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote

import msgspec

from portico.doors.http.headers import Header, with_safe_headers

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_json = msgspec.json.Encoder()


def make_scope(version: str, method: bytes, target: bytes, headers: list[Header]) -> Scope:
    """The scope of a call; the caller adds the addresses. Method and target are ASCII."""
    raw_path, _, query = target.partition(b"?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": version,
        "scheme": "http",
        "method": method.decode("ascii"),
        "root_path": "",
        "path": unquote(raw_path.decode("ascii")),
        "raw_path": raw_path,
        "query_string": query,
        "headers": headers,
        "state": {},
    }


class HttpRequest:
    """A request, without its body."""

    def __init__(self, scope: Scope) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.port: int = scope["server"][1]
        self._headers: Iterable[tuple[bytes, bytes]] = scope["headers"]

    def headers(self, name: str) -> list[str]:
        """All values of a header."""
        wanted = name.encode()
        return [value.decode("latin-1") for key, value in self._headers if key == wanted]

    @property
    def is_text(self) -> bool:
        """Whether every header is valid UTF-8."""
        try:
            for name, value in self._headers:
                name.decode()
                value.decode()
        except UnicodeDecodeError:
            return False
        return True

    def header(self, name: str) -> str | None:
        """The value of a header that was sent exactly once."""
        found = self.headers(name)
        return found[0] if len(found) == 1 else None


class HttpResponse:
    """A response. Security headers are added to whatever is sent."""

    def __init__(self, send: Send) -> None:
        self.started = False
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message = {**message, "headers": with_safe_headers(message.get("headers", ()))}
        await self._send(message)

    async def whole(
        self, status: int, body: bytes = b"", *, content_type: str = "", headers: Iterable[Header] = ()
    ) -> None:
        """Send a complete response."""
        described = [(b"content-type", content_type.encode())] if content_type else []
        if status != 204:
            described.append((b"content-length", str(len(body)).encode()))
        await self(
            {"type": "http.response.start", "status": status, "headers": [*described, *headers]},
        )
        await self({"type": "http.response.body", "body": body, "more_body": False})

    async def json(self, status: int, value: object, headers: Iterable[Header] = ()) -> None:
        body = _json.encode(value)
        await self.whole(status, body, content_type="application/json", headers=headers)
