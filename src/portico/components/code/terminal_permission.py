"""Permission request for a command in the person's terminal.

The question passes the permission broker, so that denials and standing agreements count. It is taken back when
nobody wants the answer any more.
"""

import asyncio
import secrets

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

_ALLOW, _REJECT = "run", "leave"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Run it in my terminal", kind="allow_once"),
    acp.PermissionOption(option_id=_REJECT, name="Do not run it", kind="reject_once"),
]


class TerminalPermission(msgspec.Struct, frozen=True, kw_only=True):
    session_id: str
    command: str
    cwd: str
    reason: str


async def request_terminal_permission(node: ProxyNode, asked: TerminalPermission) -> None:
    """Returns when the person agrees. ToolFailure, for the model, if not."""
    if not asked.session_id:
        raise ToolFailure("The session is still being opened. Call again in your turn.")
    try:
        answer = decode(await _answer(node, _question(asked)), acp.RequestPermissionResponse)
    except (RpcError, msgspec.DecodeError) as error:
        raise ToolFailure("The person could not be asked, so the command was not run.") from error
    chosen = answer.outcome
    if not isinstance(chosen, acp.SelectedPermissionOutcome) or chosen.option_id != _ALLOW:
        raise ToolFailure(
            "The person did not agree, so the command was not run. Go on without it, or ask why."
        )


def _question(asked: TerminalPermission) -> acp.RequestPermissionRequest:
    told = {"command": asked.command, "cwd": asked.cwd, "reason": asked.reason}
    call = acp.ToolCallUpdate(
        tool_call_id=f"portico-terminal-{secrets.token_hex(8)}",
        title=f"Run in your terminal: {asked.command}",
        kind="execute",
        raw_input={name: value for name, value in told.items() if value},
    )
    return acp.RequestPermissionRequest(session_id=asked.session_id, tool_call=call, options=_OPTIONS)


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
