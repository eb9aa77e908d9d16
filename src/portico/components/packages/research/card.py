"""The research as the person sees it: a tool call in the session that asked, with what the agent finds so far."""

import secrets

from portico.acp import _schema as acp
from portico.conductor.proxy import Proxy
from portico.mcp.tools import ToolCall

_LONGEST_TITLE = 120
_LONGEST_TEXT = 8 * 1024
_STEP = 200


class ResearchCard:
    """Reports progress to the client as updates of a tool call, and to the agent as MCP progress."""

    def __init__(self, proxy: Proxy, call: ToolCall, title: str) -> None:
        self._proxy = proxy
        self._call = call
        self._call_id = f"portico-research-{secrets.token_hex(8)}"
        self._text = ""
        self._shown = 0
        self._steps = 0
        self._send(
            acp.ToolCall(
                tool_call_id=self._call_id,
                title=title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…",
                kind="think",
                status="in_progress",
            )
        )

    def add(self, text: str) -> None:
        """More of what the agent says. Shown in portions."""
        self._text += text
        if len(self._text) - self._shown < _STEP and "\n" not in text:
            return
        self._shown = len(self._text)
        self._steps += 1
        last = self._text.strip().rpartition("\n")[2]
        self._call.progress(self._steps, message=last[-_STEP:])
        self._send(acp.ToolCallProgress(tool_call_id=self._call_id, content=_content(self._text)))

    def end(self, text: str, *, failed: bool = False) -> None:
        self._send(
            acp.ToolCallProgress(
                tool_call_id=self._call_id, status="failed" if failed else "completed", content=_content(text)
            )
        )

    def _send(self, update: acp.ToolCall | acp.ToolCallProgress) -> None:
        if self._call.session_id is not None:
            self._proxy.tell_client(
                "session/update", acp.SessionNotification(session_id=self._call.session_id, update=update)
            )


def _content(text: str) -> list[acp.ToolCallContent]:
    return [acp.Content(content=acp.TextContent(text=text.strip()[-_LONGEST_TEXT:]))]
