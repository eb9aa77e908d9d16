"""Reading a pipe: whole, by line, bounded, and passed on as bytes arrive."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from portico.processes.pipe_reader import PipeProtocol, PipeReader
from tests.support.looping import until

LIMIT = 1_000


@asynccontextmanager
async def pipe() -> AsyncIterator[tuple[PipeReader, int]]:
    """A reader and the descriptor to write to."""
    source, sink = os.pipe()
    reader = PipeReader(LIMIT)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: PipeProtocol(reader), os.fdopen(source, "rb", 0))
    try:
        yield reader, sink
    finally:
        transport.close()


async def test_all_is_read_to_the_end_however_much_it_is() -> None:
    async with pipe() as (reader, sink):
        reading = asyncio.create_task(reader.read())
        for _ in range(10):
            await asyncio.to_thread(os.write, sink, b"x" * LIMIT)
        os.close(sink)
        assert await reading == b"x" * LIMIT * 10
        assert reader.at_eof()
        assert await reader.read(10) == b""


async def test_lines_come_one_by_one_and_the_last_needs_no_newline() -> None:
    async with pipe() as (reader, sink):
        os.write(sink, b"one\ntwo\nrest")
        os.close(sink)
        assert [await reader.readline() for _ in range(4)] == [b"one\n", b"two\n", b"rest", b""]


async def test_a_line_above_the_limit_is_refused() -> None:
    async with pipe() as (reader, sink):
        os.write(sink, b"x" * (LIMIT + 1))
        with pytest.raises(ValueError, match="longer than the limit"):
            await reader.readline()
        os.close(sink)


async def test_what_is_not_read_holds_the_pipe_back_until_it_is() -> None:
    async with pipe() as (reader, sink):
        os.write(sink, b"x" * (2 * LIMIT + 1))
        await until(lambda: reader.is_paused)
        assert len(await reader.read(2 * LIMIT)) == 2 * LIMIT
        assert not reader.is_paused
        os.close(sink)


async def test_bytes_are_passed_on_until_the_receiver_stops_and_kept_after_that() -> None:
    async with pipe() as (reader, sink):
        os.write(sink, b"kept")
        await until(lambda: reader.has_unread)
        assert await reader.pass_on(lambda data: data) is None, "bytes wait to be read"
        assert await reader.read(LIMIT) == b"kept"
        passing = asyncio.create_task(reader.pass_on(lambda data: data.upper()))
        await asyncio.sleep(0)
        os.write(sink, b"passed")
        assert await passing == b"PASSED"
        os.write(sink, b"after")
        assert await reader.read(LIMIT) == b"after"
        os.close(sink)
        assert await reader.pass_on(lambda data: data) is None


async def test_an_error_of_the_pipe_is_raised_by_every_read() -> None:
    reader = PipeReader(LIMIT)
    reading = asyncio.create_task(reader.read(1))
    await asyncio.sleep(0)
    reader.end(ConnectionResetError("gone"))
    for read in (reading, reader.read(), reader.readline()):
        with pytest.raises(ConnectionResetError):
            await read
