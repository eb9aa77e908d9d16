"""The HTTP transport of the client, against servers that behave badly."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from pyqwest import Client

from portico.client.loopback_transport import LoopbackTransport

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[str]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_request_has_its_path_headers_and_body_and_the_answer_comes_whole() -> None:
    seen = bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.extend(await reader.readuntil(b"\r\n\r\n"))
        seen.extend(await reader.readexactly(5))
        writer.write(b"HTTP/1.1 404 Not Found\r\nx-name: one\r\ncontent-length: 4\r\n\r\nnone")

    async with serving(serve) as url:
        client = Client(LoopbackTransport())
        answer = await client.post(f"{url}/a/b?c=d", headers={"x-mine": "yes"}, content=b"hello")
    assert (answer.status, answer.headers["x-name"], bytes(answer.content)) == (404, "one", b"none")
    assert seen.startswith(b"POST /a/b?c=d HTTP/1.1\r\n")
    assert b"x-mine: yes\r\n" in seen
    assert b"content-length: 5\r\n" in seen
    assert seen.endswith(b"hello")


async def test_a_stream_that_is_left_early_closes_its_connection() -> None:
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEAD + b"3\r\none\r\n")
        assert await reader.read() == b""
        left.set()

    async with serving(serve) as url, asyncio.timeout(20):
        async with Client(LoopbackTransport()).stream("POST", url) as response:
            assert bytes(await anext(aiter(response.content))) == b"one"
        await left.wait()


@pytest.mark.parametrize(
    "said",
    [b"", b"HTTP/1.1 200", b"SSH-2.0-server\r\n\r\n", HEAD + b"5\r\nhal", HEAD + b"no number\r\n"],
    ids=["nothing", "half a head", "another protocol", "half a chunk", "a broken chunk"],
)
async def test_an_answer_that_breaks_off_or_is_not_http_is_an_error_of_the_connection(said: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        await writer.drain()

    async with serving(serve) as url:
        with pytest.raises(ConnectionError):
            await Client(LoopbackTransport()).post(url, content=b"")


async def test_a_port_where_nothing_listens_is_an_error_of_the_connection() -> None:
    async def serve(_: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        return

    async with serving(serve) as url:
        pass
    with pytest.raises(ConnectionError):
        await Client(LoopbackTransport()).post(url, content=b"")
