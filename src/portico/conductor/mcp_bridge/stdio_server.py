"""MCP server transport over a stream of lines, as the stdio shim carries it.

Answers and notifications leave in the order in which they were made.
"""

import asyncio
from contextlib import suppress

from msgspec import UnsetType

from portico.conductor.mcp_bridge.provider import McpOutcome
from portico.conductor.mcp_bridge.server_connection import McpServerConnection, OpenProvider
from portico.rpc.framing import LineSplitter, OverlongLine
from portico.rpc.messages import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorObject,
    Fault,
    Frame,
    RequestId,
    RpcError,
    decode_frame,
    encode_error,
    encode_result,
    malformed_request_id,
    malformed_response_error,
    malformed_response_id,
)
from portico.rpc.streams import ByteStream, StreamClosed

_QUEUE = 256


class McpStdioServer:
    def __init__(self, stream: ByteStream, open_conversation: OpenProvider) -> None:
        self._stream = stream
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue(_QUEUE)
        self.link = McpServerConnection(self, open_conversation)

    async def run(self) -> None:
        """Until the stand-in is gone; then whatever it had asked for is cancelled."""
        writing = asyncio.create_task(self._write(), name="writing to an MCP stand-in")
        try:
            await self._read()
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            await self.link.close()

    async def answer(self, request_id: RequestId, outcome: McpOutcome) -> None:
        await self._outgoing.put(encode_outcome(request_id, outcome))

    def tell(self, line: bytes, about: RequestId | UnsetType) -> bool:
        try:
            self._outgoing.put_nowait(line)
        except asyncio.QueueFull:
            return False
        return True

    async def _read(self) -> None:
        splitter = LineSplitter()
        while chunk := await self._stream.read():
            for line in splitter.feed(chunk):
                if isinstance(line, OverlongLine) or line.strip():
                    await self._receive(line)

    async def _receive(self, line: bytes | OverlongLine) -> None:
        frame = decode_frame(line)
        if not isinstance(frame, Fault):
            await self.link.receive(frame)
        elif isinstance(answered := malformed_response_id(line), UnsetType):
            request_id = malformed_request_id(line)
            await self.answer(None if isinstance(request_id, UnsetType) else request_id, fault_error(frame))
        else:
            error = malformed_response_error(frame)
            await self.link.receive(Frame(id=answered, error=ErrorObject(error.code, error.message)))

    async def _write(self) -> None:
        while True:
            line = await self._outgoing.get()
            # What can no longer be written is let go, so that nobody waits for room in the queue.
            with suppress(StreamClosed):
                self._stream.write(line)
                await self._stream.drain()


def encode_outcome(request_id: RequestId, outcome: McpOutcome) -> bytes:
    """An answer as a line."""
    if isinstance(outcome, RpcError):
        return encode_error(request_id, outcome)
    return encode_result(request_id, outcome)


def fault_error(fault: Fault) -> RpcError:
    """What is answered to something that is no message."""
    code = INVALID_REQUEST if fault.kind == "not_a_message" else PARSE_ERROR
    return RpcError(code, fault.detail)
