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


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    code: int
    message: str
    data: Raw | UnsetType = UNSET


class Frame(msgspec.Struct, frozen=True, gc=False):
    """Any message; its kind follows from the fields that are present."""

    id: RequestId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


class Message(msgspec.Struct, frozen=True, gc=False):
    """A request (id and method), a notification (method only) or a response (id only)."""

    line: bytes
    id: RequestId | UnsetType = UNSET
    method: str | None = None
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not UNSET

    @property
    def is_response(self) -> bool:
        return self.method is None

    def renamed(self, request_id: RequestId) -> "Message":
        """The same message under another id, for the next hop."""
        if self.method is not None:
            return request(request_id, self.method, self.params)
        if isinstance(self.error, ErrorObject):
            return failure(request_id, RpcError(self.error.code, self.error.message, self.error.data))
        return response(request_id, self.result)

    def with_params(self, params: Any) -> "Message":
        """The same request or notification with other parameters."""
        method = self.method or ""
        if isinstance(self.id, UnsetType):
            return notification(method, params)
        return request(self.id, method, params)


class _NoError(msgspec.Struct, frozen=True):
    """A result with an explicit null error."""

    id: RequestId
    result: Raw
    error: None


class CancelParams(msgspec.Struct, frozen=True, rename="camel"):
    """The parameters of `$/cancel_request`."""

    request_id: RequestId


class Cancellation(msgspec.Struct, frozen=True):
    """The notification that cancels a request in a protocol, with the field that has the id of the request."""

    method: str
    field: str

    def params(self, request_id: RequestId) -> dict[str, RequestId]:
        return {self.field: request_id}

    def request_id(self, params: Raw) -> RequestId | UnsetType:
        """The id of the request that a notification names; UNSET if it names none."""
        try:
            named = codecs.decode_json(params, dict[str, Raw]).get(self.field)
            request_id: RequestId | UnsetType = (
                UNSET if named is None else codecs.decode_json(named, RequestId)
            )
            return request_id
        except msgspec.DecodeError:
            return UNSET


ACP_CANCELLATION = Cancellation(CANCEL_REQUEST, "requestId")


class RpcError(Exception):
    """An error response, received or to be sent."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def reason(self) -> str:
        """The message, and details from the data, as one short line for a person."""
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
    """A message that violates the protocol; the connection goes on."""

    kind: FaultKind
    detail: str
    sample: str
    size: int


_decoder = codecs.json_decoder(Frame)
_no_error_decoder = codecs.json_decoder(_NoError)
_encoder = msgspec.json.Encoder()
_SAMPLE = 200
_LONGEST_REASON = 600
# Where peers put details, the most specific first; some embed the error of another system.
_DETAILS = ("details", "detail", "message", "reason", "error")
_DEEPEST_DETAILS = 4
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


def _without_error(line: bytes) -> Frame | None:
    try:
        answer = _no_error_decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return Frame(id=answer.id, result=answer.result)


def _with_whole_characters(line: bytes) -> Frame | Fault | None:
    """A notification with each half of a surrogate pair replaced; a fault that names them in any other message.

    Peers that cut text anywhere send halves. Notifications are shown; requests and responses are not guessed at.
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


def make_fault(kind: FaultKind, detail: str, line: bytes) -> Fault:
    """A fault with a short, printable piece of the line that caused it."""
    line = line.removesuffix(b"\n")
    text = line[:_SAMPLE].decode("utf-8", "replace")
    sample = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return Fault(kind, detail, sample, len(line))


def shorten(value: RequestId) -> str:
    """An id or a name from a peer, short enough for a message."""
    text = repr(value)
    return text if len(text) <= _SAMPLE else f"{text[:_SAMPLE]}…"


def _details(data: Any) -> str:
    """The text in the data of an error response, if any."""
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
    """A request as a line. Parameters that are UNSET are left out."""
    if params is UNSET:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}\n' % (
            _encoder.encode(request_id),
            _encoder.encode(method),
        )
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}\n' % (
        _encoder.encode(request_id),
        _encoder.encode(method),
        _encoder.encode(params),
    )


def encode_notification(method: str, params: Any) -> bytes:
    if params is UNSET:
        return b'{"jsonrpc":"2.0","method":%b}\n' % _encoder.encode(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}\n' % (_encoder.encode(method), _encoder.encode(params))


def encode_result(request_id: RequestId, result: Any) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (_encoder.encode(request_id), _encoder.encode(result))


def encode_error(request_id: RequestId, error: RpcError) -> bytes:
    data = error.data if isinstance(error.data, UnsetType) else Raw(_encoder.encode(error.data))
    body = ErrorObject(error.code, error.message, data)
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (_encoder.encode(request_id), _encoder.encode(body))


def from_frame(frame: Frame, line: bytes) -> Message:
    return Message(
        line + b"\n",
        frame.id,
        None if frame.method is UNSET else frame.method,
        NO_PARAMS if frame.params is UNSET else frame.params,
        frame.result,
        frame.error,
    )


def request(request_id: RequestId, method: str, params: Any) -> Message:
    raw = _raw(params)
    return Message(encode_request(request_id, method, raw), request_id, method, raw)


def notification(method: str, params: Any) -> Message:
    raw = _raw(params)
    return Message(encode_notification(method, raw), UNSET, method, raw)


def response(request_id: RequestId, result: Any) -> Message:
    raw = _raw(result)
    return Message(encode_result(request_id, raw), request_id, result=raw)


def failure(request_id: RequestId, error: RpcError) -> Message:
    data = error.data if isinstance(error.data, UnsetType) else _raw(error.data)
    body = ErrorObject(error.code, error.message, data)
    return Message(encode_error(request_id, error), request_id, error=body)


def outcome(message: Message) -> Raw:
    """The result of a response; RpcError if it is an error."""
    if isinstance(message.error, ErrorObject):
        raise RpcError(message.error.code, message.error.message, message.error.data)
    return message.result if isinstance(message.result, Raw) else Raw(b"null")


def cancelled_request_id(params: Raw) -> RequestId | UnsetType:
    """The id of the request that a `$/cancel_request` names."""
    try:
        return codecs.decode_json(params, CancelParams).request_id
    except msgspec.DecodeError:
        return UNSET


def _raw(value: Any) -> Raw:
    return value if isinstance(value, Raw) else Raw(msgspec.json.encode(value))
