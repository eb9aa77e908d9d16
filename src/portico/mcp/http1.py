"""The part of HTTP/1.1 that a loopback MCP endpoint needs: one bounded request per connection.

The length of a body is given in the head. A response ends after its length or, if it is a stream of events, with
the connection.
"""

import asyncio
import re
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from portico.rpc.framing import MAX_LINE

HEAD_LIMIT = 16 * 1024
BODY_LIMIT = MAX_LINE

JSON = "application/json"

_REQUEST_LINE = re.compile(r"([A-Z]{1,16}) (/[\x21-\x7e]*) HTTP/1\.1")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\x21-\x7e\x80-\xff][ \t]*)*)")
_LENGTH = re.compile(r"[0-9]{1,10}")


class HttpHead(msgspec.Struct, frozen=True):
    """A request up to its body. The names of the headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]


class HttpRefusal(Exception):
    """The request is answered with this status and not handled."""

    def __init__(self, status: HTTPStatus, why: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.headers = headers or {}


async def read_head(reader: asyncio.StreamReader) -> HttpHead:
    """Read a head. HttpRefusal if it is malformed, IncompleteReadError if it is cut off.

    The reader's own limit must be HEAD_LIMIT.
    """
    try:
        read = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise HttpRefusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too long") from error
    first, *lines = read[:-4].decode("latin-1").split("\r\n")
    if (asked := _REQUEST_LINE.fullmatch(first)) is None:
        raise HttpRefusal(HTTPStatus.BAD_REQUEST, "this is not a request of HTTP/1.1")
    return HttpHead(asked[1], asked[2], _headers(lines))


async def read_body(reader: asyncio.StreamReader, head: HttpHead) -> bytes:
    """Likewise."""
    if "transfer-encoding" in head.headers:
        raise HttpRefusal(HTTPStatus.LENGTH_REQUIRED, "the body must say its length")
    stated = head.headers.get("content-length", "0")
    if _LENGTH.fullmatch(stated) is None:
        raise HttpRefusal(HTTPStatus.BAD_REQUEST, "the length of the body is not a number")
    if int(stated) > BODY_LIMIT:
        raise HttpRefusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is longer than {BODY_LIMIT} bytes")
    return await reader.readexactly(int(stated))


def head(status: HTTPStatus, headers: Mapping[str, str]) -> bytes:
    """The first part of an answer, up to its body."""
    fields = {"Cache-Control": "no-store", **headers, "Connection": "close"}
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {fields[name]}" for name in fields)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(status: HTTPStatus, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """A whole answer."""
    return head(status, {**headers, "Content-Length": str(len(body))}) + body


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        if (field := _FIELD.fullmatch(line)) is None:
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, "a header is malformed")
        name, value = field[1].lower(), field[2].rstrip(" \t")
        if name in headers and name not in ("accept", "cookie"):
            raise HttpRefusal(HTTPStatus.BAD_REQUEST, f"there is more than one {name}")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
