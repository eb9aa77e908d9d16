"""Access control for every HTTP request: host, origin, token or cookie, and body size.

Other sites can make a browser send requests here, and can point their name at this machine (DNS
rebinding). So the Host must be ours, an Origin must be the origin that was called, and the cookie
counts only for calls of the page itself. Cookies ignore ports: a browser sends ours to every server
on this machine, so the cookie is not the token.
"""

import asyncio
from urllib.parse import parse_qs, urlsplit

import msgspec

from portico.domain import codecs
from portico.domain.people import THIS_USER, Caller
from portico.doors.http.asgi import HttpRequest, HttpResponse, Message, Receive, Scope
from portico.doors.http.credentials import Credentials
from portico.doors.http.headers import Header
from portico.doors.http.refusals import RequestRefused


class BoundedBody:
    """Limits the size of a request body. Beyond the limit the app gets a disconnect."""

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
CALLER_HEADER = "portico-caller"
"""Names the caller of a call that a node forwards, as JSON in ASCII."""
SERVICE_PATH = "/portico.v1.AgentService/"

_HTTP_PORT = 80
_DEVICE_SECONDS = 365 * 24 * 3600
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "Macintosh", "Linux")
_LONGEST_PATH = 1024
_BEARER: Header = (b"www-authenticate", b"Bearer")


class RequestGuard:
    """Guards a server. `public_url` is the address by which devices reach it through a proxy, if they do."""

    def __init__(
        self, credentials: Credentials, closing: asyncio.Event, max_body: int, public_url: str = ""
    ) -> None:
        self.max_body = max_body
        self._credentials = credentials
        self._closing = closing
        public = urlsplit(public_url)
        self._public_host = public.netloc.lower()
        self._public_origin = f"{public.scheme}://{self._public_host}"

    def admit(self, request: HttpRequest) -> None:
        """Checks for every request. Raises RequestRefused."""
        if len(request.path) > _LONGEST_PATH:
            raise RequestRefused(
                400, "invalid_argument", f"The path is longer than {_LONGEST_PATH} characters."
            )
        if request.headers("content-length") and request.headers("transfer-encoding"):
            # A proxy may use one and the server the other (request smuggling).
            message = "A request must not have both Content-Length and Transfer-Encoding."
            raise RequestRefused(400, "invalid_argument", message, [(b"connection", b"close")])
        host = request.header("host")
        if host is None or not (self._is_public(request) or host.lower() in _own_hosts(request.port)):
            raise RequestRefused(403, "permission_denied", "The Host header does not match this server.")
        origins = request.headers("origin")
        own = self._public_origin if self._is_public(request) else f"http://{host.lower()}"
        if origins and origins != [own]:
            raise RequestRefused(403, "permission_denied", "Requests from other origins are not allowed.")
        length = request.header("content-length") or "0"
        if not length.isdecimal() or int(length) > self.max_body:
            raise too_large(self.max_body)

    def require_program_or_page(self, request: HttpRequest) -> Caller:
        """Require the token, or a cookie on a call of the page itself. Returns the caller."""
        caller = THIS_USER
        if request.headers("authorization"):
            if self._credentials.is_node(bearer_token(request) or ""):
                caller = _forwarded_caller(request)
            else:
                self.require_token(request)
        else:
            caller = self._page_caller(request)
        if self._closing.is_set():
            raise RequestRefused(503, "unavailable", "The server is stopping.")
        return caller

    def _page_caller(self, request: HttpRequest) -> Caller:
        device = next(
            filter(None, map(self._credentials.device, _cookies(request, _device_cookie(request)))), None
        )
        is_page = any(map(self._credentials.is_cookie, _cookies(request, cookie_name(request.port))))
        if device is None and (not is_page or self._is_public(request)):
            raise unauthenticated("Authentication required: send the server's token as a bearer token.")
        if not _from_own_page(request):
            raise RequestRefused(
                403, "permission_denied", "The cookie is only valid for calls of the page itself."
            )
        # The user of this machine may have paired this browser too.
        return THIS_USER if is_page and not self._is_public(request) else device or THIS_USER

    def _is_public(self, request: HttpRequest) -> bool:
        """Whether a request comes by the public address."""
        return bool(self._public_host) and (request.header("host") or "").lower() == self._public_host

    def require_text(self, request: HttpRequest) -> None:
        """Require headers in UTF-8, as the service reads them."""
        if not request.is_text:
            raise RequestRefused(400, "invalid_argument", "Headers must be valid UTF-8.")

    def require_token(self, request: HttpRequest) -> None:
        token = bearer_token(request)
        if self._is_public(request):
            raise unauthenticated("The server's token is for its own machine. Pair this device: portico pair")
        if token is None or not self._credentials.is_token(token):
            raise unauthenticated("Invalid token.")

    def require_token_or_query(self, request: HttpRequest, scope: Scope) -> None:
        """Require the token, also as `tkn` in the query: editors connect to agent hosts like this."""
        if bearer_token(request) is not None:
            self.require_token(request)
            return
        given = parse_qs(scope["query_string"].decode("ascii", "replace")).get("tkn", [])
        if self._is_public(request) or len(given) != 1 or not self._credentials.is_token(given[0]):
            raise unauthenticated("Invalid token.")

    def issue_page_cookie(self, request: HttpRequest) -> Header:
        """Exchange the token, a pass or a pairing code for the page's cookie: the Set-Cookie header."""
        key = bearer_token(request) or ""
        own = not self._is_public(request)
        if not (own and (self._credentials.is_token(key) or self._credentials.use_pass(key))):
            return self._pair_device(request, key)
        name = cookie_name(request.port)
        settings = f"Path={SERVICE_PATH}; HttpOnly; SameSite=Strict"
        return b"set-cookie", f"{name}={self._credentials.cookie}; {settings}".encode()

    def _pair_device(self, request: HttpRequest, code: str) -> Header:
        token = self._credentials.pair(code, _device_name(request.header("user-agent") or ""))
        if token is None:
            raise unauthenticated("Invalid token, or a pass or code that has expired or was used before.")
        secure = "; Secure" if self._is_public(request) and self._public_origin.startswith("https:") else ""
        settings = f"Path={SERVICE_PATH}; HttpOnly; SameSite=Strict; Max-Age={_DEVICE_SECONDS}{secure}"
        return b"set-cookie", f"{_device_cookie(request)}={token}; {settings}".encode()


