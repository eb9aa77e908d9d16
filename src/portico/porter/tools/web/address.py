"""Parses web addresses and refuses private ones, except hosts that the user allowed.

Names are resolved once, here, and the connection goes to the address that was checked, which prevents DNS rebinding.
"""

import ipaddress
import socket
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

ALLOWED_VARIABLE = "PORTICO_FETCH_ALLOW"
_PORTS = {"http": 80, "https": 443}
# IPv4 addresses embedded in IPv6: the embedded address counts.
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """An address is refused; the message is for the model."""


class WebAddress(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """The host and port, as in a Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.origin}{self.path}"


def parse_address(url: str) -> WebAddress:
    """Parse a URL. Raises AddressRefused unless it is a web address."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise AddressRefused(f"{url[:200]!r} is not a URL: {error}.") from error
    if parts.scheme not in _PORTS:
        raise AddressRefused("Only URLs that begin with http:// or https:// can be fetched.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("A URL with a user name or password is not fetched.")
    host = _host(parts)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(character <= " " for character in path):
        raise AddressRefused("The URL contains characters that must be written as %XX.")
    return WebAddress(parts.scheme, host, port or _PORTS[parts.scheme], path)


def _host(parts: SplitResult) -> str:
    try:
        host = (
            (parts.hostname or "").rstrip(".").encode("idna").decode()
            if ":" not in (parts.hostname or "")
            else ""
        )
    except UnicodeError as error:
        raise AddressRefused("The host name is invalid.") from error
    host = host or (parts.hostname or "")
    if not host or "%" in host:
        raise AddressRefused("The URL has no host.")
    return host


def resolve(target: WebAddress, environ: Mapping[str, str]) -> list[str]:
    """Resolve a host. Blocks. Raises AddressRefused if one of its addresses is private."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"Unknown host {target.host}.") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not _is_named(target, environ) and not all(map(is_public, addresses)):
        raise AddressRefused(
            f"{target.origin} is a private address and is refused. "
            f"The user can allow it in the environment variable {ALLOWED_VARIABLE}."
        )
    return addresses


def is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour
        if inner is None and found in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


def _is_named(target: WebAddress, environ: Mapping[str, str]) -> bool:
    named = {name.strip().lower() for name in environ.get(ALLOWED_VARIABLE, "").split(",")}
    return bool(named & {target.host.lower(), target.origin.lower(), f"{target.host.lower()}:{target.port}"})
