"""Who may call: the guard that every request meets before anything reads it.

A page of another site can make a browser send requests here, and a name of another site can be made
to mean this machine. So the Host must be ours, an Origin must be the very origin that was called,
and a browser's cookie counts only for calls that the page itself makes. Cookies do not know ports:
the one of another server on this machine comes along, and ours goes to it, which is why it is not
the token.
"""

import asyncio

from portico.doors.web.asgi import Request
from portico.doors.web.credentials import Credentials
from portico.doors.web.headers import Header
from portico.doors.web.refusals import Refused

MAX_BODY_BYTES = 16 * 1024 * 1024
SERVICE_PATH = "/portico.v1.AgentService/"

_HTTP_PORT = 80
_LONGEST_PATH = 1024
_BEARER: Header = (b"www-authenticate", b"Bearer")


class Guard:
    def __init__(self, credentials: Credentials, closing: asyncio.Event, max_body: int) -> None:
        self.max_body = max_body
        self._credentials = credentials
        self._closing = closing

    def admit(self, request: Request) -> None:
        """What holds for every request, whatever it asks for. Refused for one that must not be heard."""
        if len(request.path) > _LONGEST_PATH:
            raise Refused(400, "invalid_argument", f"A path may have {_LONGEST_PATH} characters at most.")
        if request.headers("content-length") and request.headers("transfer-encoding"):
            # Whoever stands between may take the one for the end of the request, and the server the other.
            told = "A request has a Content-Length or a Transfer-Encoding, not both."
            raise Refused(400, "invalid_argument", told, [(b"connection", b"close")])
        host = request.header("host")
        if host is None or host.lower() not in _own_hosts(request.port):
            raise Refused(403, "permission_denied", "The Host of this request is not this server.")
        origins = request.headers("origin")
        if origins and origins != [f"http://{host.lower()}"]:
            raise Refused(403, "permission_denied", "Pages of other origins may not call this server.")
        length = request.header("content-length") or "0"
        if not length.isdecimal() or int(length) > self.max_body:
            raise too_large(self.max_body)

    def require_program_or_page(self, request: Request) -> None:
        """The token, or the page's cookie on a call that the page itself makes."""
        if request.headers("authorization"):
            self.require_token(request)
        elif not any(self._credentials.is_cookie(value) for value in _cookies(request)):
            raise unauthenticated("This call needs the server's token.")
        elif not _from_own_page(request):
            raise Refused(403, "permission_denied", "The page's cookie counts for its own calls only.")
        if self._closing.is_set():
            raise Refused(503, "unavailable", "The server is stopping.")

    def require_text(self, request: Request) -> None:
        """The service reads headers as UTF-8."""
        if not request.is_text:
            raise Refused(400, "invalid_argument", "A header of this request is not UTF-8.")

    def require_token(self, request: Request) -> None:
        token = bearer(request)
        if token is None or not self._credentials.is_token(token):
            raise unauthenticated("This is not the server's token.")

    def let_page_in(self, request: Request) -> Header:
        """Take the token, or a pass, for the page's cookie: the header that sets it."""
        key = bearer(request)
        if key is None or not (self._credentials.is_token(key) or self._credentials.use_pass(key)):
            raise unauthenticated("This is not the server's token, or it has been used before.")
        name = cookie_name(request.port)
        settings = f"Path={SERVICE_PATH}; HttpOnly; SameSite=Strict"
        return b"set-cookie", f"{name}={self._credentials.cookie}; {settings}".encode()


def cookie_name(port: int) -> str:
    """Each server of this machine has its own: a browser keeps cookies by host, whatever the port."""
    return f"portico_{port}"


def bearer(request: Request) -> str | None:
    """What stands in the one Authorization header, if it is a bearer's."""
    scheme, _, value = (request.header("authorization") or "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def too_large(limit: int) -> Refused:
    return Refused(413, "resource_exhausted", f"A request may have {limit // (1 << 20)} MB at most.")


def unauthenticated(message: str) -> Refused:
    return Refused(401, "unauthenticated", message, [_BEARER])


def _own_hosts(port: int) -> set[str]:
    """What a client calls this server. The port that HTTP has anyway is left out, and may be said."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    said = {f"{name}:{port}" for name in names}
    return said | names if port == _HTTP_PORT else said


def _from_own_page(request: Request) -> bool:
    """Browsers say where a call comes from; old ones say so by the Origin alone, which `admit` has checked."""
    site = request.headers("sec-fetch-site")
    return site == ["same-origin"] if site else bool(request.headers("origin"))


def _cookies(request: Request) -> list[str]:
    name = cookie_name(request.port)
    found = []
    for header in request.headers("cookie"):
        for part in header.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                found.append(value)
    return found
