"""Access control for every HTTP request: host, origin, token or cookie, and body size.

A page of another site can make a browser send requests here, and a name of another site can be made
to mean this machine. So the Host must be ours, an Origin must be the very origin that was called,
and a browser's cookie counts only for calls that the page itself makes. Cookies do not know ports:
the one of another server on this machine comes along, and ours goes to it, which is why it is not
the token.
"""

import asyncio

from portico.doors.http.asgi import HttpRequest, HttpResponse, Message, Receive
from portico.doors.http.credentials import Credentials
from portico.doors.http.headers import Header
from portico.doors.http.refusals import RequestRefused


class BoundedBody:
    """Stands between a server and an app. Beyond the limit the app is told that its caller has left."""

    def __init__(self, receive: Receive, answer: HttpResponse, limit: int, *, in_grpc: bool) -> None:
        self._receive = receive
        self._answer = answer
        self._in_grpc = in_grpc
        self._limit = self._left = limit
        self._refused = False

    async def receive(self) -> Message:
        if self._refused:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left >= 0:
            return message
        self._refused = True
        if not self._answer.started:
            await too_large(self._limit).tell(self._answer, in_grpc=self._in_grpc)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if not self._refused:
            await self._answer(message)


MAX_BODY_BYTES = 16 * 1024 * 1024
SERVICE_PATH = "/portico.v1.AgentService/"

_HTTP_PORT = 80
_LONGEST_PATH = 1024
_BEARER: Header = (b"www-authenticate", b"Bearer")


class RequestGuard:
    def __init__(self, credentials: Credentials, closing: asyncio.Event, max_body: int) -> None:
        self.max_body = max_body
        self._credentials = credentials
        self._closing = closing

    def admit(self, request: HttpRequest) -> None:
        """What holds for every request, whatever it asks for. Refused for one that must not be heard."""
        if len(request.path) > _LONGEST_PATH:
            raise RequestRefused(
                400, "invalid_argument", f"A path may have {_LONGEST_PATH} characters at most."
            )
        if request.headers("content-length") and request.headers("transfer-encoding"):
            # Whoever stands between may take the one for the end of the request, and the server the other.
            told = "A request has a Content-Length or a Transfer-Encoding, not both."
            raise RequestRefused(400, "invalid_argument", told, [(b"connection", b"close")])
        host = request.header("host")
        if host is None or host.lower() not in _own_hosts(request.port):
            raise RequestRefused(403, "permission_denied", "The Host of this request is not this server.")
        origins = request.headers("origin")
        if origins and origins != [f"http://{host.lower()}"]:
            raise RequestRefused(403, "permission_denied", "Pages of other origins may not call this server.")
        length = request.header("content-length") or "0"
        if not length.isdecimal() or int(length) > self.max_body:
            raise too_large(self.max_body)

    def require_program_or_page(self, request: HttpRequest) -> None:
        """The token, or the page's cookie on a call that the page itself makes."""
        if request.headers("authorization"):
            self.require_token(request)
        elif not any(self._credentials.is_cookie(value) for value in _cookies(request)):
            raise unauthenticated("This call needs the server's token.")
        elif not _from_own_page(request):
            raise RequestRefused(403, "permission_denied", "The page's cookie counts for its own calls only.")
        if self._closing.is_set():
            raise RequestRefused(503, "unavailable", "The server is stopping.")

    def require_text(self, request: HttpRequest) -> None:
        """The service reads headers as UTF-8."""
        if not request.is_text:
            raise RequestRefused(400, "invalid_argument", "A header of this request is not UTF-8.")

    def require_token(self, request: HttpRequest) -> None:
        token = bearer_token(request)
        if token is None or not self._credentials.is_token(token):
            raise unauthenticated("This is not the server's token.")

    def issue_page_cookie(self, request: HttpRequest) -> Header:
        """Take the token, or a pass, for the page's cookie: the header that sets it."""
        key = bearer_token(request)
        if key is None or not (self._credentials.is_token(key) or self._credentials.use_pass(key)):
            raise unauthenticated("This is not the server's token, or it has been used before.")
        name = cookie_name(request.port)
        settings = f"Path={SERVICE_PATH}; HttpOnly; SameSite=Strict"
        return b"set-cookie", f"{name}={self._credentials.cookie}; {settings}".encode()


def cookie_name(port: int) -> str:
    """Each server of this machine has its own: a browser keeps cookies by host, whatever the port."""
    return f"portico_{port}"


def bearer_token(request: HttpRequest) -> str | None:
    """What stands in the one Authorization header, if it is a bearer's."""
    scheme, _, value = (request.header("authorization") or "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def too_large(limit: int) -> RequestRefused:
    return RequestRefused(413, "resource_exhausted", f"A request may have {limit // (1 << 20)} MB at most.")


def unauthenticated(message: str) -> RequestRefused:
    return RequestRefused(401, "unauthenticated", message, [_BEARER])


def _own_hosts(port: int) -> set[str]:
    """What a client calls this server. The port that HTTP has anyway is left out, and may be said."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    said = {f"{name}:{port}" for name in names}
    return said | names if port == _HTTP_PORT else said


def _from_own_page(request: HttpRequest) -> bool:
    """Browsers say where a call comes from; old ones say so by the Origin alone, which `admit` has checked."""
    site = request.headers("sec-fetch-site")
    return site == ["same-origin"] if site else bool(request.headers("origin"))


def _cookies(request: HttpRequest) -> list[str]:
    name = cookie_name(request.port)
    found = []
    for header in request.headers("cookie"):
        for part in header.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                found.append(value)
    return found
