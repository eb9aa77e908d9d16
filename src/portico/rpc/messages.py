"""JSON-RPC 2.0 messages: decoding, encoding, error codes and faults of a peer."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain import codecs
from portico.domain.json_depth import MAX_DEPTH, is_too_deep
from portico.rpc.framing import OverlongLine

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

    @property
    def reason(self) -> str:
        """The message and the details that many peers give in the data, for a person: one clean, short line."""
        from portico.domain.redaction import plain_line

        message = plain_line(self.message, _LONGEST_REASON)
        details = plain_line(_details(self.data), _LONGEST_REASON)
        if not details or details in message:
            return message
        return f"{message.rstrip('.: ')}: {details}" if message else details


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
_LONGEST_REASON = 600
# Where peers put their words, the most telling first; some put an error of another system there whole.
_DETAILS = ("details", "detail", "message", "reason", "error")
_DEEPEST_DETAILS = 4
_HEAD = 1024
_MEMBER = rb'\s*"(?:id|jsonrpc|method)"\s*:\s*(?:-?[0-9]{1,18}|"(?:[^"\\]|\\.){0,512}")\s*'
_TOO_DEEP = f"arrays and objects are nested more than {MAX_DEPTH} deep"


def decode_frame(line: bytes | OverlongLine) -> Frame | Fault:
    if isinstance(line, OverlongLine):
        return Fault("too_long", f"a line of {line.size} bytes is too long", "", line.size)
    try:
        if not line.isascii():
            line.decode()
        frame = _decoder.decode(line)
    except UnicodeDecodeError as error:
        return make_fault("not_utf8", str(error), line)
    except msgspec.ValidationError as error:
        return _without_error(line) or make_fault("not_a_message", str(error), line)
    except RecursionError:
        return make_fault("not_json", _TOO_DEEP, line)
    except msgspec.DecodeError as error:
        return _with_whole_characters(line) or make_fault("not_json", str(error), line)
    if is_too_deep(line):
        return make_fault("not_json", _TOO_DEEP, line)
    if frame.method is UNSET and frame.result is UNSET and frame.error is UNSET:
        return make_fault("not_a_message", "neither request, notification nor response", line)
    return frame


def malformed_request_id(line: bytes | OverlongLine) -> RequestId | UnsetType:
    """The id under which to refuse a request that cannot be decoded, so that its sender does not wait.

    None, as the protocol says, if the id itself cannot be repeated; UNSET if the line is no request.
    """
    found = _ruins(line)
    if isinstance(found, list):
        return None if any(isinstance(one, dict) and "method" in one for one in found) else UNSET
    if "method" not in found or "id" not in found:
        return UNSET
    return found["id"] if _is_repeatable(found["id"]) else None


def malformed_response_id(line: bytes | OverlongLine) -> RequestId | UnsetType:
    """The id of a response that cannot be decoded, if it can be made out: a caller here waits for it."""
    found = _ruins(line)
    if isinstance(found, list) or "method" in found or "id" not in found:
        return UNSET
    return found["id"] if _is_repeatable(found["id"]) else UNSET


def malformed_response_error(fault: Fault) -> RpcError:
    """What is said to whoever waits for an answer that cannot be decoded."""
    return RpcError(INTERNAL_ERROR, f"the answer is malformed: {fault.detail}")


def _without_error(line: bytes) -> Frame | None:
    try:
        answer = _no_error_decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return Frame(id=answer.id, result=answer.result)


def _with_whole_characters(line: bytes) -> Frame | Fault | None:
    """A notification with each half of a surrogate pair replaced; a fault that names them in any other message.

    A peer that cuts its text anywhere sends halves. What it says is shown; what it asks for is not guessed at.
    """
    import re

    # A pair, half of one, or any other escape: so that none is looked for in the middle of another.
    escape = rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|.)"
    whole = re.sub(escape, lambda found: rb"\ufffd" if len(found[0]) == 6 else found[0], line)
    try:
        frame = _decoder.decode(whole)
    except (msgspec.DecodeError, RecursionError):
        return None
    if frame.method is not UNSET and frame.id is UNSET and not is_too_deep(whole):
        return frame
    return make_fault("not_json", "a string has half of a surrogate pair in it", line)


def _is_repeatable(request_id: Any) -> bool:
    """Whether an id can be sent back: half of a surrogate pair cannot be encoded."""
    if type(request_id) is str:
        return not any("\ud800" <= letter <= "\udfff" for letter in request_id)
    return type(request_id) is int


def _ruins(line: bytes | OverlongLine) -> dict[str, Any] | list[Any]:
    """A message or a batch as far as the standard library reads it; it takes NaN, and half of a surrogate pair."""
    import json

    if isinstance(line, OverlongLine):
        return _short_members(line.head, line.tail)
    try:
        found = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        members = _short_members(line[:_HEAD], b"")
        return members if "method" in members or _is_answer(line) else {}
    return found if isinstance(found, (dict, list)) else {}


def _is_answer(line: bytes) -> bool:
    """Whether the first member of a broken line that is not short is a result or an error."""
    import re

    return re.match(rb'\s*\{(?:%b,)*\s*"(?:result|error)"\s*:' % _MEMBER, line[:_HEAD]) is not None


def _short_members(head: bytes, tail: bytes) -> dict[str, Any]:
    """The members that stand before and after the one that is long or broken, each as it is written.

    No string can look like that: a quotation mark in it is escaped.
    """
    import json
    import re

    before = re.match(rb"\s*\{((?:%b(?:,|(?=\})))*)" % _MEMBER, head)
    after = re.search(rb"((?:,%b)*)\}\s*$" % _MEMBER, tail)
    parts = (before[1].strip(b", ") if before else b"", after[1].strip(b", ") if after else b"")
    try:
        members: dict[str, Any] = json.loads(b"{%b}" % b",".join(filter(None, parts)))
    except ValueError:
        return {}
    return members


def make_fault(kind: FaultKind, detail: str, line: bytes) -> Fault:
    """A fault with a short, printable piece of the line that caused it."""
    text = line[:_SAMPLE].decode("utf-8", "replace")
    sample = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return Fault(kind, detail, sample, len(line))


def shorten(value: RequestId) -> str:
    """An id or a name from a peer, short enough for a message."""
    text = repr(value)
    return text if len(text) <= _SAMPLE else f"{text[:_SAMPLE]}…"


def _details(data: Any) -> str:
    """What the data of an error answer says in words, if anything."""
    if isinstance(data, Raw):
        try:
            data = codecs.decode_json(data)
        except (msgspec.DecodeError, RecursionError):
            return ""
    for _ in range(_DEEPEST_DETAILS):
        if not isinstance(data, dict):
            break
        data = next((data[name] for name in _DETAILS if data.get(name)), "")
    return data if isinstance(data, str) else ""


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
