"""Identifiers of sessions and turns: short, sortable by time, safe in file names."""

from typing import NewType

SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_BITS = 50
_ENTROPY_BITS = 50


def make_session_id(at_ms: int, entropy: bytes) -> SessionId:
    """Compose an id from a UTC time in milliseconds and at least seven random bytes.

    Ids made later sort later; two made in one millisecond differ by 50 random bits.
    """
    chance = int.from_bytes(entropy, "big") & ((1 << _ENTROPY_BITS) - 1)
    value = ((at_ms & ((1 << _TIME_BITS) - 1)) << _ENTROPY_BITS) | chance
    digits = [_ALPHABET[(value >> shift) & 31] for shift in range(_TIME_BITS + _ENTROPY_BITS - 5, -1, -5)]
    return SessionId("".join(digits))


def make_turn_id(ordinal: int) -> TurnId:
    """Name the n-th turn of a session, counted from one."""
    return TurnId(f"t{ordinal}")


def turn_ordinal(turn_id: TurnId | None) -> int:
    """The number in a turn's name; zero before the first turn."""
    return int(turn_id[1:]) if turn_id else 0
