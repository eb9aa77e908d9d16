"""Frames with a Content-Length header, as language servers send them."""

import re

from portico.rpc.frames import LineFrames
from portico.rpc.framing import OverlongLine
from portico.rpc.streams import ByteStream

MAX_CONTENT = 64 * 1024 * 1024
_LONGEST_HEADER = 4096
_END_OF_HEADER = b"\r\n\r\n"
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,15})[ \t]*(?:\r\n|\Z)", re.IGNORECASE)


class ContentSplitter:
    """Splits a byte stream into contents. Bytes before a header, such as log output, become a frame of their own."""

    def __init__(self, limit: int = MAX_CONTENT) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._wanted: int | None = None
        self._skipped = 0

    def feed(self, chunk: bytes) -> list[bytes | OverlongLine]:
        """The contents that `chunk` completes."""
        self._buffer += chunk
        contents: list[bytes | OverlongLine] = []
        while self._read_header(contents) and (content := self._take_content()) is not None:
            contents.append(content)
        return contents

    def end(self) -> bytes | OverlongLine | None:
        """The incomplete frame that is left when the stream ends."""
        rest, self._buffer = bytes(self._buffer), bytearray()
        return rest or None

    def _read_header(self, contents: list[bytes | OverlongLine]) -> bool:
        """Whether the length of the next content is known."""
        while self._wanted is None:
            end = self._buffer.find(_END_OF_HEADER)
            if end < 0:
                if len(self._buffer) > _LONGEST_HEADER:
                    self._drop(len(self._buffer) - _LONGEST_HEADER // 2, contents)
                return False
            headers = list(_LENGTH.finditer(bytes(self._buffer[:end])))
            if not headers:
                self._drop(end + len(_END_OF_HEADER), contents)
                continue
            found = headers[-1]
            if found.start() > 0 and self._buffer[found.start() - 1 : found.start()] != b"\n":
                contents.append(bytes(self._buffer[: found.start()]))
            self._wanted = int(found[1])
            del self._buffer[: end + len(_END_OF_HEADER)]
        return True

    def _take_content(self) -> bytes | OverlongLine | None:
        """The content, once all of it has arrived. One that is too long is not kept."""
        wanted = self._wanted or 0
        if wanted > self._limit:
            dropped = min(wanted - self._skipped, len(self._buffer))
            del self._buffer[:dropped]
            self._skipped += dropped
            if self._skipped < wanted:
                return None
            self._wanted, self._skipped = None, 0
            return OverlongLine(wanted)
        if len(self._buffer) < wanted:
            return None
        content = bytes(self._buffer[:wanted])
        del self._buffer[:wanted]
        self._wanted = None
        return content

    def _drop(self, size: int, contents: list[bytes | OverlongLine]) -> None:
        contents.append(bytes(self._buffer[:size]))
        del self._buffer[:size]


class ContentFrames(LineFrames):
    """Frames over a byte stream, each after a header with its length."""

    def __init__(self, stream: ByteStream, limit: int = MAX_CONTENT) -> None:
        super().__init__(stream, ContentSplitter(limit))

    def _enclose(self, line: bytes) -> bytes:
        content = line.removesuffix(b"\n")
        return b"Content-Length: %d\r\n\r\n%b" % (len(content), content)
