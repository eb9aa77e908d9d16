"""HTTP/1.1 for calls to the user's server.

The transport of pyqwest runs threads that can abort the interpreter at its exit while a stream is open, and asks the
environment for a proxy. On this machine a connection for each request costs nothing.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from urllib.parse import urlsplit

import h11
from pyqwest import Headers, HTTPVersion, Request, Response

_CHUNK = 64 * 1024


class LoopbackTransport:
    """Implements `pyqwest.Transport`: one connection for each request, without proxies and redirects."""

    async def execute(self, request: Request) -> Response:
        """Send a request, and return its response as soon as its headers are there."""
        exchange = await _Exchange.open(request.url)
        try:
            content = request.content
            body = (
                content if isinstance(content, bytes) else b"".join([bytes(part) async for part in content])
            )
            await exchange.send(request, body)
            head = await exchange.next_event()
        except BaseException:
            exchange.close()
            raise
        if not isinstance(head, h11.Response):
            exchange.close()
            raise ConnectionError("the server sent no response")
        return Response(
            status=head.status_code,
            http_version=HTTPVersion.HTTP1,
            headers=Headers(
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers
            ),
            content=exchange.body(),
        )


class _Exchange:
    """One request and its response on a connection of their own."""

    def __init__(self, host: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._host = host
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT)

    @classmethod
    async def open(cls, url: str) -> "_Exchange":
        address = urlsplit(url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port or 80)
        return cls(address.netloc, reader, writer)

    async def send(self, request: Request, body: bytes) -> None:
        ours = {"host": self._host, "content-length": str(len(body)), "connection": "close"}
        theirs = {name: value for name, value in request.headers.items() if name.lower() not in ours}
        address = urlsplit(request.url)
        target = f"{address.path or '/'}?{address.query}" if address.query else address.path or "/"
        head = h11.Request(method=request.method, target=target, headers=list({**ours, **theirs}.items()))
        for event in (head, h11.Data(body), h11.EndOfMessage()):
            self._writer.write(self._protocol.send(event) or b"")
        await self._writer.drain()

    async def next_event(self) -> object:
        """The next part of the response. Raises ConnectionError if it breaks off or is not HTTP."""
        try:
            while (event := self._protocol.next_event()) is h11.NEED_DATA:
                self._protocol.receive_data(await self._reader.read(_CHUNK))
        except h11.RemoteProtocolError as error:
            raise ConnectionError(str(error)) from error
        return event

    async def body(self) -> AsyncGenerator[bytes]:
        try:
            while isinstance(part := await self.next_event(), h11.Data):
                yield bytes(part.data)
        finally:
            self.close()

    def close(self) -> None:
        with suppress(RuntimeError):  # The loop has ended, and the connection with it.
            self._writer.close()
