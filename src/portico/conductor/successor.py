"""The `proxy/initialize` and `proxy/successor` methods, and a chain that is itself a proxy of another
conductor.

Such a chain has no agent. Messages for the agent go back to the conductor, wrapped, and the agent's messages come
wrapped from there, over the same connection as the client's. Ids stay as the conductor gave them: it gave them all,
so no two that are open at a time are the same.
"""

from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain import codecs
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INVALID_PARAMS,
    NO_PARAMS,
    Message,
    RequestId,
    RpcError,
    cancelled_request_id,
    notification,
    request,
    response,
)

INITIALIZE = "initialize"
PROXY_INITIALIZE, LEGACY_PROXY_INITIALIZE = "proxy/initialize", "_proxy/initialize"
PROXY_SUCCESSOR = "proxy/successor"
REQUESTS = frozenset({PROXY_SUCCESSOR, "_proxy/successor", "_proxy/successor/request"})
NOTIFICATIONS = frozenset({PROXY_SUCCESSOR, "_proxy/successor", "_proxy/successor/notification"})

_OLDEST_SUCCESSOR = "_proxy/successor/request"
_SUCCESSOR_OF = {PROXY_INITIALIZE: PROXY_SUCCESSOR, LEGACY_PROXY_INITIALIZE: "_proxy/successor"}
_MARK = "proxy"
"""In the oldest dialect `initialize` is for a proxy if its `_meta` has this, and so must the answer."""


class SuccessorEnvelope(msgspec.Struct, frozen=True, omit_defaults=True):
    """The parameters of `proxy/successor`. Its `_meta` is for one hop, so it is neither read nor passed on."""

    method: str
    params: Raw | UnsetType = UNSET


def successor_method(spelling: str, kind: Literal["request", "notification"]) -> str:
    """The name of the wrapping method as a peer spells it that used `spelling`."""
    return f"_proxy/successor/{kind}" if spelling.startswith("_proxy/successor/") else spelling


def wrap_message(message: Message, spelling: str, request_id: RequestId | UnsetType) -> Message:
    """A request or notification in the envelope in which it goes to a successor, or comes from one."""
    envelope = SuccessorEnvelope(str(message.method), message.params)
    if isinstance(request_id, UnsetType):
        return notification(successor_method(spelling, "notification"), envelope)
    return request(request_id, successor_method(spelling, "request"), envelope)


def unwrap_message(message: Message, request_id: RequestId | UnsetType) -> Message:
    """The message in the envelope. RpcError if there is none."""
    try:
        inner = codecs.decode_json(message.params, SuccessorEnvelope)
    except msgspec.DecodeError as error:
        raise RpcError(INVALID_PARAMS, f"{message.method} needs a method") from error
    params = NO_PARAMS if isinstance(inner.params, UnsetType) else inner.params
    if isinstance(request_id, UnsetType):
        return notification(inner.method, params)
    return request(request_id, inner.method, params)


def is_wrapped(message: Message) -> bool:
    return message.method in (NOTIFICATIONS if isinstance(message.id, UnsetType) else REQUESTS)


class Successor:
    """The agent's side of a chain that is a proxy, behind the connection that it shares with the client."""

    def __init__(self, spelling: str) -> None:
        self._spelling = spelling
        self._asked: set[RequestId] = set()
        self._asking: set[RequestId] = set()
        self._hello: RequestId | UnsetType = UNSET

    def sent(self, message: Message) -> Message:
        """A message for the agent, as the conductor is to be sent it. Cancellations belong to one hop."""
        if message.is_response:
            self._asking.discard(message.id)
            return message
        if message.method == CANCEL_REQUEST:
            return message
        if not isinstance(message.id, UnsetType):
            self._asked.add(message.id)
            if message.method == INITIALIZE and self._spelling == _OLDEST_SUCCESSOR:
                self._hello = message.id
        return wrap_message(message, self._spelling, message.id)

    def heard(self, message: Message) -> Message | None:
        """The agent's message inside one of the conductor; None if it is the client's. RpcError as above."""
        if message.is_response:
            return self._answer(message)
        if message.method == CANCEL_REQUEST:
            return message if cancelled_request_id(message.params) in self._asking else None
        if not is_wrapped(message):
            return None
        inner = unwrap_message(message, message.id)
        if not isinstance(inner.id, UnsetType):
            self._asking.add(inner.id)
        return inner

    def _answer(self, message: Message) -> Message | None:
        if message.id not in self._asked:
            return None
        self._asked.remove(message.id)
        if message.id != self._hello or not isinstance(message.result, Raw):
            return message
        self._hello = UNSET
        return response(message.id, _with_mark(message.result))


def read_greeting(message: Message) -> tuple[Message, Successor | None]:
    """`initialize` as a chain's own proxies are to see it, and a successor if it was said to a proxy."""
    if message.method in _SUCCESSOR_OF:
        hello = request(message.id, INITIALIZE, message.params)  # type: ignore[arg-type]
        return hello, Successor(_SUCCESSOR_OF[message.method])
    if message.method == INITIALIZE and (plain := _without_mark(message.params)) is not None:
        return message.with_params(plain), Successor(_OLDEST_SUCCESSOR)
    return message, None


def _without_mark(params: Raw) -> dict[str, Raw] | None:
    """The same parameters without the mark of the oldest dialect; None if they do not have it."""
    fields = _fields(params)
    meta = _fields(fields.get("_meta", NO_PARAMS))
    if bytes(meta.pop(_MARK, NO_PARAMS)) != b"true":
        return None
    return {**fields, "_meta": _raw(meta)}


def _with_mark(result: Raw) -> Raw:
    fields = _fields(result)
    meta = {**_fields(fields.get("_meta", NO_PARAMS)), _MARK: Raw(b"true")}
    return _raw({**fields, "_meta": _raw(meta)})


def _fields(value: Raw) -> dict[str, Raw]:
    try:
        return codecs.decode_json(value, dict[str, Raw])
    except msgspec.DecodeError:
        return {}


def _raw(fields: dict[str, Raw]) -> Raw:
    return Raw(msgspec.json.encode(fields))
