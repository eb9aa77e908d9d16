"""State that the cases of one run share: a deadline, and the connections with the program under test."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec import UnsetType

from portico.conformance.case import Blocked, Violation
from portico.conformance.dialogue import Dialogue, RecordedAnswer, RecordedFrame
from portico.domain import codecs


class Deadline:
    """The time that a case has. The start of a program does not count; it has a limit of its own."""

    def __init__(self, seconds: float, start_seconds: float) -> None:
        self._seconds = seconds
        self._start_seconds = start_seconds
        self._timeout: asyncio.Timeout | None = None

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Limit what is inside. TimeoutError when it takes too long."""
        async with asyncio.timeout(self._seconds) as self._timeout:
            yield

    @contextmanager
    def starting(self) -> Iterator[None]:
        """While a program starts, that has its own limit; afterwards the time begins anew."""
        self._allow(self._start_seconds)
        yield
        self._allow(self._seconds)

    def _allow(self, seconds: float) -> None:
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)


class TrialConnection(Protocol):
    @property
    def dialogue(self) -> Dialogue: ...

    async def end(self, *, kill: bool = False) -> None: ...


Connection = TypeVar("Connection", bound=TrialConnection)


class Trial(Generic[Connection]):
    """Most cases share one connection; `end_case` closes what a case opened for itself."""

    def __init__(self, timeout: float, start_timeout: float) -> None:
        self.deadline = Deadline(timeout, start_timeout)
        self.connections: list[Connection] = []
        """Every connection of the run, in the order they were opened."""
        self._shared: Connection | None = None
        self._failure: Blocked | None = None
        """Reason why the program cannot be connected to; it is not tried again."""

    @property
    def frames(self) -> list[RecordedFrame]:
        """Every frame of the run, by connection."""
        return [frame for connection in self.connections for frame in connection.dialogue.frames]

    @property
    def unanswered(self) -> list[str]:
        """The methods of requests that wait for an answer."""
        waiting = [method for connection in self.connections for method in connection.dialogue.unanswered]
        return list(dict.fromkeys(waiting))

    async def end_case(self, *, healthy: bool) -> None:
        """Close what the case opened; a shared connection that a case may have harmed is not used again."""
        if not healthy:
            self._shared = None
        for connection in self.connections:
            if connection is not self._shared:
                await connection.end(kill=not healthy)

    async def end(self) -> None:
        for connection in self.connections:
            await connection.end()

    def _open_shared(self) -> Connection | None:
        """The shared connection if it is open. Blocked if it could not be made before."""
        if self._shared is not None and not self._shared.dialogue.ended.is_set():
            return self._shared
        if self._failure is not None:
            raise self._failure
        return None


Result = TypeVar("Result")


def read_result(answer: RecordedAnswer, method: str, expected: type[Result]) -> Result:
    """The result of an answer, decoded strictly. Violation for an error, or for a result of another shape."""
    if isinstance(answer.result, UnsetType):
        raise Violation(f"{method} was answered with {answer.failure or 'neither result nor error'}")
    raw = b"{}" if bytes(answer.result) == b"null" else bytes(answer.result)
    try:
        return codecs.decode_json(raw, expected)
    except msgspec.ValidationError as error:
        raise Violation(f"The result of {method}: {error}") from error