def _forwarded_caller(request: HttpRequest) -> Caller:
    """The caller whose call another node has forwarded."""
    try:
        return codecs.decode_json(request.header(CALLER_HEADER) or "{}", Caller)
    except msgspec.DecodeError as error:
        raise RequestRefused(400, "invalid_argument", f"{CALLER_HEADER} is not valid: {error}") from error


def _device_cookie(request: HttpRequest) -> str:
    return f"portico_device_{request.port}"


def _device_name(agent: str) -> str:
    """A short name for the browser that calls itself so."""
    found = next((name for name in _SYSTEMS if name in agent), "")
    return f"Browser on {found}" if found else "Browser"


def cookie_name(port: int) -> str:
    """The cookie's name contains the port, because browsers keep cookies by host only."""
    return f"portico_{port}"


def bearer_token(request: HttpRequest) -> str | None:
    """The bearer token, if there is exactly one Authorization header and it has one."""
    scheme, _, value = (request.header("authorization") or "").partition(" ")
    return value.strip() if scheme.lower() == "bearer" else None


def too_large(limit: int) -> RequestRefused:
    return RequestRefused(413, "resource_exhausted", f"The request is larger than {limit // (1 << 20)} MB.")


def unauthenticated(message: str) -> RequestRefused:
    return RequestRefused(401, "unauthenticated", message, [_BEARER])


def _own_hosts(port: int) -> set[str]:
    """Valid Host values. Port 80 is optional."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    said = {f"{name}:{port}" for name in names}
    return said | names if port == _HTTP_PORT else said


def _from_own_page(request: HttpRequest) -> bool:
    """Whether the browser says so by Sec-Fetch-Site, or, if it is old, by an Origin, which `admit` has checked."""
    site = request.headers("sec-fetch-site")
    return site == ["same-origin"] if site else bool(request.headers("origin"))


def _cookies(request: HttpRequest, name: str) -> list[str]:
    found = []
    for header in request.headers("cookie"):
        for part in header.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                found.append(value)
    return found
