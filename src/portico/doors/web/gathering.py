"""Sends what is written in one turn of the event loop as one piece.

A server writes an answer in parts, and the events of a fast agent one by one. Each part on its own would
cost a system call here and wake its reader up there; held back by the system until the reader has
confirmed the part before, it would come tens of milliseconds late.
"""

import asyncio
from typing import Any

_LARGEST_PIECE = 64 * 1024


class GatheringTransport(asyncio.Transport):
    """Stands in for a transport. What it holds goes out before the loop waits, or when it is much."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._inner = inner
        self._loop = loop
        self._held = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._held:
            self._loop.call_soon(self._flush)
        self._held += data
        if len(self._held) >= _LARGEST_PIECE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def abort(self) -> None:
        self._held.clear()
        self._inner.abort()

    def is_closing(self) -> bool:
        return self._inner.is_closing()

    def is_reading(self) -> bool:
        return self._inner.is_reading()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._inner.get_extra_info(name, default)

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._inner.set_protocol(protocol)

    def _flush(self) -> None:
        if self._held and not self._inner.is_closing():
            self._inner.write(bytes(self._held))
        self._held.clear()
