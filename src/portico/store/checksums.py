"""Chained checksums of a session's events, each taken over the content and the checksum before.

They find accidents and the work of other tools: a row that was changed, swapped, removed or put in. They are no defence
against somebody who means harm, since there is no secret in them.
"""

from hashlib import blake2b

from portico.store.rows import EventRow

INITIAL_CHECKSUM = b""
"""What stands before the first event. It does not name the session, so that a copy keeps its checksums."""

_BYTES = 16


def next_checksum(previous: bytes, row: EventRow) -> bytes:
    """The checksum of an event that follows the one with this checksum."""
    seq, turn_id, at, kind, payload = row
    named = b"%b%d\0%b\0%d\0%b\0" % (previous, seq, (turn_id or "").encode(), at, kind.encode())
    return blake2b(named + payload, digest_size=_BYTES).digest()


def checksum_of(previous: bytes, row: EventRow) -> bytes | None:
    """As `next_checksum`, for a row that may have been damaged: None if no event can have been written so."""
    try:
        return next_checksum(previous, row)
    except (TypeError, AttributeError, UnicodeEncodeError):
        return None


def is_valid(checksum: bytes, previous: bytes, row: EventRow) -> bool:
    """Whether an event has the content that it had when it was written."""
    return checksum_of(previous, row) == checksum
