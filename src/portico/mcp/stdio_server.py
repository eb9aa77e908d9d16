"""MCP server transport over a stream of lines.

Responses and notifications leave in the order in which they were made.
"""

import asyncio
from contextlib import suppress
from functools import partial

from msgspec import UnsetType

from portico.mcp.server_connection import McpOutcome, McpServerConnection, OpenBackend
from portico.rpc.frames import MalformedLine, Received, Transport, Wait, as_frames
from portico.rpc.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    Fault,
    RequestId,
    RpcError,
    encode_error,
    encode_result,
)
from portico.rpc.streams import StreamClosed

_QUEUE = 256


class McpStdioServer:
    def __init__(self, transport: Transport, open_backend: OpenBackend) -> None:
        self._frames = as_frames(transport)
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue(_QUEUE)
        self.connection = McpServerConnection(self, open_backend)

    async def run(self) -> None:
        """Serve until the client is gone; then its requests are cancelled."""
        writing = asyncio.create_task(self._write(), name="writing to an MCP client")
        try:
            await self._frames.deliver(self._take_batch)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            await self.connection.close()

    async def answer(self, request_id: RequestId, outcome: McpOutcome) -> None:
        await self._outgoing.put(encode_outcome(request_id, outcome))

    def tell(self, line: bytes, about: RequestId | UnsetType) -> bool:
        try:
            self._outgoing.put_nowait(line)
        except asyncio.QueueFull:
            return False
        return True

    def _take_batch(self, batch: list[Received]) -> Wait:
        return partial(self._handle, batch)

    async def _handle(self, batch: list[Received]) -> None:
        for frame in batch:
            message = frame.response if isinstance(frame, MalformedLine) else frame
            if message is not None:
                await self.connection.receive(message)
            elif isinstance(frame, MalformedLine):
                request_id = None if isinstance(frame.request_id, UnsetType) else frame.request_id
                await self.answer(request_id, fault_error(frame.fault))

    async def _write(self) -> None:
        while True:
            line = await self._outgoing.get()
            # What can no longer be written is dropped, so that no response waits for room in the queue.
            with suppress(StreamClosed):
                self._frames.write(line)
                await self._frames.drain()


def encode_outcome(request_id: RequestId, outcome: McpOutcome) -> bytes:
    """A response as a line."""
    if isinstance(outcome, RpcError):
        return encode_error(request_id, outcome)
    return encode_result(request_id, outcome)


def fault_error(fault: Fault) -> RpcError:
    """The error for a malformed message."""
    code = INVALID_REQUEST if fault.kind == "not_a_message" else PARSE_ERROR
    return RpcError(code, fault.detail)
