"""Adapter for gRPC-Web in Base64 (`application/grpc-web-text`), which Google's browser client uses.

Wraps a service that speaks binary gRPC-Web. Each part of a response is encoded and sent on its own, so a
part may end with padding; requests may consist of such parts too.
"""

import binascii
from base64 import b64encode

from portico.doors.http.asgi import HttpRequest, Message, Receive, Scope, Send

_TEXT, _BYTES = b"application/grpc-web-text", b"application/grpc-web"
_GROUP = 4


def is_grpc_web_text(request: HttpRequest) -> bool:
    return (request.header("content-type") or "").startswith(_TEXT.decode())


class GrpcWebTextCall:
    """One call. The service gets its `scope`, `receive` and `send`."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = {
            **scope,
            "headers": [_in_bytes(*header) for header in _without_length(scope["headers"])],
        }
        self._receive = receive
        self._send = send
        self._rest = b""

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] != "http.request":
            return message
        more = message.get("more_body", False)
        text = self._rest + b"".join(message.get("body", b"").split())
        end = len(text) - len(text) % _GROUP if more else len(text)
        self._rest = text[end:]
        return {**message, "body": _decoded(text[:end])}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [_in_text(*header) for header in _without_length(message.get("headers", ()))]
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            message = {**message, "body": b64encode(message.get("body", b""))}
        await self._send(message)


def _decoded(text: bytes) -> bytes:
    """Decode one or more padded parts. Invalid Base64 is passed on, and the service rejects it."""
    try:
        if b"=" not in text[: -_GROUP + 2]:
            return binascii.a2b_base64(text, strict_mode=bool(text))
        groups = (text[start : start + _GROUP] for start in range(0, len(text), _GROUP))
        return b"".join(binascii.a2b_base64(group, strict_mode=True) for group in groups)
    except binascii.Error:
        return text


def _without_length(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() != b"content-length"]


def _in_bytes(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    return name, value.replace(_TEXT, _BYTES, 1) if name in (b"content-type", b"accept") else value


def _in_text(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    is_type = name.lower() == b"content-type" and value.startswith(_BYTES)
    return name, _TEXT + value.removeprefix(_BYTES) if is_type else value
