"""Fetches one web page: no cookies, no redirect to another host, limited in size and time."""

import http.client
import socket
import ssl
import time
from collections.abc import Mapping
from urllib.parse import urljoin

import msgspec

from portico import __version__
from portico.porter.tools.web.address import AddressRefused, WebAddress, parse_address, resolve
from portico.processes.tasks import run_in_thread

LARGEST = 2 * 1024 * 1024
SECONDS = 30.0
_CONNECT_SECONDS = 10.0
_REDIRECTS = 5
_CHUNK = 64 * 1024
_MOVED = (301, 302, 303, 307, 308)


class WebPage(msgspec.Struct, frozen=True, kw_only=True):
    """A fetched page; `cut` if it was longer than LARGEST bytes."""

    url: str
    status: int
    media_type: str
    charset: str | None
    body: bytes
    cut: bool = False


class RedirectRefused(Exception):
    """The page redirects to another host, which needs permission of its own."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


async def fetch_page(target: WebAddress, environ: Mapping[str, str], *, seconds: float = SECONDS) -> WebPage:
    """Fetch a page. Raises AddressRefused, RedirectRefused or OSError."""
    request = _PageRequest(environ, time.monotonic() + seconds)
    return await run_in_thread(lambda: request.run(target), request.abandon)


class _PageRequest:
    """The blocking part, run in a thread."""

    def __init__(self, environ: Mapping[str, str], deadline: float) -> None:
        self._environ = environ
        self._deadline = deadline
        self._abandoned = False
        self._socket: socket.socket | None = None

    def abandon(self) -> None:
        """End the request at once, from another thread."""
        self._abandoned = True
        if (connected := self._socket) is not None:
            try:
                connected.shutdown(socket.SHUT_RDWR)
            except OSError:
                return

    def run(self, target: WebAddress) -> WebPage:
        origin = (target.scheme, target.host, target.port)
        for _ in range(_REDIRECTS + 1):
            answer = self._get(target)
            if isinstance(answer, WebPage):
                return answer
            target = parse_address(urljoin(target.url, answer))
            secured = (target.scheme, target.host) == ("https", origin[1]) and target.port == 443
            if (target.scheme, target.host, target.port) != origin and not secured:
                raise RedirectRefused(target.url)
        raise AddressRefused(f"The page redirects more than {_REDIRECTS} times.")

    def _get(self, target: WebAddress) -> WebPage | str:
        """Return the page, or the URL it redirects to."""
        connection = self._connect(target)
        try:
            connection.request(
                "GET",
                target.path,
                headers={
                    "Host": target.origin,
                    "User-Agent": f"portico/{__version__}",
                    "Accept": "text/html, text/*, application/json, application/xml;q=0.9, */*;q=0.1",
                    "Accept-Encoding": "identity",
                    "Connection": "close",
                },
            )
            response = connection.getresponse()
            if response.status in _MOVED and (moved := response.getheader("Location")):
                return moved
            body = self._body(response)
        except http.client.HTTPException as error:
            raise OSError(f"the answer is not HTTP ({type(error).__name__})") from error
        finally:
            self._socket = None
            connection.close()
        return WebPage(
            url=target.url,
            status=response.status,
            media_type=response.headers.get_content_type(),
            charset=response.headers.get_content_charset(),
            body=body[:LARGEST],
            cut=len(body) > LARGEST,
        )

    def _connect(self, target: WebAddress) -> http.client.HTTPConnection:
        addresses = resolve(target, self._environ)
        failure: OSError | None = None
        for address in addresses:
            try:
                connected = socket.create_connection(
                    (address, target.port), min(_CONNECT_SECONDS, self._left())
                )
                break
            except OSError as error:
                failure = error
        else:
            raise failure or OSError("the host has no address")
        self._socket = connected
        try:
            if target.scheme == "https":
                context = ssl.create_default_context()
                connected = self._socket = context.wrap_socket(connected, server_hostname=target.host)
        except OSError:
            connected.close()
            raise
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.sock = connected
        return connection

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        body = bytearray()
        while len(body) <= LARGEST:
            if self._socket is not None:
                self._socket.settimeout(self._left())
            if not (data := response.read1(_CHUNK)):
                break
            body += data
        return bytes(body)

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0 or self._abandoned:
            raise TimeoutError("the page took too long")
        return left
