"""Security headers of every response, and the content security policy of the page."""

from collections.abc import Iterable

Header = tuple[bytes, bytes]

_SAFE: tuple[Header, ...] = (
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def with_safe_headers(headers: Iterable[Header]) -> list[Header]:
    """The headers, with the default of each security header that is missing."""
    given = list(headers)
    names = {name.lower() for name, _ in given}
    return [*given, *((name, value) for name, value in _SAFE if name not in names)]


def page_policy(nonce: str) -> Header:
    """Content security policy of the page: it loads its own files only."""
    rules = (
        "default-src 'none'",
        f"script-src 'nonce-{nonce}' 'self'",
        f"style-src 'nonce-{nonce}' 'self'",
        "img-src 'self' data: blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return b"content-security-policy", "; ".join(rules).encode()
