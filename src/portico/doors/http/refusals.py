"""Refused HTTP calls: status, code and message in the shape of Connect or gRPC errors.

gRPC clients get the code as a number and the message in a response that has only a head.
"""

from collections.abc import Iterable
from typing import Final, Literal
from urllib.parse import quote

import msgspec

from portico.doors.http.asgi import HttpRequest, HttpResponse
from portico.doors.http.headers import Header

Code = Literal[
    "internal",
    "invalid_argument",
    "not_found",
    "permission_denied",
    "resource_exhausted",
    "unauthenticated",
    "unavailable",
    "unimplemented",
]

_GRPC_STATUS: Final[dict[Code, int]] = {
    "internal": 13,
    "invalid_argument": 3,
    "not_found": 5,
    "permission_denied": 7,
    "resource_exhausted": 8,
    "unauthenticated": 16,
    "unavailable": 14,
    "unimplemented": 12,
}


class RefusalBody(msgspec.Struct, frozen=True):
    code: Code
    message: str


class RequestRefused(Exception):
    """A request that is refused."""

    def __init__(self, status: int, code: Code, message: str, headers: Iterable[Header] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.refusal = RefusalBody(code, message)
        self.headers = tuple(headers)

    async def tell(self, answer: HttpResponse, *, in_grpc: bool = False) -> None:
        if in_grpc:
            status = str(_GRPC_STATUS[self.refusal.code]).encode()
            message = quote(self.refusal.message, safe=" ").encode()
            headers = [(b"grpc-status", status), (b"grpc-message", message)]
            await answer.whole(200, content_type="application/grpc", headers=headers)
        else:
            await answer.json(self.status, self.refusal, self.headers)


def is_plain_grpc(request: HttpRequest) -> bool:
    """Whether a call is gRPC proper, not gRPC-Web."""
    content_type = request.header("content-type") or ""
    is_web = content_type.startswith("application/grpc-web")
    return content_type.startswith("application/grpc") and not is_web


def wrong_method(*allowed: str) -> RequestRefused:
    names = ", ".join(allowed)
    return RequestRefused(
        405, "unimplemented", f"Method not allowed. Allowed: {names}.", [(b"allow", names.encode())]
    )
