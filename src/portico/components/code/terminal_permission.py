"""Permission request for a command in the person's terminal."""

import secrets

import msgspec

from portico.acp import _schema as acp
from portico.components.permission import request_permission
from portico.conductor.node import ProxyNode
from portico.mcp.tools import ToolFailure

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
    if await request_permission(node, _question(asked)) != _ALLOW:
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
