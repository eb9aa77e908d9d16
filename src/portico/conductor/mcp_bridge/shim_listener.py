"""Local socket where stdio shims connect, each with the token of its server.

Where there are Unix sockets it lies in a folder that only this user can enter; elsewhere it is a loopback
port. It is bound at once, so that its address can be given away, and is gone when `run` ends.
"""

import asyncio
import logging
import shutil
import socket
import tempfile
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from portico.conductor.mcp_bridge.stdio_shim import TCP, UNIX
from portico.rpc.streams import READ_SIZE, ByteStream, PipeStream
from portico.sandbox.sockets import socket_folder

log = logging.getLogger(__name__)

OnConnect = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
ServeShim = Callable[[str, ByteStream], Awaitable[None]]
"""Talks to the stand-in that brought this token, until it is gone. One that brings a wrong one is turned away."""

_LONGEST_UNIX_PATH = 100  # What every system allows, with a little to spare.
_REPORT_DEADLINE = 10.0


class ShimListener:
    def __init__(self, *, report_deadline: float = _REPORT_DEADLINE) -> None:
        self._report_deadline = report_deadline
        self._folder: Path | None = None
        self._remove_folder: Callable[[], object] = lambda: None
        self._socket = self._unix_socket() or loopback_socket()

    @property
    def address(self) -> str:
        if self._folder is not None:
            return f"{UNIX}{self._socket.getsockname()}"
        host, port = self._socket.getsockname()
        return f"{TCP}{host}:{port}"

    async def run(self, serve: ServeShim) -> None:
        """Welcome stand-ins until cancelled; then nothing of them is left."""
        try:
            await serve_connections(self._server, partial(self._welcome, serve), "an MCP stand-in")
        finally:
            self.close()

    def close(self) -> None:
        self._socket.close()
        self._remove_folder()

    async def _server(self, connected: OnConnect) -> asyncio.Server:
        if self._folder is not None:
            return await asyncio.start_unix_server(connected, sock=self._socket, limit=READ_SIZE)
        return await asyncio.start_server(connected, sock=self._socket, limit=READ_SIZE)

    async def _welcome(
        self, serve: ServeShim, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        stream = PipeStream(reader, writer)
        try:
            async with asyncio.timeout(self._report_deadline):
                token = (await reader.readuntil(b"\n")).decode(errors="replace").strip()
            await serve(token, stream)
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            log.warning("somebody came to the MCP socket and did not say why")
        except Exception:  # top level of a link: the others go on
            log.exception("a link to an MCP stand-in failed")
        finally:
            await stream.close()

    def _unix_socket(self) -> socket.socket | None:
        if not hasattr(socket, "AF_UNIX") or not hasattr(asyncio, "start_unix_server"):
            return None
        folder = Path(tempfile.mkdtemp(dir=socket_folder()))  # Made with mode 0700.
        path = str(folder / "socket")
        if len(path.encode()) > _LONGEST_UNIX_PATH:
            folder.rmdir()
            return None
        made = socket.socket(socket.AF_UNIX)
        try:
            made.bind(path)
            made.listen()
        except OSError:
            made.close()
            with suppress(OSError):
                shutil.rmtree(folder)
            return None
        self._folder = folder
        # Also at the end of the process, should it come before `run`.
        self._remove_folder = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return made


async def serve_connections(
    serve: Callable[[OnConnect], Awaitable[asyncio.Server]],
    welcome: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    name: str,
) -> None:
    """Welcome whoever comes to a server, each in a task of its own, until cancelled; then all are over."""
    async with asyncio.TaskGroup() as guests:

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                guests.create_task(welcome(reader, writer), name=name)
            except RuntimeError:
                writer.close()  # The group is ending.

        server = await serve(connected)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()


def loopback_socket() -> socket.socket:
    made = socket.socket(socket.AF_INET)
    made.bind(("127.0.0.1", 0))
    made.listen()
    return made
