"""The tool that hands a command to the person's own terminal in their editor."""

import secrets

from portico.acp import _schema as acp
from portico.components.code.arguments import InTerminal
from portico.components.code.session_paths import SessionPaths
from portico.components.permission import request_permission
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.node import ProxyNode
from portico.domain.errors import PorticoError
from portico.domain.windows import TerminalCommand
from portico.mcp.tools import ToolCall, ToolFailure
from portico.sessions.windows import Window

DESCRIPTION = """Hands a command to a terminal of the person's own in their editor, in their own folder. The person is \
asked first.

Only for commands that need a person: a login, a password, a prompt to answer, a program to look at. You get no \
output and no exit code. Run everything else with your own tools."""

_TERMINAL = "Portico"
_ALLOW = "run"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Run it in my terminal", kind="allow_once"),
    acp.PermissionOption(option_id="leave", name="Do not run it", kind="reject_once"),
]


async def run_in_terminal(
    node: ProxyNode, session: ChainSession, paths: SessionPaths, window: Window, call: ToolCall
) -> str:
    """Ask the person, then hand the command over; the result tells the model what it cannot see."""
    asked = call.read(InTerminal)
    cwd = paths.theirs(asked.cwd or ".")
    if not window.abilities.commands:
        raise ToolFailure("The person's editor offers no terminal any more. Ask the person to run it.")
    if await request_permission(node, _question(session.session_id or "", asked, cwd)) != _ALLOW:
        raise ToolFailure(
            "The person did not agree, so the command was not run. Continue without it, or ask why."
        )
    command = TerminalCommand(
        command=asked.command, cwd=cwd, title=asked.terminal.strip() or _TERMINAL, reveal=asked.reveal
    )
    try:
        sent = await window.dispatch(paths.session_id, command)
    except PorticoError as error:
        raise ToolFailure(f"{error.message} Ask the person whether the command runs.") from error
    if not sent.sent:
        raise ToolFailure(f"The command was not run. {sent.message}".strip())
    terminal = f" “{sent.terminal}”" if sent.terminal else ""
    return (
        f"The command was handed to the person's terminal{terminal}. What it prints is theirs: you cannot see "
        "it, nor when it ends. Ask the person what came of it, or look at what it should have changed."
    )


def _question(session_id: str, asked: InTerminal, cwd: str) -> acp.RequestPermissionRequest:
    told = {"command": asked.command, "cwd": cwd, "reason": asked.reason}
    call = acp.ToolCallUpdate(
        tool_call_id=f"portico-terminal-{secrets.token_hex(8)}",
        title=f"Run in your terminal: {asked.command}",
        kind="execute",
        raw_input={name: value for name, value in told.items() if value},
    )
    return acp.RequestPermissionRequest(session_id=session_id, tool_call=call, options=_OPTIONS)
