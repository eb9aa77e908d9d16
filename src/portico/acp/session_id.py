"""Reads and adds the session id of parameters and results without decoding the rest of them."""

import msgspec
from msgspec import Raw

from portico.domain import codecs


class SessionParams(msgspec.Struct, frozen=True, rename="camel"):
    """Parameters or a result of which only the session id is of interest."""

    session_id: str | None = None


def with_session_id(params: Raw, session_id: str) -> Raw:
    """The parameters with a `sessionId`, unless they have one. msgspec.DecodeError if they are not an object."""
    fields = codecs.decode_json(params, dict[str, Raw])
    return Raw(msgspec.json.encode({"sessionId": session_id, **fields}))


def read_session_id(value: Raw | bytes) -> str | None:
    """The `sessionId` of parameters or of a result, if there is one."""
    try:
        return codecs.decode_json(value, SessionParams).session_id
    except (msgspec.DecodeError, RecursionError):
        return None
