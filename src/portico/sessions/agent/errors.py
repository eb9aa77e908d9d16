"""Translates the error that an agent names in a JSON-RPC error into one of Portico's errors.

Any agent may name one: it only affects the message, the exit code and the buttons of the error card. Errors that
only Portico can know (a crashed process, a busy session) are not accepted from an agent. Malformed data is ignored.
"""

from typing import Any, assert_never

import msgspec
from msgspec import Raw

from portico.acp.extensions import FailureMeta
from portico.domain import codecs
from portico.domain.errors import (
    AuthRequired,
    BudgetExceeded,
    ContextLimit,
    ErrorDetails,
    InvalidInput,
    ModelBusy,
    ModelFailed,
    ModelFailure,
    ModelRefused,
    ModelReported,
    ModelTimedOut,
    PermissionDenied,
    PorticoError,
)
from portico.rpc.messages import RpcError

_MAX_SUGGESTION = 1000
_BY_CODE: dict[str, type[PorticoError]] = {
    kind.code: kind
    for kind in (AuthRequired, BudgetExceeded, ContextLimit, InvalidInput, ModelTimedOut, PermissionDenied)
}


def error_from_agent(
    error: RpcError, details: ErrorDetails, auth_methods: tuple[str, ...]
) -> PorticoError | None:
    """The error that a response names; None if it names none that an agent may report."""
    meta = _decode_error_data(error.data)
    kind = _kind(meta)
    if kind is None:
        return None
    message = error.message.removesuffix(meta.suggestion or "").rstrip()
    suggestion = (meta.suggestion or "").strip()[:_MAX_SUGGESTION] or None
    facts = ErrorDetails(agent=details.agent)
    if kind is AuthRequired:
        facts = msgspec.structs.replace(facts, auth_methods=auth_methods)
    elif kind is ModelReported:
        facts = details
    return kind(message or error.message, suggestion=suggestion, details=facts)


class _Data(msgspec.Struct, frozen=True):
    """The part of an error's data that Portico reads."""

    portico: FailureMeta = FailureMeta()


def _decode_error_data(data: Any) -> FailureMeta:
    try:
        return codecs.decode_json(data, _Data).portico if isinstance(data, Raw) else FailureMeta()
    except msgspec.DecodeError:
        return FailureMeta()


def _kind(meta: FailureMeta) -> type[PorticoError] | None:
    if meta.code == ModelFailed.code:
        return None if meta.model_failure is None else _model_error_kind(meta.model_failure)
    return _BY_CODE.get(meta.code)


def _model_error_kind(failure: ModelFailure) -> type[PorticoError]:
    match failure:
        case "full":
            return ContextLimit
        case "silent":
            return ModelTimedOut
        case "busy":
            return ModelBusy
        case "refused":
            return ModelRefused
        case "failed":
            return ModelReported
        case _:
            assert_never(failure)
