"""Limits on connections, calls and streams, and which connection is dropped when one is reached.

| who                                     | at most                | when there are more                     |
|-----------------------------------------|------------------------|-----------------------------------------|
| connections without a recognised call   | `most_strangers`        | the oldest idle one is dropped          |
| the calls of all of these               | `Room.most_calls`      | the oldest connection is dropped        |
| connections that are recognised         | `Room.most_known`      | the oldest idle one is dropped          |
| the calls of all of these               | `Room.most_calls`      | a call is refused                       |
| streams                                 | `MOST_STREAMS`         | a stream is refused, other calls are not|

A connection is recognised by its first call with the token or the page's cookie; it has `STRANGER_SECONDS` for it.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Protocol

from portico.doors.http.asgi import Scope
from portico.doors.http.refusals import RequestRefused

STRANGER_SECONDS = 30.0
MOST_STREAMS = 384

_RECOGNISE = "portico.recognise"


class AdmissionPeer(Protocol):
    """A connection, as admission control sees it."""

    @property
    def calls(self) -> int:
        """Number of calls in progress."""
        ...

    def drop(self) -> None:
        """Abort the connection."""
        ...


class AdmissionControl:
    def __init__(self, *, most_strangers: int = 64, most_known: int = 512, most_calls: int = 1024) -> None:
        self.most_strangers = most_strangers
        self.most_known = most_known
        self.most_calls = most_calls
        # In the order of arrival, or of last use.
        self._strangers: dict[AdmissionPeer, None] = {}
        self._known: dict[AdmissionPeer, None] = {}

    def enter(self, peer: AdmissionPeer) -> None:
        """Admit a new connection as a stranger."""
        if len(self._strangers) >= self.most_strangers:
            self._drop(_oldest_idle(self._strangers) or next(iter(self._strangers)))
        self._strangers[peer] = None

    def succeed(self, former: AdmissionPeer, peer: AdmissionPeer) -> None:
        """Replace a connection by the one that has taken it over."""
        for peers in (self._strangers, self._known):
            if former in peers:
                del peers[former]
                peers[peer] = None

    def recognise(self, peer: AdmissionPeer) -> None:
        """Mark a connection as authenticated. Raises RequestRefused if all places are taken by busy ones."""
        if peer not in self._known and len(self._known) >= self.most_known:
            if (idle := _oldest_idle(self._known)) is None:
                raise RequestRefused(
                    503, "unavailable", "Too many connections are busy. Try again in a moment."
                )
            self._drop(idle)
        self._strangers.pop(peer, None)
        self._known.pop(peer, None)
        self._known[peer] = None

    def knows(self, peer: AdmissionPeer) -> bool:
        return peer in self._known

    def has_room_for_call(self, peer: AdmissionPeer) -> bool:
        """Whether a connection may start one more call. Older strangers are dropped to make room."""
        if peer in self._known:
            return _calls(self._known) < self.most_calls
        while _calls(self._strangers) >= self.most_calls:
            oldest = next(iter(self._strangers))
            if oldest is peer:
                return False
            self._drop(oldest)
        return True

    def leave(self, peer: AdmissionPeer) -> None:
        self._strangers.pop(peer, None)
        self._known.pop(peer, None)

    def _drop(self, peer: AdmissionPeer) -> None:
        self.leave(peer)
        peer.drop()


class StreamLimit:
    """Limit on open streams, so that unary calls always find room."""

    def __init__(self, paths: Collection[str], most: int = MOST_STREAMS) -> None:
        self._paths = frozenset(paths)
        self._most = most
        self._open = 0

    @contextmanager
    def counted(self, path: str) -> Iterator[None]:
        """Count a call if it is a stream. Raises RequestRefused when the limit is reached."""
        if path not in self._paths:
            yield
            return
        if self._open >= self._most:
            raise RequestRefused(
                429, "resource_exhausted", f"{self._most} streams are open already. Close one and try again."
            )
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


def offer_recognition(scope: Scope, recognise: Callable[[], None]) -> None:
    """Let the app report that the client has authenticated."""
    scope[_RECOGNISE] = recognise


def recognise_caller(scope: Scope) -> None:
    """Report that the client has authenticated. Raises RequestRefused if there is no room for it."""
    if (recognise := scope.get(_RECOGNISE)) is not None:
        recognise()


def _oldest_idle(peers: dict[AdmissionPeer, None]) -> AdmissionPeer | None:
    return next((peer for peer in peers if not peer.calls), None)


def _calls(peers: dict[AdmissionPeer, None]) -> int:
    return sum(peer.calls for peer in peers)
