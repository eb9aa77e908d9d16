"""Permission requests of components, which pass the permission broker as those of the agent do.

So denials, grants and rules hold for them, and every door can show them. A request is taken back when its answer is
no longer wanted.
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


async def request_permission(node: ProxyNode, question: acp.RequestPermissionRequest) -> str | None:
    """The id of the chosen option; None if the request was cancelled. ToolFailure if the person cannot be asked."""
    if not question.session_id:
        raise ToolFailure("The session is still being opened. Call again in your turn.")
    try:
        answer = decode(await _answer(node, question), acp.RequestPermissionResponse)
    except (RpcError, msgspec.DecodeError) as error:
        raise ToolFailure("The person could not be asked, so it was not done.") from error
    chosen = answer.outcome
    return chosen.option_id if isinstance(chosen, acp.SelectedPermissionOutcome) else None


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
