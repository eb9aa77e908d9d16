"""A chain that a remote client uses: lines both ways, and the sockets that come and go meanwhile."""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress

from portico.processes.tasks import cancel_and_wait
from portico.rpc.framing import LineSplitter
from portico.rpc.streams import ByteStream, StreamClosed, memory_pair

log = logging.getLogger("portico.acp")

RunChain = Callable[[ByteStream], Awaitable[None]]
"""Runs a chain for the client at a stream until either ends."""
Emit = Callable[[str], Awaitable[None]]


class ChainConnection:
    """One chain. `emit` takes each message of it, in order, and may wait. Constructing it starts nothing."""

    def __init__(self, run_chain: RunChain, emit: Emit) -> None:
        self.id = secrets.token_hex(16)
        self.ended = asyncio.Event()
        self._run_chain = run_chain
        self._emit = emit
        self._near, self._far = memory_pair()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"remote chain {self.id[:8]}")

    async def deliver(self, text: str) -> None:
        """Pass a message of the client on; it waits while the chain does not keep up."""
        # A line break inside would end the message.
        line = text.replace("\r\n", " ").replace("\n", " ")
        with suppress(StreamClosed):
            self._near.write(line.encode("utf-8", "replace") + b"\n")
            await self._near.drain()

    async def end(self) -> None:
        """End the chain with everything that it started."""
        await self._near.close()
        if self._task is not None:
            await cancel_and_wait(self._task)
        self.ended.set()

    async def _run(self) -> None:
        reading = asyncio.create_task(self._read(), name="messages of the chain")
        try:
            await self._run_chain(self._far)
        except Exception:  # top level of a connection: the others go on
            log.exception("a remote chain failed")
        finally:
            await self._far.close()
            await asyncio.wait({reading})
            self.ended.set()

    async def _read(self) -> None:
        splitter = LineSplitter()
        while chunk := await self._near.read():
            for line in splitter.feed(chunk):
                if isinstance(line, bytes):
                    await self._emit(line.decode("utf-8", "replace"))
