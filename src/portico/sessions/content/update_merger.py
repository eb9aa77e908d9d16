"""Merges updates that arrive in pieces (compactions, messages, plans, subagents) into single events.

A compaction with its summary, all named plans, and a message between the agent's sessions become one event each. What
is incomplete when the turn ends is recorded as it is.
"""

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.acp import _schema as acp
from portico.domain.content_blocks import describe_block
from portico.domain.events import AnyPayload, Notice, UsageUpdated
from portico.sessions.content import translation
from portico.sessions.content.plans import Plans
from portico.sessions.content.translation import as_raw

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

    def describe_message(self, sender: str | UnsetType | None, recipient: str | UnsetType | None) -> str:
        """Sender and recipient of a message, as text."""
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
    return "was started" if new else "was updated"


MAX_HELD = 256 * 1024
_ABOUT_COMPACTIONS = (acp.UsageUpdate, acp.CompactionUpdate, acp.CompactionSummaryChunk)
_ABOUT_MESSAGES = ("sender_session_id", "recipient_session_id", "sender_message_id", "recipient_message_id")


class _Compaction:
    """A compaction that is in progress; `before` is the number of tokens at its start."""

    def __init__(self, compaction_id: str, before: int | None) -> None:
        self.update = acp.CompactionUpdate(compaction_id=compaction_id, status="in_progress")
        self.before = before
        self.summary: list[acp.ContentBlock] = []

    def patch(self, update: acp.CompactionUpdate) -> None:
        if update.summary is not UNSET:
            self.summary = list(update.summary or ())
        error = self.update.error if update.error is UNSET else update.error
        self.update = msgspec.structs.replace(update, error=error)

    @property
    def over(self) -> bool:
        return self.update.status != "in_progress"

    def notice(self, after: int | None) -> Notice:
        whole = msgspec.structs.replace(self.update, summary=self.summary or UNSET)
        failed = self.update.status == "failed"
        return Notice(
            level="warning" if failed else "info",
            text=self._words(after),
            details=text_of_blocks(self.summary) or None,
            source="agent",
            raw=translation.as_raw(whole),
        )

    def _words(self, after: int | None) -> str:
        match self.update.status:
            case "completed" if self.before and after is not None and after < self.before:
                change = f"{_tokens(self.before)} → {_tokens(after)} tokens"
                return f"The agent compacted the conversation: {change}."
            case "completed":
                return "The agent compacted the conversation."
            case "failed":
                why = f": {self.update.error}" if isinstance(self.update.error, str) else "."
                return f"The agent could not compact the conversation{why}"
            case "cancelled":
                return "The agent stopped compacting the conversation."
            case _:
                return "The agent began to compact the conversation."


class _Message:
    """A message from one of the agent's sessions to another."""

    def __init__(self, message_id: str) -> None:
        self.update = acp.SessionMessage(message_id=message_id)
        self.content: list[acp.ContentBlock] = []

    def patch(self, update: acp.SessionMessage) -> None:
        if update.content is not UNSET:
            self.content = list(update.content or ())
        given = {name: value for name in _ABOUT_MESSAGES if (value := getattr(update, name)) is not UNSET}
        self.update = msgspec.structs.replace(self.update, **given)

    def notice(self, subagents: Subagents) -> Notice:
        whole = msgspec.structs.replace(self.update, content=self.content)
        text = subagents.describe_message(self.update.sender_session_id, self.update.recipient_session_id)
        return Notice(
            level="info",
            text=text,
            details=text_of_blocks(self.content) or None,
            source="agent",
            raw=translation.as_raw(whole),
        )


class UpdateMerger:
    """Takes every update that is not about a tool call, in order; `settle` ends a turn."""

    def __init__(self) -> None:
        self._used: int | None = None
        self._compactions: dict[str, _Compaction] = {}
        self._message: _Message | None = None
        self._held = 0
        self.plans = Plans()
        self._subagents = Subagents()

    def take(self, update: acp.SessionUpdate) -> Iterator[AnyPayload]:
        """The events of an update, and those that are complete with it."""
        if self._message is not None and not isinstance(update, acp.SessionMessage | acp.SessionMessageChunk):
            yield from self._tell_message()
        if self._compactions and not isinstance(update, _ABOUT_COMPACTIONS):
            yield from self._tell_compactions()
        match update:
            case acp.AgentMessageChunk() | acp.AgentThoughtChunk():  # First: nearly all updates are text.
                yield translation.other_update(update)
            case acp.CompactionUpdate(compaction_id=compaction_id):
                self._compaction(compaction_id).patch(update)
                yield from self._tell_compactions(await_usage=True)
                yield from self._bounded(update)
            case acp.CompactionSummaryChunk(compaction_id=compaction_id, content=block):
                self._compaction(compaction_id).summary.append(block)
                yield from self._bounded(block)
            case acp.SessionMessage(message_id=message_id):
                yield from self._tell_message(but=message_id)
                self._open_message(message_id).patch(update)
            case acp.SessionMessageChunk(message_id=message_id, content=block):
                yield from self._tell_message(but=message_id)
                self._open_message(message_id).content.append(block)
                yield from self._bounded(block)
            case acp.SubagentUpdate():
                yield self._subagents.take(update)
            case acp.Plan() | acp.PlanUpdate() | acp.PlanRemoved():
                yield from self.plans.take(update)
            case _:
                payload = translation.other_update(update)
                yield payload
                if isinstance(payload, UsageUpdated):
                    self._used = payload.used
                    yield from self._tell_compactions()

    def settle(self) -> Iterator[AnyPayload]:
        """The events of everything that is still incomplete."""
        yield from self._tell_message()
        yield from self._tell_compactions(unfinished=True)

    def _compaction(self, compaction_id: str) -> _Compaction:
        return self._compactions.setdefault(compaction_id, _Compaction(compaction_id, self._used))

    def _open_message(self, message_id: str) -> _Message:
        if self._message is None:
            self._message = _Message(message_id)
        return self._message

    def _tell_compactions(self, *, await_usage: bool = False, unfinished: bool = False) -> Iterator[Notice]:
        """Finished compactions. Their token count often follows, and is waited for."""
        for compaction_id, compaction in list(self._compactions.items()):
            unknown = compaction.before is not None and self._used == compaction.before
            waits = await_usage and unknown and compaction.update.status == "completed"
            if unfinished or (compaction.over and not waits):
                del self._compactions[compaction_id]
                yield compaction.notice(self._used)

    def _tell_message(self, *, but: str | None = None) -> Iterator[Notice]:
        message = self._message
        if message is not None and message.update.message_id != but:
            self._message = None
            yield message.notice(self._subagents)

    def _bounded(self, piece: acp.ContentBlock | acp.CompactionUpdate) -> Iterator[AnyPayload]:
        """Parts of a long message, so that little of it is kept in memory."""
        self._held += len(msgspec.json.encode(piece))
        if self._held > MAX_HELD:
            yield from self.settle()
        if not self._compactions and self._message is None:
            self._held = 0


def text_of_blocks(blocks: Sequence[acp.ContentBlock]) -> str:
    """Content as text, with a description of what is not text."""
    return "".join(describe_block(Raw(msgspec.json.encode(block))) for block in blocks).strip()


def _tokens(count: int) -> str:
    return str(count) if count < 1000 else f"{count / 1000:.1f}".removesuffix(".0") + "k"
