"""An event stream is read as it is written, with the fields that streamable HTTP uses."""

from portico.mcp.event_stream import KEEP_ALIVE, EventReader, encode_event


def read(stream: bytes) -> tuple[list[bytes], EventReader]:
    reader = EventReader()
    return [data for line in stream.splitlines(keepends=True) if (data := reader.feed(line))], reader


def test_events_are_read_as_they_are_written() -> None:
    found, _ = read(encode_event(b'{"id":1}\n') + KEEP_ALIVE + encode_event(b'{"id":2}'))
    assert found == [b'{"id":1}\n', b'{"id":2}\n']


def test_a_comment_inside_an_event_does_not_end_it() -> None:
    found, _ = read(b"data: one\n: still here\ndata: two\n\n")
    assert found == [b"one\ntwo\n"]


def test_where_and_when_to_resume_is_kept() -> None:
    found, reader = read(b"id: caf\xe9\nretry: 250\nretry: soon\nretry: 99999999999\ndata: cut off")
    assert found == []
    assert reader.last_event is not None
    assert reader.last_event.encode("latin-1") == b"caf\xe9"
    assert reader.retry_seconds == 0.25
    assert reader.end() == b"cut off\n"
