"""The agent's own helpers, as far as it tells of them: their names, and what they do now."""

from msgspec import UNSET, UnsetType

from portico.acp import _schema as acp
from portico.domain.events import Notice
from portico.sessions.translate import as_raw

_DOING = {
    "running": "is at work",
    "idle": "is done for now",
    "requires_action": "waits for an answer",
    "unknown": "may be at work",
}


class Subagents:
    def __init__(self) -> None:
        self._titles: dict[str, str | None] = {}

    def take(self, update: acp.SubagentUpdate) -> Notice:
        new = update.session_id not in self._titles
        if new or update.title is not UNSET:
            self._titles[update.session_id] = update.title or None
        failed = isinstance(update.state, acp.StateUpdate) and update.state.error is not None
        return Notice(
            level="warning" if failed else "info",
            text=f"The subagent {self._name(update.session_id)} {_what_it_does(update, new=new)}.",
            details=update.description or None,
            source="agent",
            raw=as_raw(update),
        )

    def correspondents(self, sender: str | UnsetType | None, recipient: str | UnsetType | None) -> str:
        """Who says something to whom, in words."""
        origin = f" from {self._name(sender)}" if sender else ""
        goal = f" to {self._name(recipient)}" if recipient else ""
        return f"A message{origin}{goal} inside the agent."

    def _name(self, session_id: str) -> str:
        return f"“{self._titles.get(session_id) or session_id}”"


def _what_it_does(update: acp.SubagentUpdate, *, new: bool) -> str:
    state = update.state
    if isinstance(state, acp.StateUpdate):
        if state.error is not None:
            return f"failed: {state.error.message.rstrip('.')}"
        return _DOING.get(state.state, f"is {state.state}")
    return "was started" if new else "has news of itself"
