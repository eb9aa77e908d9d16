"""Open tool calls as earlier updates described them, used to complete permission requests.

A permission request may leave out what an earlier update said: the kind, the command, the paths. Only the fields
that rules use are kept, and only for open sessions.
"""

from collections.abc import Container
from contextlib import suppress

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.rpc.messages import Message

MAX_OPEN_CALLS = 512
_ABOUT = ("title", "name", "kind", "content", "locations", "raw_input", "meta")


class _Kind(msgspec.Struct, frozen=True, rename="camel"):
    session_update: str


class _Update(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    update: _Kind


class _ToolUpdate(msgspec.Struct, frozen=True, rename="camel"):
    update: acp.ToolCall | acp.ToolCallProgress


class _ChildUpdate(msgspec.Struct, frozen=True, rename="camel"):
    update: acp.SubagentUpdate


UPDATE_KINDS = ("tool_call", "tool_call_update", "subagent_update")
"""Kinds of `session/update` that a tracker records."""


class ToolCallTracker:
    def __init__(self) -> None:
        self._calls: dict[str, dict[str, acp.ToolCallUpdate]] = {}
        self._roots: dict[str, str] = {}

    def record(self, message: Message, open_sessions: Container[str]) -> None:
        """Record a `session/update`; an unreadable one is ignored."""
        # Nearly all updates are text, and looking for these words is all that such an update costs.
        if b"tool_call" not in message.line and b"subagent_update" not in message.line:
            return
        with suppress(msgspec.DecodeError):
            session = decode(message.params, _Update)
            if self.root_of(session.session_id) not in open_sessions:
                return
            kind = session.update.session_update
            if kind in ("tool_call", "tool_call_update"):
                self._keep(session.session_id, decode(message.params, _ToolUpdate).update)
            elif kind == "subagent_update":
                child = decode(message.params, _ChildUpdate).update.session_id
                if child not in open_sessions:
                    self._roots.setdefault(child, self.root_of(session.session_id))

    def root_of(self, session_id: str) -> str:
        """The session that a client opened; a child of it works in its folder and under its rules."""
        return self._roots.get(session_id, session_id)

    def complete(self, session_id: str, call: acp.ToolCallUpdate) -> acp.ToolCallUpdate:
        """The call with the fields it leaves out taken from earlier updates."""
        earlier = self._calls.get(session_id, {}).get(call.tool_call_id)
        if earlier is None:
            return call
        known = {name: getattr(earlier, name) for name in _ABOUT if getattr(call, name) in (None, {})}
        return msgspec.structs.replace(call, **known)

    def forget(self, root: str) -> None:
        """Drop everything about a session and its children."""
        children = [child for child, parent in self._roots.items() if parent == root]
        for session_id in (root, *children):
            self._calls.pop(session_id, None)
            self._roots.pop(session_id, None)

    def _keep(self, session_id: str, call: acp.ToolCall | acp.ToolCallProgress) -> None:
        calls = self._calls.setdefault(session_id, {})
        if call.status in ("completed", "failed"):
            calls.pop(call.tool_call_id, None)
            return
        latest = acp.ToolCallUpdate(
            tool_call_id=call.tool_call_id,
            kind=call.kind,
            title=call.title,
            name=call.name,
            content=None if call.content is None else _paths_only(call.content),
            locations=call.locations,
            raw_input=call.raw_input,
            meta=call.meta,
        )
        calls[call.tool_call_id] = self.complete(session_id, latest)
        if len(calls) > MAX_OPEN_CALLS:
            del calls[next(iter(calls))]


def _paths_only(content: list[acp.ToolCallContent]) -> list[acp.ToolCallContent]:
    return [acp.Diff(path=part.path, new_text="") for part in content if isinstance(part, acp.Diff)]
