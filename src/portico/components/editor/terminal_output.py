"""Output of terminals as text, for editors that cannot show terminals.

An agent that runs a command puts the terminal into a tool call. An editor without terminals is shown the output
instead: what there is when the tool call mentions the terminal, and all of it when the command has ended.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.domain.errors import PorticoError
from portico.domain.values import TerminalOutput
from portico.rpc.messages import Message
from portico.sessions.ports import Editor, TerminalRequest

_MARK = b'"terminal"'


class _Shown(msgspec.Struct, frozen=True):
    session_id: str
    tool_call_id: str


class TerminalContent:
    """Terminals of one chain, and the tool calls that show them. `tell` notifies the client."""

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        self._tell = tell
        self._editors: dict[str, Editor] = {}
        self._shown: dict[str, _Shown] = {}

    def listener(self, editor: Editor) -> "TerminalContentListener":
        return TerminalContentListener(self, editor)

    def translated(self, message: Message) -> Message:
        """An update with the output of terminals as text."""
        if not self._editors or _MARK not in message.line:
            return message
        try:
            told = decode(message.params, acp.SessionNotification)
        except msgspec.DecodeError:
            return message
        update = told.update
        if not isinstance(update, acp.ToolCall | acp.ToolCallProgress) or not update.content:
            return message
        content = [self._as_text(one, told.session_id, update.tool_call_id) for one in update.content]
        changed = msgspec.structs.replace(told, update=msgspec.structs.replace(update, content=content))
        return message.with_params(changed)

    def created(self, terminal_id: str, editor: Editor) -> None:
        self._editors[terminal_id] = editor

    def ended(self, terminal_id: str) -> None:
        """Show all of the output, if a tool call shows the terminal."""
        shown = self._shown.pop(terminal_id, None)
        if shown is not None:
            content: list[acp.ToolCallContent] = [_text(self._output(terminal_id))]
            update = acp.ToolCallProgress(tool_call_id=shown.tool_call_id, content=content)
            self._tell("session/update", acp.SessionNotification(session_id=shown.session_id, update=update))

    def _as_text(self, part: acp.ToolCallContent, session_id: str, tool_call_id: str) -> acp.ToolCallContent:
        if not isinstance(part, acp.Terminal) or part.terminal_id not in self._editors:
            return part
        self._shown[part.terminal_id] = _Shown(session_id, tool_call_id)
        return _text(self._output(part.terminal_id))

    def _output(self, terminal_id: str) -> str:
        terminals = self._editors[terminal_id].terminals
        try:
            return "" if terminals is None else terminals.snapshot(terminal_id).output
        except PorticoError:  # released already
            return ""


class TerminalContentListener:
    """Hears what the commands of one session do. Writes are not recorded: the agent tells of them."""

    def __init__(self, content: TerminalContent, editor: Editor) -> None:
        self._content = content
        self._editor = editor

    def heard(self, output: TerminalOutput) -> None:
        if output.ended:
            self._content.ended(output.terminal_id)

    def ran(self, terminal_id: str, request: TerminalRequest) -> None:
        self._content.created(terminal_id, self._editor)

    def settled(self, terminal_id: str) -> None:
        return

    def has_tool_call(self, path: str) -> bool:
        return True

    async def text_before(self, path: str) -> str | None:
        return None

    def wrote(self, path: str, old: str | None, new: str) -> None:
        return


def _text(words: str) -> acp.Content:
    return acp.Content(content=acp.TextContent(text=words))
