"""JSON-RPC 2.0 on the wire: one envelope in, five shapes out. Parameters stay as bytes."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain import codecs
from portico.rpc.framing import Overlong

RequestId = int | str | None

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
REQUEST_CANCELLED = -32800

CANCEL_REQUEST = "$/cancel_request"
NO_PARAMS = Raw(b"{}")


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Raw | UnsetType = UNSET


class Frame(msgspec.Struct, frozen=True):
    """Any message at all. Which fields are there says which kind it is."""

    id: RequestId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


class _NoError(msgspec.Struct, frozen=True):
    """A result beside which the peer says that there was no error."""

    id: RequestId
    result: Raw
    error: None


class RpcError(Exception):
    """An error answer, sent by the peer or to be sent to it."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ConnectionLost(Exception):
    """The peer went away before it answered."""


FaultKind = Literal[
    "not_utf8", "not_json", "not_a_message", "too_long", "unknown_response", "duplicate_id", "bad_params"
]


class Fault(msgspec.Struct, frozen=True):
    """Something the peer sent that the protocol does not allow; the connection goes on."""

    kind: FaultKind
    detail: str
    sample: str
    size: int


_decoder = codecs.json_decoder(Frame)
_no_error_decoder = codecs.json_decoder(_NoError)
_encoder = msgspec.json.Encoder()
_SAMPLE = 200


def decode_frame(line: bytes | Overlong) -> Frame | Fault:
    if isinstance(line, Overlong):
        return Fault("too_long", f"a line of {line.size} bytes is too long", "", line.size)
    try:
        if not line.isascii():
            line.decode()
        frame = _decoder.decode(line)
    except UnicodeDecodeError as error:
        return fault_of("not_utf8", str(error), line)
    except msgspec.ValidationError as error:
        return _without_error(line) or fault_of("not_a_message", str(error), line)
    except (msgspec.DecodeError, RecursionError) as error:
        return _with_whole_characters(line) or fault_of("not_json", str(error), line)
    if frame.method is UNSET and frame.result is UNSET and frame.error is UNSET:
        return fault_of("not_a_message", "neither request, notification nor response", line)
    return frame


def id_in_ruins(line: bytes | Overlong) -> RequestId | UnsetType:
    """The id of a request that cannot be decoded, if it can still be made out: its sender waits for an answer."""
    found = _ruins(line)
    return found["id"] if "method" in found else UNSET


def answered_in_ruins(line: bytes | Overlong) -> RequestId | UnsetType:
    """The id that a response has which cannot be decoded, if it can be made out: somebody here waits for it."""
    found = _ruins(line)
    return found["id"] if found and "method" not in found else UNSET


def malformed_answer(fault: Fault) -> RpcError:
    """What is said to whoever waits for an answer that cannot be decoded."""
    return RpcError(INTERNAL_ERROR, f"the answer is malformed: {fault.detail}")


def _without_error(line: bytes) -> Frame | None:
    try:
        answer = _no_error_decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return Frame(id=answer.id, result=answer.result)


def _with_whole_characters(line: bytes) -> Frame | None:
    """A notification in which halves of characters stand, each told as a character that is not known.

    A peer that cuts its text anywhere sends them. What it says is shown; what it asks for is not guessed at.
    """
    import re

    # A pair, half of one, or any other escape: so that none is looked for in the middle of another.
    escape = rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)"
    whole = re.sub(escape, lambda found: rb"\ufffd" if len(found[0]) == 6 else found[0], line)
    try:
        frame = _decoder.decode(whole)
    except (msgspec.DecodeError, RecursionError):
        return None
    return frame if frame.method is not UNSET and frame.id is UNSET else None


def _ruins(line: bytes | Overlong) -> dict[str, Any]:
    """A message with an id, as far as the standard library reads it; it takes NaN, and half of a surrogate pair."""
    import json

    whole = _short_members(line) if isinstance(line, Overlong) else line
    try:
        found = json.loads(whole.decode(errors="replace"))
    except (ValueError, RecursionError):
        return {}
    has_id = isinstance(found, dict) and type(found.get("id")) in (int, str)
    return found if has_id else {}


def _short_members(line: Overlong) -> bytes:
    """An object of what stands before and after the one member that is long, each as it is written.

    No string can look like that: a quotation mark in it is escaped.
    """
    import re

    member = rb'\s*"(?:id|jsonrpc|method)"\s*:\s*(?:-?[0-9]{1,18}|"(?:[^"\\]|\\.){0,512}")\s*'
    before = re.match(rb"\s*\{((?:%b,)*)" % member, line.head)
    after = re.search(rb"((?:,%b)*)\}\s*$" % member, line.tail)
    parts = (before[1].strip(b", ") if before else b"", after[1].strip(b", ") if after else b"")
    return b"{%b}" % b",".join(filter(None, parts))


def fault_of(kind: FaultKind, detail: str, line: bytes) -> Fault:
    """A fault with a short, printable piece of the line that caused it."""
    text = line[:_SAMPLE].decode("utf-8", "replace")
    sample = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return Fault(kind, detail, sample, len(line))


def encode_request(request_id: RequestId, method: str, params: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}\n' % (
        _encoder.encode(request_id),
        _encoder.encode(method),
        _encoder.encode(params),
    )


def encode_notification(method: str, params: Any) -> bytes:
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}\n' % (_encoder.encode(method), _encoder.encode(params))


def encode_result(request_id: RequestId, result: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_encoder.encode(request_id), _encoder.encode(result))


def encode_error(request_id: RequestId, error: RpcError) -> bytes:
    data = error.data if isinstance(error.data, UnsetType) else Raw(_encoder.encode(error.data))
    body = ErrorObject(error.code, error.message, data)
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (_encoder.encode(request_id), _encoder.encode(body))
