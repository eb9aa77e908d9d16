"""Decoding of JSON, MessagePack and plain values into types, safe in every thread.

msgspec works out the structure of a type when the type is first decoded, and other threads that see this work half
done crash the process (docs/decisions/0011-one-module-decodes.md). Here it is done once for each type, under a lock;
after that, decoding takes no lock. All of Portico decodes through this module, which ruff enforces. Encoding is safe
as it is: use msgspec.
"""

import threading
from typing import Any, TypeVar, overload

import msgspec

T = TypeVar("T")

# Reentrant, because a signal handler or a finalizer may decode while its own thread is preparing a type.
_preparation = threading.RLock()
_json: dict[Any, msgspec.json.Decoder[Any]] = {}
_msgpack: dict[Any, msgspec.msgpack.Decoder[Any]] = {}


@overload
def decode_json(data: bytes | msgspec.Raw | str) -> Any: ...
@overload
def decode_json(data: bytes | msgspec.Raw | str, expected: type[T]) -> T: ...
@overload
def decode_json(data: bytes | msgspec.Raw | str, expected: Any) -> Any: ...
def decode_json(data: bytes | msgspec.Raw | str, expected: Any = Any) -> Any:
    """Decode JSON; without a type, into dicts, lists and scalars.

    Raises msgspec.DecodeError for what is not JSON, msgspec.ValidationError for what does not fit the type.
    """
    return json_decoder(expected).decode(data)


@overload
def json_decoder(expected: type[T]) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(expected: Any) -> msgspec.json.Decoder[Any]: ...
def json_decoder(expected: Any) -> msgspec.json.Decoder[Any]:
    """Return the JSON decoder of a type, for a module that decodes the type often."""
    decoder = _json.get(expected)
    if decoder is None:
        with _preparation:
            decoder = _json[expected] = msgspec.json.Decoder(expected)
    return decoder


@overload
def decode_msgpack(data: bytes, expected: type[T]) -> T: ...
@overload
def decode_msgpack(data: bytes, expected: Any) -> Any: ...
def decode_msgpack(data: bytes, expected: Any) -> Any:
    """Decode MessagePack, with the errors of `decode_json`."""
    return _msgpack_decoder(expected).decode(data)


@overload
def convert(value: object, expected: type[T]) -> T: ...
@overload
def convert(value: object, expected: Any) -> Any: ...
def convert(value: object, expected: Any) -> Any:
    """Convert dicts, lists and scalars to a type. Raises msgspec.ValidationError where they do not fit."""
    # `expected` may only be equal to the type that was prepared, and msgspec would work it out anew.
    return msgspec.convert(value, _msgpack_decoder(expected).type)


def _msgpack_decoder(expected: Any) -> msgspec.msgpack.Decoder[Any]:
    decoder = _msgpack.get(expected)
    if decoder is None:
        with _preparation:
            decoder = _msgpack[expected] = msgspec.msgpack.Decoder(expected)
    return decoder
