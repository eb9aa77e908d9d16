"""Downloads from registries over HTTP: bounded, with a deadline, through the configured proxy.

Used where the client of a registry cannot fetch an archive without running code of the package. Credentials are sent
to the host they belong to, and not along a redirect.
"""

import base64
import netrc
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, BinaryIO, TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import url2pathname

import msgspec

from portico.components.packages.errors import PackageRefused, RegistryFailed
from portico.domain.errors import StoreFailed
from portico.files.deadline import within_deadline

FETCH_SECONDS = 120.0
_SOCKET_SECONDS = 20.0
_CHUNK = 256 * 1024
_ABSENT = frozenset({404, 410})

T = TypeVar("T")


class HttpSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The way to a registry. `proxies` are by scheme; None means those of the environment."""

    environ: Mapping[str, str]
    proxies: Mapping[str, str] | None = None
    ca_file: str = ""
    seconds: float = FETCH_SECONDS
    logins: Mapping[str, tuple[str, str]] = {}
    """User and password by host."""


class HttpSource:
    """A registry's files, by address. `file:` addresses are read from the disk."""

    def __init__(self, settings: HttpSettings) -> None:
        self._settings = settings

    async def read(self, address: str, *, limit: int, accept: str = "*/*") -> tuple[bytes, str] | None:
        """A document and its content type; None if there is none. RegistryFailed if it does not come."""

        def work(stopped: threading.Event) -> tuple[bytes, str] | None:
            opened = self._open(address, accept)
            if opened is None:
                return None
            with opened[0] as stream:
                return b"".join(_chunks(stream, limit, self._settings.seconds, stopped)), opened[1]

        return await self._run(work, address)

    async def download(self, address: str, path: Path, *, limit: int) -> bool:
        """Whether there was such a file, which is then at the path."""

        def work(stopped: threading.Event) -> bool:
            opened = self._open(address, "*/*")
            if opened is None:
                return False
            with opened[0] as stream, path.open("xb") as file:
                for data in _chunks(stream, limit, self._settings.seconds, stopped):
                    file.write(data)
            return True

        return await self._run(work, address)

    async def _run(self, work: Callable[[threading.Event], T], address: str) -> T:
        stopped = threading.Event()
        shown = without_login(address)
        try:
            return await within_deadline(lambda: work(stopped), seconds=self._settings.seconds)
        except StoreFailed as error:
            raise RegistryFailed(
                f"{shown} did not answer within {self._settings.seconds:g} s.",
                suggestion="The registry is slow or cannot be reached. Try again later, or continue without it.",
            ) from error
        except (OSError, HTTPException, ValueError) as error:
            raise RegistryFailed(
                f"{shown} cannot be read: {_reason(error)}.",
                suggestion="Check the network and the registry in the client's settings, or continue without it.",
            ) from error
        finally:
            stopped.set()

    def _open(self, address: str, accept: str) -> tuple[BinaryIO, str] | None:
        parts = urlsplit(address)
        if parts.scheme == "file":
            try:
                return Path(url2pathname(parts.path)).open("rb"), "text/html"
            except FileNotFoundError:
                return None
        if parts.scheme not in ("http", "https"):
            raise ValueError(f"its address begins with {parts.scheme or 'no scheme'}")
        request = urllib.request.Request(
            without_login(address), headers={"Accept": accept, "User-Agent": "portico"}
        )
        if login := self._login(address):
            token = base64.b64encode(":".join(login).encode()).decode()
            request.add_unredirected_header("Authorization", f"Basic {token}")
        try:
            answer = self._opener().open(request, timeout=_SOCKET_SECONDS)
        except urllib.error.HTTPError as error:
            with error:
                if error.code in _ABSENT:
                    return None
            raise
        return answer, answer.headers.get("Content-Type", "")

    def _login(self, address: str) -> tuple[str, str] | None:
        parts = urlsplit(address)
        if parts.username:
            return unquote(parts.username), unquote(parts.password or "")
        host = parts.hostname or ""
        return self._settings.logins.get(host) or netrc_login(host, self._settings.environ)

    def _opener(self) -> urllib.request.OpenerDirector:
        settings = self._settings
        proxies = _environment_proxies(settings.environ) if settings.proxies is None else settings.proxies
        context = ssl.create_default_context(cafile=settings.ca_file or None)
        opener = urllib.request.OpenerDirector()
        for handler in (
            _Proxies(dict(proxies), settings.environ),
            urllib.request.HTTPHandler(),
            urllib.request.HTTPSHandler(context=context),
            _Redirects(),
            urllib.request.HTTPErrorProcessor(),
            urllib.request.HTTPDefaultErrorHandler(),
        ):
            opener.add_handler(handler)
        return opener


class _Proxies(urllib.request.ProxyHandler):
    """Proxies with the exceptions of the given environment, not of this process."""

    def __init__(self, proxies: dict[str, str], environ: Mapping[str, str]) -> None:
        super().__init__(proxies)
        self._direct = environ.get("no_proxy") or environ.get("NO_PROXY") or ""

    def proxy_open(self, req: urllib.request.Request, proxy: str, type: str) -> object:  # noqa: A002 - as in its base
        host = (req.host or "").partition(":")[0]
        names = [one.strip().lstrip(".") for one in self._direct.split(",") if one.strip()]
        if "*" in names or any(host == one or host.endswith(f".{one}") for one in names):
            return None
        return super().proxy_open(req, proxy, type)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Redirects to other HTTP addresses only, and never from encrypted to plain ones."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new not in ("http", "https") or (old == "https" and new == "http"):
            raise ValueError("it redirects to an address that is not encrypted, or no web address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _chunks(stream: BinaryIO, limit: int, seconds: float, stopped: threading.Event) -> Iterator[bytes]:
    end = time.monotonic() + seconds
    size = 0
    while data := stream.read(_CHUNK):
        size += len(data)
        if size > limit:
            raise PackageRefused(
                f"The registry sent more than {limit:,} bytes, which is the limit.",
                suggestion="Nothing of it was kept. Look for the sources elsewhere, or continue without them.",
            )
        if stopped.is_set() or time.monotonic() > end:
            raise TimeoutError("it is too slow")
        yield data


def without_login(address: str) -> str:
    """An address without the user and password in it."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def netrc_login(host: str, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """User and password for a host from the user's netrc, as pip and Maven's tools read it."""
    path = Path(environ.get("NETRC") or Path(environ.get("HOME") or Path.home()) / ".netrc")
    try:
        found = netrc.netrc(str(path)).authenticators(host) if path.is_file() else None
    except (OSError, netrc.NetrcParseError):
        return None
    return None if found is None else (found[0], found[2] or "")


def _environment_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for scheme in ("http", "https"):
        name = f"{scheme}_proxy"
        if proxy := environ.get(name) or environ.get(name.upper()) or environ.get("all_proxy"):
            found[scheme] = proxy
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"it answered {error.code} {error.reason}"
    return str(getattr(error, "reason", error)).rstrip(".")[:300] or type(error).__name__
