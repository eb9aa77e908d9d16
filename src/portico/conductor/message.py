"""A JSON-RPC message on its way along the chain, with the bytes it came in.

Parameters and results stay as bytes. A message that nobody changes goes on as the very line it
was read from.
"""

from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.rpc.framing import LineSplitter
from portico.rpc.messages import (
    NO_PARAMS,
    ErrorObject,
    Frame,
    RequestId,
    RpcError,
    decode_frame,
    encode_error,
    encode_notification,
    encode_request,
    encode_result,
)


class Message(msgspec.Struct, frozen=True):
    """A request (id and method), a notification (method only) or a response (id only)."""

    line: bytes
    id: RequestId | UnsetType = UNSET
    method: str | None = None
    params: Raw = NO_PARAMS
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not None and not isinstance(self.id, UnsetType)

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


def from_frame(frame: Frame, line: bytes) -> Message:
    return Message(
        line + b"\n",
        frame.id,
        None if isinstance(frame.method, UnsetType) else frame.method,
        NO_PARAMS if isinstance(frame.params, UnsetType) else frame.params,
        frame.result,
        frame.error,
    )


def last_message(splitter: LineSplitter) -> Message | None:
    """What stands in a last line without a newline, if that is whole."""
    rest = splitter.end()
    frame = decode_frame(rest) if isinstance(rest, bytes) else None
    return from_frame(frame, rest) if isinstance(rest, bytes) and isinstance(frame, Frame) else None


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


def _raw(value: Any) -> Raw:
    return value if isinstance(value, Raw) else Raw(msgspec.json.encode(value))
