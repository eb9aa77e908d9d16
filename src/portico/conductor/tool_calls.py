"""What an agent has told of its open tool calls, so that a question about one is read in full.

A permission request may leave out what an earlier update said: the kind, the command, the paths.
Only what rules look at is kept.
"""

import msgspec

from portico.acp import _schema as acp

MAX_OPEN = 512
_ABOUT = ("title", "name", "kind", "content", "locations", "raw_input")


class ToolCalls:
    """The open calls of one session; of too many, the oldest are forgotten."""

    def __init__(self) -> None:
        self._open: dict[str, acp.ToolCallUpdate] = {}

    def take(self, call: acp.ToolCall | acp.ToolCallUpdate) -> None:
        if call.status in ("completed", "failed"):
            self._open.pop(call.tool_call_id, None)
            return
        told = acp.ToolCallUpdate(
            tool_call_id=call.tool_call_id,
            kind=call.kind,
            title=call.title,
            name=call.name,
            content=None if call.content is None else _paths_only(call.content),
            locations=call.locations,
            raw_input=call.raw_input,
        )
        self._open[call.tool_call_id] = self.complete(told)
        if len(self._open) > MAX_OPEN:
            del self._open[next(iter(self._open))]

    def complete(self, call: acp.ToolCallUpdate) -> acp.ToolCallUpdate:
        """The call with what was told of it before, wherever it leaves something out."""
        earlier = self._open.get(call.tool_call_id)
        if earlier is None:
            return call
        known = {name: getattr(earlier, name) for name in _ABOUT if getattr(call, name) is None}
        return msgspec.structs.replace(call, **known)


def _paths_only(content: list[acp.ToolCallContent]) -> list[acp.ToolCallContent]:
    return [acp.Diff(path=part.path, new_text="") for part in content if isinstance(part, acp.Diff)]
