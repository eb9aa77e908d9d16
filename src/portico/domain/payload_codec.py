"""Encoding and decoding of event payloads for storage."""

import msgspec

from portico.domain import codecs
from portico.domain.events import PAYLOADS, AnyPayload

_encoder = msgspec.json.Encoder()


def encode_payload(payload: AnyPayload) -> bytes:
    return _encoder.encode(payload)


def decode_payload(kind: str, data: bytes) -> AnyPayload:
    """Read a payload back. Raises KeyError for an unknown kind, msgspec.DecodeError for bad JSON."""
    return codecs.decode_json(data, PAYLOADS[kind])
