"""Local sockets for MCP: a loopback port, and a server whose connections end with it."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

OnConnect = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]


async def serve_connections(
    serve: Callable[[OnConnect], Awaitable[asyncio.Server]],
    accept: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    name: str,
) -> None:
    """Accept the connections of a server, each in a task of its own, until cancelled; then all have ended."""
    async with asyncio.TaskGroup() as connections:

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                connections.create_task(accept(reader, writer), name=name)
            except RuntimeError:
                writer.close()  # The group is ending.

        server = await serve(connected)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            server.close()


def loopback_socket() -> socket.socket:
    """A listening socket on a free port of this machine."""
    made = socket.socket(socket.AF_INET)
    made.bind(("127.0.0.1", 0))
    made.listen()
    return made
