"""A relay between one node and the database, whose connections can be cut like those of a broken network."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SOCKET = ".s.PGSQL.5432"
_CHUNK = 65536
_DEADLINE = 30.0


class DatabaseRelay:
    """Forwards the socket of a PostgreSQL server from a folder of its own."""

    def __init__(self, folder: Path, server: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._server = server
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._open: asyncio.Event
        self._ended: asyncio.Event
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="database relay")

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(_DEADLINE)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(_DEADLINE)

    def drop(self) -> None:
        """Break every connection off; new ones are accepted."""
        self._do(self._drop)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Let nothing through, in either direction: bytes that were sent wait, as in a network that lost its way."""
        self._do(self._open.clear)
        try:
            yield
        finally:
            self._do(self._open.set)

    def _do(self, work: Callable[[], object]) -> None:
        done = threading.Event()

        def run() -> None:
            work()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(_DEADLINE)

    async def _serve(self) -> None:
        self._loop, self._open, self._ended = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._open.set()
        server = await asyncio.start_unix_server(self._forward, self.folder / _SOCKET)
        self._ready.set()
        await self._ended.wait()
        server.close()
        self._open.set()
        self._drop()

    def _drop(self) -> None:
        for writer in list(self._writers):
            writer.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, onwards = await asyncio.open_unix_connection(self._server / _SOCKET)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, onwards}
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._pump(reader, onwards))
                ways.create_task(self._pump(answers, writer))
        finally:
            self._writers -= {writer, onwards}

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one direction; the other one ends with it."""
        with suppress(OSError):
            while data := await reader.read(_CHUNK):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
