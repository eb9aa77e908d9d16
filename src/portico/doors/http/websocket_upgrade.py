"""Handshake of WebSocket connections on the server: a call of HTTP/1.1 that becomes a socket."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from portico.doors.http.asgi import HttpRequest, Scope
from portico.doors.http.headers import Header
from portico.doors.http.refusals import RequestRefused

if TYPE_CHECKING:
    from portico.rpc.websocket import WebSocket

Upgrade = Callable[[Iterable[Header]], "WebSocket"]

_UPGRADE = "portico.upgrade"
_KEY_LENGTH = 24


def offer_upgrade(scope: Scope, upgrade: Upgrade) -> None:
    """Let the app turn a call into a socket."""
    scope[_UPGRADE] = upgrade


def wants_websocket(request: HttpRequest) -> bool:
    return (request.header("upgrade") or "").lower() == "websocket"


def accept_websocket(request: HttpRequest, scope: Scope, headers: Iterable[Header]) -> "WebSocket":
    """Answer the handshake. RequestRefused if it is not a valid one."""
    # Only those who use it pay for the library.
    from portico.rpc.websocket import accept_key

    upgrade: Upgrade | None = scope.get(_UPGRADE)
    key = request.header("sec-websocket-key") or ""
    version = request.header("sec-websocket-version")
    if upgrade is None or request.method != "GET" or len(key) != _KEY_LENGTH:
        raise RequestRefused(400, "invalid_argument", "This is not a valid WebSocket handshake.")
    if version != "13":
        raise RequestRefused(
            426, "invalid_argument", "WebSocket version 13 is required.", [(b"sec-websocket-version", b"13")]
        )
    accepted = [
        (b"upgrade", b"websocket"),
        (b"connection", b"Upgrade"),
        (b"sec-websocket-accept", accept_key(key).encode()),
    ]
    return upgrade([*accepted, *headers])
