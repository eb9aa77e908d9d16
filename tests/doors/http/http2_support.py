"""A caller that speaks HTTP/2 frame by frame, well or badly."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
from h2.errors import ErrorCodes

from tests.doors.http.support import DEADLINE, TOKEN, Door

EMPTY = b"\x00\x00\x00\x00\x00"
"""An empty message of gRPC: a flag byte, and four bytes of length."""
GRPC = {"content-type": "application/grpc", "te": "trailers"}
SIGNED = {**GRPC, "authorization": f"Bearer {TOKEN}"}


class Heard:
    """Response to one call."""

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.trailers: dict[str, str] = {}
        self.body = b""
        self.reset: ErrorCodes | int | None = None
        self.ended = False

    @property
    def over(self) -> bool:
        return self.ended or self.reset is not None

    @property
    def grpc_status(self) -> str | None:
        return self.trailers.get("grpc-status") or self.headers.get("grpc-status")


class Http2Caller:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        self.reader = reader
        self.writer = writer
        self.port = port
        config = h2.config.H2Configuration(header_encoding="utf-8", validate_outbound_headers=False)
        self.frames = h2.connection.H2Connection(config)
        self.heard: dict[int, Heard] = {}
        self.goodbye: ErrorCodes | int | None = None
        self.opens_windows = True

    def start(self, window: int | None = None) -> None:
        if window is not None:
            values = {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window}
            self.frames.local_settings = h2.settings.Settings(client=True, initial_values=values)
        self.frames.initiate_connection()
        self.flush()

    def call(
        self,
        path: str,
        headers: dict[str, str] | None = None,
        body: bytes | None = EMPTY,
        *,
        method: str = "POST",
        authority: str | None = None,
        end: bool = True,
    ) -> int:
        """Send a call; its number. A body of None leaves the call open."""
        stream_id = self.frames.get_next_available_stream_id()
        head = {
            ":method": method,
            ":scheme": "http",
            ":path": path,
            ":authority": authority or f"127.0.0.1:{self.port}",
            **(SIGNED if headers is None else headers),
        }
        self.heard[stream_id] = Heard()
        self.frames.send_headers(stream_id, list(head.items()))
        if body is not None:
            self.frames.send_data(stream_id, body, end_stream=end)
        self.flush()
        return stream_id

    async def ask(self, path: str, headers: dict[str, str] | None = None, **more: str) -> Heard:
        stream_id = self.call(path, headers, **more)  # type: ignore[arg-type]
        await self.until(lambda: self.heard[stream_id].over)
        return self.heard[stream_id]

    async def until(self, done: Callable[[], bool]) -> None:
        """Read until something holds."""
        async with asyncio.timeout(DEADLINE):
            while not done():
                assert await self.read(), "the connection ended"

    async def until_goodbye(self) -> ErrorCodes | int | None:
        """Read to the end of the connection; with what code the server said goodbye, if it did."""
        async with asyncio.timeout(DEADLINE):
            while await self.read():
                pass
        return self.goodbye

    async def until_closed(self) -> None:
        """Wait for the end of the connection, whatever comes before it."""
        async with asyncio.timeout(DEADLINE):
            try:
                while await self.reader.read(1 << 16):
                    pass
            except ConnectionError:
                pass

    async def read(self) -> bool:
        try:
            data = await self.reader.read(1 << 16)
        except ConnectionError:
            return False
        for event in self.frames.receive_data(data):
            self._take(event)
        self.flush()
        return data != b""

    def flush(self) -> None:
        self.writer.write(self.frames.data_to_send())

    def _take(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.ResponseReceived():
                self.heard[event.stream_id].headers = {str(k): str(v) for k, v in event.headers}
            case h2.events.TrailersReceived():
                self.heard[event.stream_id].trailers = {str(k): str(v) for k, v in event.headers}
            case h2.events.DataReceived():
                self.heard[event.stream_id].body += event.data
                if self.opens_windows:
                    self.frames.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                self.heard[event.stream_id].ended = True
            case h2.events.StreamReset():
                self.heard[event.stream_id].reset = event.error_code
            case h2.events.ConnectionTerminated():
                self.goodbye = event.error_code
                # The library would speak no more; a peer may, about the calls that are under way.
                self.frames.state_machine.state = h2.connection.ConnectionState.CLIENT_OPEN
            case _:
                pass


@asynccontextmanager
async def http2_caller(door: Door, *, window: int | None = None) -> AsyncIterator[Http2Caller]:
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    caller = Http2Caller(reader, writer, door.port)
    caller.start(window)
    try:
        yield caller
    finally:
        writer.close()
