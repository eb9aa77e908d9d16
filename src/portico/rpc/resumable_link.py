"""One end of a connection that outlives its sockets: what is lost with one is sent again over the next, once.

Both ends count the messages that they have received, and keep those that the other has not acknowledged.
"""

import asyncio
from collections.abc import Awaitable, Callable

from portico.processes.tasks import cancel_and_wait
from portico.rpc.replay_buffer import MOST_BYTES, ReplayBuffer, ReplayGone
from portico.rpc.streams import StreamClosed
from portico.rpc.websocket import Acknowledgement, WebSocket

_ACKNOWLEDGE_EVERY = 16


class ResumableLink:
    """`deliver` takes each message once, in order, and may wait."""

    def __init__(self, deliver: Callable[[str], Awaitable[None]], limit: int = MOST_BYTES) -> None:
        self.sent = ReplayBuffer(limit)
        self.received = 0
        self._deliver = deliver
        self._written = 0
        """The number of the last message that was written to the socket in use."""
        self._progressed = asyncio.Event()

    async def send(self, text: str) -> None:
        """Queue a message; waits while too many are not acknowledged."""
        await self.sent.room()
        self.sent.append(text)

    async def flush(self) -> None:
        """Wait until everything that was queued so far is written to a socket."""
        last = self.sent.last
        while self._written < last:
            self._progressed.clear()
            await self._progressed.wait()

    async def run(self, socket: WebSocket, after: int, *, acknowledges: bool = True) -> None:
        """Use a socket until it ends. `after` is how many messages the other end has. ReplayGone if that cannot be.

        An end that does not acknowledge cannot resume, so nothing is kept that was written.
        """
        self.sent.acknowledge(after)
        sending = asyncio.create_task(self._send(socket, acknowledges=acknowledges), name="send to socket")
        try:
            while (message := await socket.receive()) is not None:
                if isinstance(message, Acknowledgement):
                    if acknowledges:
                        self._take_acknowledgement(message)
                    continue
                await self._deliver(message)
                self.received += 1
                if acknowledges and self.received % _ACKNOWLEDGE_EVERY == 0:
                    await socket.acknowledge(self.received)
        except StreamClosed:
            return
        finally:
            await cancel_and_wait(sending)

    def _take_acknowledgement(self, number: int) -> None:
        try:
            self.sent.acknowledge(number)
        except ReplayGone as error:
            raise StreamClosed from error

    async def _send(self, socket: WebSocket, *, acknowledges: bool) -> None:
        self._written = self.sent.first
        try:
            while True:
                text = await self.sent.next(self._written)
                await socket.send(text)
                self._written += 1
                self._progressed.set()
                if not acknowledges:
                    self.sent.acknowledge(self._written)
        except StreamClosed:
            return
