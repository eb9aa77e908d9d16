"""Standard input and output of this process as a byte stream, protected from other writers.

Pipes and sockets are waited for by the event loop. Files are read by a thread, since no loop can wait for them,
and so are terminals: waiting for one would switch the person's shell to non-blocking mode as well.
"""

import asyncio
import os
import stat
import sys
import threading

from portico.processes.pipe_reader import PipeProtocol, PipeReader
from portico.rpc.streams import READ_SIZE, ByteStream, PipeStream, StreamClosed


async def standard_streams() -> ByteStream:
    """Take over both streams permanently; from then on `print` writes to standard error.

    Neither a stray `print` nor a child that inherits standard output can disturb what is sent.
    """
    sys.stdout.flush()
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    if _can_wait_for(source) and _can_wait_for(sink):
        return await _pipes(source, sink)
    return FileStream(source, sink)


def _can_wait_for(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return sys.platform != "win32" and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))


async def _pipes(source: int, sink: int) -> PipeStream:
    loop = asyncio.get_running_loop()
    reader = PipeReader(limit=READ_SIZE)
    await loop.connect_read_pipe(lambda: PipeProtocol(reader), os.fdopen(source, "rb", 0))
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(sink, "wb", 0)
    )
    return PipeStream(reader, asyncio.StreamWriter(transport, protocol, None, loop))


class FileStream:
    """A stream over two descriptors that block: a thread reads, and writes are done at once."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._wanted = threading.Semaphore(0)
        self._reading: threading.Thread | None = None
        self._ended = False
        self._closed = asyncio.Event()

    async def read(self) -> bytes:
        if self._ended:
            return b""
        if self._reading is None:
            arguments = (asyncio.get_running_loop(),)
            # A daemon, since a read of a terminal may never return and must not keep the process.
            self._reading = threading.Thread(
                target=self._read, args=arguments, name="standard input", daemon=True
            )
            self._reading.start()
        self._wanted.release()
        data = await self._chunks.get()
        self._ended = not data
        return data

    def write(self, data: bytes) -> None:
        if self._closed.is_set():
            raise StreamClosed
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._sink, rest) :]
        except OSError as error:
            self._closed.set()
            raise StreamClosed from error

    @property
    def is_full(self) -> bool:
        return False

    async def drain(self) -> None:
        """Everything was written when it was handed over."""

    async def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            os.close(self._sink)

    async def closed(self) -> None:
        await self._closed.wait()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        data = b"."
        while data:
            self._wanted.acquire()
            try:
                data = os.read(self._source, READ_SIZE)
            except OSError:
                data = b""
            try:
                loop.call_soon_threadsafe(self._chunks.put_nowait, data)
            except RuntimeError:
                return  # The loop has ended.
