"""Calls that an agent has asked permission for by itself, so that the person is not asked twice."""

from typing import Any

import msgspec

from portico.acp import _schema as acp
from portico.acp.lenient_decoder import decode
from portico.conductor.permissions.tool_name import mcp_tool_name
from portico.rpc.messages import Message

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
