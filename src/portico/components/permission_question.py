"""Permission questions of components.

A question passes the permission broker, so that rules and grants apply. It is withdrawn when its answer is no longer
needed.
"""

import asyncio

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.conductor.node import ProxyNode
from portico.mcp.tools import ToolFailure
from portico.rpc.messages import (
    CANCEL_REQUEST,
    CancelParams,
    Message,
    RpcError,
    notification,
    outcome,
    request,
)


async def ask_permission(node: ProxyNode, question: acp.RequestPermissionRequest) -> bool:
    """Whether the answer allows it. ToolFailure, for the model, if the question cannot be asked."""
    if not question.session_id:
        raise ToolFailure("The session is still being opened. Call again in your turn.")
    try:
        answer = decode(await _answer(node, question), acp.RequestPermissionResponse)
    except (RpcError, msgspec.DecodeError) as error:
        raise ToolFailure("The person could not be asked, so nothing was done.") from error
    chosen = answer.outcome
    allowing = {one.option_id for one in question.options if one.kind.startswith("allow")}
    return isinstance(chosen, acp.SelectedPermissionOutcome) and chosen.option_id in allowing


async def _answer(node: ProxyNode, question: acp.RequestPermissionRequest) -> msgspec.Raw:
    answered: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    request_id = node.next_id()
    node.await_left(request_id, lambda message: None if answered.done() else answered.set_result(message))
    node.send_left(request(request_id, "session/request_permission", question))
    try:
        return outcome(await answered)
    except asyncio.CancelledError:
        node.send_left(notification(CANCEL_REQUEST, CancelParams(request_id)))
        raise
