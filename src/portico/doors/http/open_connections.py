"""Open connections of the server and the tasks of their calls, and waiting for the last of them to end."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Protocol

Address = tuple[str, int] | None


class OpenConnection(Protocol):
    """A connection that the server can end."""

    @property
    def transport(self) -> asyncio.Transport: ...

    def shutdown(self) -> None:
        """Accept no more calls, and close after the last one."""
        ...


class OpenConnections:
    def __init__(self) -> None:
        self._connections: set[OpenConnection] = set()
        self._calls: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._stopping = False

    def add(self, connection: OpenConnection) -> None:
        self._connections.add(connection)
        if self._stopping:  # accepted just before the server stopped listening
            connection.shutdown()

    def discard(self, connection: OpenConnection) -> None:
        self._connections.discard(connection)
        self._changed.set()

    def start_call(self, call: Coroutine[Any, Any, None], *, name: str) -> None:
        task = asyncio.create_task(call, name=name)
        self._calls.add(task)
        task.add_done_callback(self._end_call)

    async def wait_for_calls(self, seconds: float) -> None:
        """Give the calls that are under way some time to end."""
        if self._calls:
            await asyncio.wait(self._calls, timeout=seconds)

    def shutdown(self) -> None:
        """Close idle connections now, and the others after their calls."""
        self._stopping = True
        for connection in list(self._connections):
            connection.shutdown()

    def abort(self) -> None:
        for connection in list(self._connections):
            connection.transport.abort()

    async def wait_closed(self) -> None:
        """Return once every connection is closed and every call has ended."""
        while self._connections or self._calls:
            self._changed.clear()
            await self._changed.wait()

    def _end_call(self, task: "asyncio.Task[None]") -> None:
        self._calls.discard(task)
        self._changed.set()


def addresses(transport: asyncio.Transport) -> tuple[Address, Address]:
    """The client's address and the server's."""
    return _address(transport, "peername"), _address(transport, "sockname")


def _address(transport: asyncio.Transport, name: str) -> Address:
    found = transport.get_extra_info(name)
    return (str(found[0]), int(found[1])) if isinstance(found, tuple) else None
