"""Words of ours as the enums of the contract, which have the same names in capitals."""

from typing import TypeVar

from protobuf import Enum

_Enum = TypeVar("_Enum", bound=Enum)


def to_enum(kind: type[_Enum], word: str | None) -> _Enum:
    """The contract's value for a word of ours; the first one, unspecified, for none."""
    found: _Enum = kind["UNSPECIFIED" if word is None else word.upper()]
    return found
