"""Token of a server, and the cookie, pass and proof derived from it.

| what    | who gets it                   | good for                                              |
|---------|-------------------------------|-------------------------------------------------------|
| token   | programs of this user         | every call                                            |
| cookie  | the page, in the browser      | calls from the page's own origin                      |
| pass    | the command line of a browser | one exchange for the cookie, within two minutes       |
| node token | other nodes of the team    | calls of the service                                  |
| pairing code | a device, by a QR code   | one exchange for a device cookie, within five minutes |
| device cookie | the page on that device | calls from the page's own origin, as its role allows  |
| proof   | clients that look for a server| nothing: it shows that the server knows the token     |

Each is a keyed hash under a label of its own, so none can stand in for another.
"""

import hmac
import secrets
import time
from collections.abc import Callable

from portico.api.health import keyed_hash, make_proof
from portico.config.devices import DeviceFile
from portico.domain.people import Caller

PASS_SECONDS = 120


def make_pass(token: str, *, now: float) -> str:
    """A pass for the browser's command line, which other users of this machine can read."""
    text = f"{int(now) + PASS_SECONDS}.{secrets.token_urlsafe(16)}"
    return f"{text}.{keyed_hash(token, 'pass', text)}"


class Credentials:
    """Checks tokens, cookies and passes. Used passes are remembered until they expire."""

    def __init__(
        self,
        token: str,
        now: Callable[[], float] = time.time,
        *,
        node_token: str | None = None,
        devices: DeviceFile | None = None,
    ) -> None:
        self.devices = devices
        self._token = token
        self._node_token = node_token
        self._now = now
        self._used: dict[str, float] = {}
        self.cookie = keyed_hash(token, "cookie", "page")

    def is_token(self, text: str) -> bool:
        return _equal(text, self._token)

    def is_node(self, text: str) -> bool:
        """Whether this is the token of other nodes of the team, which is good for calls of the service only."""
        return self._node_token is not None and _equal(text, self._node_token)

    def device(self, text: str) -> Caller | None:
        """The caller with this device cookie, unless its device was revoked."""
        return None if self.devices is None else self.devices.find(text)

    def pair(self, code: str, name: str) -> str | None:
        """Pair a device by a code that can be used once; its cookie, or None."""
        if self.devices is None or not code:
            return None
        return self.devices.pair(code, name=name, now_ms=int(self._now() * 1000))

    def is_cookie(self, text: str) -> bool:
        return _equal(text, self.cookie)

    def proof(self, challenge: str, pid: int) -> str:
        return make_proof(self._token, challenge, pid)

    def use_pass(self, text: str) -> bool:
        """Whether this is a valid pass. It can be used once."""
        content, _, mark = text.rpartition(".")
        if not _equal(mark, keyed_hash(self._token, "pass", content)):
            return False
        now, expires = self._now(), float(content.partition(".")[0])
        self._used = {used: until for used, until in self._used.items() if until > now}
        if expires <= now or content in self._used:
            return False
        self._used[content] = expires
        return True


def _equal(given: str, right: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(errors="surrogatepass"), right.encode())
