"""Chained checksums of a session's events, each taken over the content and the checksum before.

They detect accidents and changes by other tools: a row that was changed, swapped, removed or inserted. They do not
protect against an attacker, since they contain no secret.
"""

from hashlib import blake2b

from portico.store.rows import EventRow

INITIAL_CHECKSUM = b""
"""Checksum before the first event. It does not depend on the session, so that a copy keeps its checksums."""

_BYTES = 16


def next_checksum(previous: bytes, row: EventRow) -> bytes:
    """The checksum of an event that follows the one with this checksum."""
    seq, turn_id, at, kind, payload = row
    named = b"%b%d\0%b\0%d\0%b\0" % (previous, seq, (turn_id or "").encode(), at, kind.encode())
    return blake2b(named + payload, digest_size=_BYTES).digest()


def checksum_of(previous: bytes, row: EventRow) -> bytes | None:
    """Like `next_checksum`, for a row that may be damaged: None if it cannot be an event."""
    try:
        return next_checksum(previous, row)
    except (TypeError, AttributeError, UnicodeEncodeError):
        return None


def is_valid(checksum: bytes, previous: bytes, row: EventRow) -> bool:
    """Whether an event still has the content that was written."""
    return checksum_of(previous, row) == checksum
