"""Local socket where stdio shims connect, each with the token of its server.

A Unix socket, where there are any, is in a folder that only this user can enter; elsewhere it is a loopback port. It
is bound at once, so that its address can be given to the agent, and closed when `run` ends.
"""

import asyncio
import logging
import shutil
import socket
import tempfile
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from portico.mcp.local_socket import OnConnect, loopback_socket, serve_connections
from portico.processes.stdio_shim import TCP, UNIX
from portico.rpc.streams import READ_SIZE, ByteStream, PipeStream
from portico.sandbox.sockets import socket_folder

log = logging.getLogger(__name__)

ServeShim = Callable[[str, ByteStream], Awaitable[None]]
"""Serves the shim that sent this token, until it disconnects. One with a wrong token is turned away."""

_LONGEST_UNIX_PATH = 100  # Every system allows this much.
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
        """Serve shims until cancelled; then all their connections are closed."""
        try:
            await serve_connections(self._server, partial(self._accept, serve), "an MCP shim")
        finally:
            self.close()

    def close(self) -> None:
        self._socket.close()
        self._remove_folder()

    async def _server(self, connected: OnConnect) -> asyncio.Server:
        if self._folder is not None:
            return await asyncio.start_unix_server(connected, sock=self._socket, limit=READ_SIZE)
        return await asyncio.start_server(connected, sock=self._socket, limit=READ_SIZE)

    async def _accept(
        self, serve: ServeShim, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        stream = PipeStream(reader, writer)
        try:
            async with asyncio.timeout(self._report_deadline):
                token = (await reader.readuntil(b"\n")).decode(errors="replace").strip()
            await serve(token, stream)
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            log.warning("a connection to the MCP socket sent no token")
        except Exception:  # top level of a connection: the others go on
            log.exception("a connection of an MCP shim failed")
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
        # Also when the process ends without `run`.
        self._remove_folder = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return made
