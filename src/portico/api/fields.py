"""Conversion of domain values to field values of the contract: enums, bounded numbers, JSON text."""

from sys import float_info
from typing import TypeVar

import msgspec
from msgspec import Raw, UnsetType
from protobuf import Enum


def to_int32(number: int | None) -> int | None:
    return _bounded(number, 2**31)


def to_int64(number: int | None) -> int | None:
    return _bounded(number, 2**63)


def _bounded(number: int | None, bound: int) -> int | None:
    """An agent may send any number: one beyond the contract's becomes the nearest, and cuts no door off."""
    return None if number is None else max(-bound, min(number, bound - 1))


def to_double(number: float | None) -> float | None:
    return None if number is None else float(max(-float_info.max, min(number, float_info.max)))


def raw_json(value: Raw | UnsetType) -> str | None:
    return None if isinstance(value, UnsetType) else json_text(value)


def json_text(raw: Raw) -> str:
    return bytes(raw).decode()


def to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_Enum = TypeVar("_Enum", bound=Enum)


def to_enum(kind: type[_Enum], word: str | None) -> _Enum:
    """The contract's value for a word of ours; the first one, unspecified, for none."""
    found: _Enum = kind["UNSPECIFIED" if word is None else word.upper()]
    return found
