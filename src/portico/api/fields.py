"""Conversion between domain values and field values of the contract: enums, oneofs, times, numbers, JSON."""

from sys import float_info
from typing import Any, TypeVar

import msgspec
from msgspec import Raw, UnsetType
from protobuf import Enum, Oneof, enum_is_unknown
from protobuf.wkt import Timestamp

_Enum = TypeVar("_Enum", bound=Enum)


def one_of(field: str, value: object) -> Any:
    """One branch of a oneof. The generated types require the field's name as a literal."""
    return Oneof(field, value)


def to_enum(kind: type[_Enum], name: str | None) -> _Enum:
    """The enum value for a name in lower case; UNSPECIFIED for None."""
    found: _Enum = kind["UNSPECIFIED" if name is None else name.upper()]
    return found


def read_enum(value: Enum) -> Any:
    """The name of an enum value in lower case; None for UNSPECIFIED and for unknown numbers.

    Typed as Any because the caller knows which literals the names are.
    """
    known = not enum_is_unknown(value) and value.name != "UNSPECIFIED"
    return value.name.lower() if known else None


def to_time(at_ms: int) -> Timestamp:
    return Timestamp(seconds=at_ms // 1000, nanos=at_ms % 1000 * 1_000_000)


def to_int32(number: int | None) -> int | None:
    return _bounded(number, 2**31)


def to_int64(number: int | None) -> int | None:
    return _bounded(number, 2**63)


def _bounded(number: int | None, bound: int) -> int | None:
    """Agents may send any number: one out of range becomes the nearest that the field can hold."""
    return None if number is None else max(-bound, min(number, bound - 1))


def to_double(number: float | None) -> float | None:
    return None if number is None else float(max(-float_info.max, min(number, float_info.max)))


def raw_json(value: Raw | UnsetType) -> str | None:
    return None if isinstance(value, UnsetType) else json_text(value)


def json_text(raw: Raw) -> str:
    return bytes(raw).decode()


def to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
