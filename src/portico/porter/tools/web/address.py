"""Parses web addresses and refuses private ones, except hosts that the person allowed.

Names are resolved once, here, and the connection goes to the address that was looked at: a name that changes
its mind in between changes nothing.
"""

import ipaddress
import socket
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

ALLOWED_VARIABLE = "PORTICO_FETCH_ALLOW"
_PORTS = {"http": 80, "https": 443}
# Addresses of the older protocol inside of the newer one: what counts is where they lead.
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """An address is not fetched from, with the reason for whoever asked for it."""


class WebAddress(NamedTuple):
    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> str:
        """What stands in a Host header, and what a person recognises."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.origin}{self.path}"


def parse_address(url: str) -> WebAddress:
    """Where an address leads. Refused when it is not one of the web."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise AddressRefused(f"{url[:200]!r} is not an address: {error}.") from error
    if parts.scheme not in _PORTS:
        raise AddressRefused("Only addresses that begin with http:// or https:// can be fetched.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("An address with a name or password in it is not fetched.")
    host = _host(parts)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii() or any(character <= " " for character in path):
        raise AddressRefused("The address holds characters that have to be written as %XX.")
    return WebAddress(parts.scheme, host, port or _PORTS[parts.scheme], path)


def _host(parts: SplitResult) -> str:
    try:
        host = (
            (parts.hostname or "").rstrip(".").encode("idna").decode()
            if ":" not in (parts.hostname or "")
            else ""
        )
    except UnicodeError as error:
        raise AddressRefused("The name of the host is not one that can exist.") from error
    host = host or (parts.hostname or "")
    if not host or "%" in host:
        raise AddressRefused("The address names no host.")
    return host


def resolve(target: WebAddress, environ: Mapping[str, str]) -> list[str]:
    """The addresses of a host, each allowed. Blocks. Refused if one of them is not meant for everybody."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"There is no host {target.host}.") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not _is_named(target, environ) and not all(map(is_public, addresses)):
        raise AddressRefused(
            f"{target.origin} is a private address and is not fetched from. "
            f"The person can allow it by naming it in {ALLOWED_VARIABLE}."
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
