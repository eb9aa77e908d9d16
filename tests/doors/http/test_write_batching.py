"""Batched writes: parts of an answer are sent together, before the event loop waits again."""

import asyncio

from portico.doors.http.http1_connection import BufferedTransport


class Wire(asyncio.Transport):
    """Remembers what was sent, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[bytes] = []
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.pieces.append(bytes(data))

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True


def on_wire() -> tuple[BufferedTransport, Wire]:
    wire = Wire()
    return BufferedTransport(wire, asyncio.get_running_loop()), wire


async def test_parts_of_one_turn_are_one_piece() -> None:
    transport, wire = on_wire()
    transport.write(b"head ")
    transport.write(b"body")
    assert wire.pieces == []
    await asyncio.sleep(0)
    assert wire.pieces == [b"head body"]
    transport.write(b"more")
    await asyncio.sleep(0)
    assert wire.pieces == [b"head body", b"more"]


async def test_much_does_not_wait_for_the_end_of_the_turn() -> None:
    transport, wire = on_wire()
    for _ in range(100):
        transport.write(bytes(1024))
    assert [len(piece) for piece in wire.pieces] == [64 * 1024]
    await asyncio.sleep(0)
    assert sum(map(len, wire.pieces)) == 100 * 1024


async def test_the_last_words_go_out_before_the_end() -> None:
    transport, wire = on_wire()
    transport.write(b"bye")
    transport.close()
    assert (wire.pieces, wire.closed) == ([b"bye"], True)


async def test_what_was_cut_off_is_not_sent() -> None:
    transport, wire = on_wire()
    transport.write(b"bye")
    transport.abort()
    await asyncio.sleep(0)
    assert (wire.pieces, wire.closed) == ([], True)
