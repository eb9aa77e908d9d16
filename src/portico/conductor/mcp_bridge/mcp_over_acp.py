"""The messages of MCP over ACP in its present and its two older forms.

In the present one, `mcp/message` names the server and the request, and its answer carries the outcome of MCP
inside. In the older ones `mcp/connect` opens a connection first, and answers are those of MCP itself; the
oldest puts an underscore before each method. Every name that a field ever had is read; where the reader's age
is not known, all that could be meant are written.
"""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain import codecs
from portico.mcp.protocol import BACKEND_FAILED, present, raw
from portico.rpc.messages import INVALID_PARAMS, ErrorObject, Message, RequestId, RpcError, failure, response

MESSAGE = "mcp/message"
MESSAGES = frozenset({MESSAGE, "_mcp/message"})
CONNECTS = frozenset({"mcp/connect", "_mcp/connect"})
DISCONNECTS = frozenset({"mcp/disconnect", "_mcp/disconnect"})


class McpEnvelope(msgspec.Struct, frozen=True):
    """A message of any version of MCP-over-ACP; the ids it has tell the version."""

    server_id: str | None
    connection_id: str | None
    request_id: str | None
    method: str
    params: Raw | None


class _Wire(msgspec.Struct, frozen=True):
    server_id: str | None = msgspec.field(default=None, name="serverId")
    acp_id: str | None = msgspec.field(default=None, name="acpId")
    acp_url: str | None = None
    connection_id: str | None = msgspec.field(default=None, name="connectionId")
    early_connection_id: str | None = msgspec.field(default=None, name="connection_id")
    request_id: str | None = msgspec.field(default=None, name="requestId")
    method: str = ""
    params: Raw | UnsetType = UNSET


class _Outcome(msgspec.Struct, frozen=True):
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


def read_envelope(message: Message) -> McpEnvelope:
    """Read a message of any dialect. RpcError if it names no server or connection."""
    try:
        wire = codecs.decode_json(message.params, _Wire)
    except msgspec.DecodeError as error:
        raise RpcError(INVALID_PARAMS, f"{message.method}: {error}") from error
    server_id = wire.server_id or wire.acp_id or wire.acp_url
    connection_id = wire.connection_id or wire.early_connection_id
    if server_id is None and connection_id is None:
        raise RpcError(INVALID_PARAMS, f"{message.method} names neither a server nor a connection")
    return McpEnvelope(server_id, connection_id, wire.request_id, wire.method, present(wire.params))


def call(server_id: str, request_id: str, method: str, params: Any) -> dict[str, Any]:
    """The parameters of `mcp/message` in the present dialect."""
    return _with_params({"serverId": server_id, "requestId": request_id, "method": method}, params)


def connection_names(connection_id: str, spelling: str) -> dict[str, Any]:
    """A connection's id under every name by which a peer of this spelling may look for it."""
    if spelling.startswith("_"):
        return {"connectionId": connection_id, "connection_id": connection_id}
    return {"connectionId": connection_id}


def connected_call(connection_id: str, spelling: str, method: str, params: Any) -> dict[str, Any]:
    """The parameters of `mcp/message` in the dialects that have connections."""
    return _with_params({**connection_names(connection_id, spelling), "method": method}, params)


def connect_params(server_id: str, spelling: str) -> dict[str, Any]:
    if spelling.startswith("_"):
        return {"acp_url": server_id}
    return {"serverId": server_id, "acpId": server_id}


def answer_call(request_id: RequestId, outcome: Raw | RpcError) -> Message:
    """An answer of the present dialect: even an error of MCP is a success of the way to it."""
    if isinstance(outcome, RpcError):
        data = UNSET if isinstance(outcome.data, UnsetType) else raw(outcome.data)
        return response(request_id, {"error": ErrorObject(outcome.code, outcome.message, data)})
    return response(request_id, {"result": outcome})


def answer_connected(request_id: RequestId, outcome: Raw | RpcError) -> Message:
    """An answer of the dialects that have connections: MCP's own, bare."""
    if isinstance(outcome, RpcError):
        return failure(request_id, outcome)
    return response(request_id, outcome)


def read_outcome(carrier: Raw) -> Raw | RpcError:
    """The outcome in an answer of the current version. RpcError if there is none."""
    try:
        outcome = codecs.decode_json(carrier, _Outcome)
    except msgspec.DecodeError as error:
        raise RpcError(BACKEND_FAILED, f"the answer of {MESSAGE} is malformed: {error}") from error
    # Some write a result of null beside an error.
    if isinstance(outcome.error, ErrorObject):
        return RpcError(outcome.error.code, outcome.error.message, outcome.error.data)
    if isinstance(outcome.result, Raw):
        return outcome.result
    raise RpcError(BACKEND_FAILED, f"the answer of {MESSAGE} has neither a result nor an error")


def peer_method(method: str | None, name: Literal["connect", "message", "disconnect"]) -> str:
    """The name of a method as a peer spells it that used `method`."""
    return f"_mcp/{name}" if method is not None and method.startswith("_") else f"mcp/{name}"


def _with_params(fields: dict[str, Any], params: Any) -> dict[str, Any]:
    return fields if params is None else {**fields, "params": params}
