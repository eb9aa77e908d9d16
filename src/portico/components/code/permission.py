"""Permission requests of the code tools.

A question passes the permission broker, so that rules and standing grants count. It is withdrawn when the tool call
that asks it is cancelled.
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


class ToolPermission(msgspec.Struct, frozen=True, kw_only=True):
    """A question, and the option that means consent. `undone` says what has not happened if there is none."""

    session_id: str
    call: acp.ToolCallUpdate
    options: list[acp.PermissionOption]
    consent: str
    undone: str


async def request_permission(node: ProxyNode, asked: ToolPermission) -> None:
    """Returns when the person agrees. ToolFailure, for the model, if not."""
    if not asked.session_id:
        raise ToolFailure("The session is still being opened. Call again in your turn.")
    question = acp.RequestPermissionRequest(
        session_id=asked.session_id, tool_call=asked.call, options=asked.options
    )
    try:
        answer = decode(await _answer(node, question), acp.RequestPermissionResponse)
    except (RpcError, msgspec.DecodeError) as error:
        raise ToolFailure(f"The person could not be asked, so {asked.undone}.") from error
    chosen = answer.outcome
    if not isinstance(chosen, acp.SelectedPermissionOutcome) or chosen.option_id != asked.consent:
        raise ToolFailure(f"The person did not agree, so {asked.undone}. Go on without it, or ask why.")


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
