"""JSON codec for Connect calls that rejects input nested too deep.

The library's parser overflows the stack, and ends the process, on arrays nested some ten thousand deep.
"""

from typing import Any

from connectrpc.codec import Codec, proto_json_codec

from portico.domain.json_depth import MAX_DEPTH, is_too_deep


class BoundedJsonCodec(Codec[Any, Any]):
    def __init__(self) -> None:
        self._inner = proto_json_codec()

    def name(self) -> str:
        return self._inner.name()

    def encode(self, message: Any) -> bytes:
        return self._inner.encode(message)

    def decode(self, data: bytes | bytearray, message_class: type[Any]) -> Any:
        """Decode a message. Raises ValueError, an invalid argument for the client, if it is nested too deep."""
        if is_too_deep(bytes(data)):
            raise ValueError(f"arrays and objects are nested more than {MAX_DEPTH} deep")
        return self._inner.decode(data, message_class)
