"""Server-sent events, as streamable HTTP uses them: written by the server, read by the client."""

import msgspec

EVENT_STREAM = "text/event-stream"
KEEP_ALIVE = b":\n\n"
"""A comment, which readers ignore."""
_LONGEST_RETRY_DIGITS = 9


def encode_event(line: bytes) -> bytes:
    """One message of an event stream."""
    return b"event: message\ndata: %b\n\n" % line.rstrip(b"\n")


class EventReader(msgspec.Struct):
    """Collects the data of events from the lines of a stream, and where and when it can be resumed."""

    last_event: str | None = None
    retry_seconds: float = 1.0
    data: bytes = b""

    def feed(self, line: bytes) -> bytes | None:
        """Take a line; the data of an event that it completes."""
        field, _, value = line.rstrip(b"\r\n").partition(b":")
        value = value.removeprefix(b" ")
        match field:
            case b"data":
                self.data += value + b"\n"
            case b"id":
                # Decoded as headers are, so that it is sent back as the same bytes.
                self.last_event = value.decode("latin-1")
            case b"retry" if value.isdigit() and len(value) <= _LONGEST_RETRY_DIGITS:
                self.retry_seconds = int(value) / 1000
            case b"" if not line.startswith(b":"):
                return self.end()
            case _:
                pass
        return None

    def end(self) -> bytes:
        """The data that has been collected since the last event."""
        data, self.data = self.data, b""
        return data
