"""Proxy that offers the tools of an attached window as an MCP server.

The window announces its tools and may change them at any time, so they are looked up for each request. What a tool
does is up to an extension: no tool counts as read-only, and each call needs permission.
"""

import base64
import secrets
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.components.permission import request_permission
from portico.components.tool_failure import tool_failure
from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.permissions.tool_name import mcp_tool_name
from portico.domain import codecs
from portico.domain.errors import PorticoError
from portico.domain.ids import SessionId
from portico.domain.tool_names import qualified_tool_name
from portico.domain.windows import ToolInvocation, WindowTool
from portico.mcp.server import InProcessServer, McpRequest, ToolServer
from portico.mcp.tools import McpImage, McpText, Tool, ToolCall, ToolFailure, ToolResult
from portico.rpc.messages import Message
from portico.sessions.windows import Window, Windows

SERVER_NAME = "vscode"
_ASK = "session/request_permission"
_LONGEST_DESCRIPTION = 4_000
_ALLOW = "call"
_OPTIONS = [
    acp.PermissionOption(option_id=_ALLOW, name="Call it", kind="allow_once"),
    acp.PermissionOption(option_id="leave", name="Do not call it", kind="reject_once"),
]
_MOST = 64


class AskedCalls:
    """Grants for calls of tools: once with the same arguments, or always in a session."""

    def __init__(self) -> None:
        self._once: list[tuple[str, str, Any]] = []
        self._always: set[tuple[str, str]] = set()

    def take(self, question: Message, answer: Message) -> None:
        """Take in a question of the agent and its answer. One that is malformed grants nothing."""
        try:
            asked = decode(question.params, acp.RequestPermissionRequest)
            given = decode(answer.result, acp.RequestPermissionResponse)  # type: ignore[arg-type]
        except (msgspec.DecodeError, TypeError):
            return
        name = mcp_tool_name(asked.tool_call).known
        if name is None or not isinstance(given.outcome, acp.SelectedPermissionOutcome):
            return
        kinds = {one.kind for one in asked.options if one.option_id == given.outcome.option_id}
        if kinds == {"allow_once"}:
            self._once.append((asked.session_id, name, asked.tool_call.raw_input or {}))
            del self._once[:-_MOST]
        elif kinds == {"allow_always"}:
            self._always.add((asked.session_id, name))

    def use(self, session_id: str, name: str, arguments: dict[str, Any]) -> bool:
        """Whether this call was allowed; a grant for one call is used up."""
        if (session_id, name) in self._always:
            return True
        once = (session_id, name, arguments)
        if once not in self._once:
            return False
        self._once.remove(once)
        return True

    def forget(self, session_id: str) -> None:
        self._once = [one for one in self._once if one[0] != session_id]
        self._always = {one for one in self._always if one[0] != session_id}


class EditorTools(McpProxy):
    """Stands right of the permission broker, which decides about each call."""

    name = "editor tools"
    agent_methods = McpProxy.agent_methods | {_ASK}

    def __init__(self, windows: Windows) -> None:
        super().__init__()
        self._windows = windows
        self._asked = AskedCalls()

    def servers(self, session: ChainSession) -> Sequence[InProcessServer]:
        if not session.placed.session or session.placed.reads_only is True:
            return ()
        server = _WindowServer(self, session)
        return (server,) if server.tools() else ()

    def forget(self, session: ChainSession) -> None:
        super().forget(session)
        self._asked.forget(session.session_id or "")

    def from_agent(self, message: Message) -> None:
        if message.method != _ASK:
            super().from_agent(message)
            return

        def answered(answer: Message) -> None:
            self._asked.take(message, answer)
            self.node.send_right(answer)

        self.forward_left(message, answered)

    def window(self, session: ChainSession) -> Window | None:
        """The window that the person last used on the session's folder."""
        return self._windows.of(Path(session.placed.workspace or session.cwd))

    async def permit(self, session: ChainSession, tool: WindowTool, arguments: dict[str, Any]) -> None:
        """Returns when the call is allowed. ToolFailure, for the model, if it is not."""
        session_id, name = session.session_id or "", qualified_tool_name(SERVER_NAME, tool.name)
        if self._asked.use(session_id, name, arguments):
            return
        call = acp.ToolCallUpdate(
            tool_call_id=f"portico-tool-{secrets.token_hex(8)}",
            title=f"{SERVER_NAME}: {tool.name}",
            name=name,
            kind="other",
            raw_input=arguments,
        )
        question = acp.RequestPermissionRequest(session_id=session_id, tool_call=call, options=_OPTIONS)
        if await request_permission(self.node, question) != _ALLOW:
            raise ToolFailure(
                f"The person did not agree, so {tool.name} was not called. Continue without it."
            )


class _WindowServer:
    """The tools of whichever window is attached when a request comes."""

    name = SERVER_NAME

    def __init__(self, proxy: EditorTools, session: ChainSession) -> None:
        self._proxy = proxy
        self._session = session
        self._session_id = SessionId(session.placed.session)

    async def answer(self, request: McpRequest) -> Any:
        return await ToolServer(SERVER_NAME, self.tools()).answer(request)

    def tools(self) -> list[Tool]:
        window = self._proxy.window(self._session)
        announced = () if window is None else window.tools(self._session_id)
        by_name = {one.name: one for one in announced if one.name}
        return [self._tool(one) for one in by_name.values()]

    def _tool(self, announced: WindowTool) -> Tool:
        description = announced.description[:_LONGEST_DESCRIPTION] or announced.name
        return Tool(announced.name, description, _schema(announced), partial(self._call, announced))

    async def _call(self, announced: WindowTool, call: ToolCall) -> ToolResult:
        await self._proxy.permit(self._session, announced, call.arguments)
        window = self._proxy.window(self._session)
        if window is None:
            raise ToolFailure("The person has closed the editor that has this tool. Continue without it.")
        arguments = msgspec.json.encode(call.arguments).decode()
        try:
            result = await window.invoke(
                self._session_id, ToolInvocation(name=announced.name, arguments=arguments)
            )
        except PorticoError as error:
            raise tool_failure(error) from error
        images = (
            McpImage(base64.b64encode(one.data).decode(), mime_type=one.mime_type) for one in result.images
        )
        return ToolResult((McpText(result.text), *images))


def _schema(announced: WindowTool) -> dict[str, Any]:
    """The input's schema; an empty one if it cannot be read."""
    try:
        return codecs.decode_json(announced.schema.encode() or b"{}", dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}
