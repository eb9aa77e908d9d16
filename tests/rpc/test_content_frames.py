"""Frames with a header: cut anywhere, among other output, too long, and written back."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.content_frames import ContentFrames, ContentSplitter
from portico.rpc.framing import OverlongLine
from portico.rpc.messages import Cancellation, Fault, Message, notification
from portico.rpc.streams import memory_pair


def framed(content: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(content), content)


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=5), st.data())
def test_contents_arrive_whole_however_the_bytes_are_cut(contents: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(map(framed, contents))
    splitter, found = ContentSplitter(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        found += splitter.feed(stream[:size])
        stream = stream[size:]
    assert found == contents
    assert splitter.end() is None


def test_other_headers_are_read_over() -> None:
    header = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:  2\r\n\r\n{}"
    assert ContentSplitter().feed(header) == [b"{}"]


def test_output_between_frames_is_a_frame_of_its_own_and_the_next_one_is_found() -> None:
    assert ContentSplitter().feed(b"Starting up." + framed(b"{}")) == [b"Starting up.", b"{}"]
    assert ContentSplitter().feed(b"no header\r\n\r\n" + framed(b"{}")) == [b"no header\r\n\r\n", b"{}"]


def test_endless_output_without_a_header_is_not_kept() -> None:
    splitter = ContentSplitter()
    assert sum(len(part) for part in splitter.feed(b"x" * 1_000_000) if isinstance(part, bytes)) > 990_000
    rest = splitter.end()
    assert isinstance(rest, bytes)
    assert len(rest) < 10_000


def test_a_content_that_is_too_long_is_passed_over() -> None:
    splitter = ContentSplitter(limit=10)
    assert splitter.feed(b"Content-Length: 30\r\n\r\n" + b"x" * 20) == []
    assert splitter.feed(b"x" * 10 + framed(b"{}")) == [OverlongLine(30), b"{}"]


async def test_a_message_is_written_with_its_length_and_read_again() -> None:
    near, far = memory_pair()
    ContentFrames(near).send(notification("hover", {"text": "é"}))
    (received,) = await ContentFrames(far).receive()
    assert isinstance(received, Message)
    assert (received.method, bytes(received.params)) == ("hover", '{"text":"é"}'.encode())


class Quiet:
    """A handler that notes what it is told."""

    def __init__(self) -> None:
        self.notified: list[tuple[str, bytes]] = []

    def notification(self, method: str, params: object) -> None:
        self.notified.append((method, bytes(params)))  # type: ignore[call-overload]

    async def request(self, method: str, params: object) -> RpcReply:
        return RpcReply(None)

    def fault(self, fault: Fault) -> None:
        pytest.fail(fault.detail)

    async def ready(self) -> None:
        return


async def test_a_request_is_cancelled_by_the_name_that_its_protocol_has_for_it() -> None:
    near, far = memory_pair()
    connection = RpcConnection(
        ContentFrames(near), Quiet(), name="server", cancellation=Cancellation("$/cancelRequest", "id")
    )
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await connection.request("shutdown", UNSET)
    frames = await ContentFrames(far).receive()
    assert [frame.line for frame in frames] == [
        b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}\n',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}\n',
    ]
