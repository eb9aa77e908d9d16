"""Guards against a model that loses its way: failures in a row, and changes that are described but not made."""

import re
from collections.abc import Sequence

import msgspec

from portico.porter.models.model import (
    Message,
    ModelText,
    ModelToolCall,
    ModelToolResult,
    ResponseFinished,
    UserMessage,
)
from portico.porter.profiles.profile import ProfileGuards

_CHANGE = re.compile(
    r"\b(?:add|change|correct|create|delete|fix|implement|make|move|remove|rename|repair|replace|rewrite|update|write)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"^\s*(?:how|what|where|which|who|why|when|is|are|does|do|can|could|should)\b", re.IGNORECASE
)
REMINDER = (
    "[You have not changed any file yet. If the task needs a change, make it now: call edit with the path, the lines "
    "to replace and the new lines. If not, give your answer again.]"
)


_CHANGES_FILES = frozenset(("edit", "write", "delete", "move", "propose_changes"))


class DriftGuard:
    """The course of one turn."""

    def __init__(self, guards: ProfileGuards) -> None:
        self._guards = guards
        self._reminders = guards.reminders
        self._changed = False
        self._unchecked = False
        self.failures = 0

    def note(self, results: Sequence[ModelToolResult]) -> None:
        """Record the results of a response."""
        changed = any(result.name in _CHANGES_FILES and not result.failed for result in results)
        self._changed = self._changed or changed
        self._unchecked = self._unchecked or changed
        for result in results:
            self.failures = self.failures + 1 if result.failed else 0

    def consume_change(self) -> bool:
        """Return whether something changed since the last call of this."""
        changed, self._unchecked = self._unchecked, False
        return changed

    @property
    def stuck(self) -> bool:
        return self._guards.failures is not None and self.failures >= self._guards.failures

    def reminder(self, finished: ResponseFinished, history: Sequence[Message]) -> str | None:
        """Return a message for a model that answers a request for a change without having made one."""
        if (
            self._changed
            or not self._reminders
            or finished.reason == "length"
            or not wants_change(_last_prompt(history))
        ):
            return None
        self._reminders -= 1
        return REMINDER


def first_calls(finished: ResponseFinished, most: int | None) -> ResponseFinished:
    """Return the response with at most so many calls."""
    if most is None or len(finished.message.calls) <= most:
        return finished
    kept = finished.message.calls[:most]
    parts = tuple(
        part for part in finished.message.parts if not isinstance(part, ModelToolCall) or part in kept
    )
    message = msgspec.structs.replace(finished.message, parts=parts)
    return msgspec.structs.replace(finished, message=message)


def wants_change(text: str) -> bool:
    """Return whether a prompt asks for a change of files."""
    return _CHANGE.search(text[:2000]) is not None and _QUESTION.match(text) is None


def _last_prompt(history: Sequence[Message]) -> str:
    return next(filter(None, map(_prompt_text, reversed(history))), "")


def _prompt_text(message: Message) -> str:
    """Return what the user wrote; what Porter adds is in brackets."""
    parts = message.parts if isinstance(message, UserMessage) else ()
    texts = (part.text for part in parts if isinstance(part, ModelText))
    return next((text for text in texts if not text.lstrip().startswith("[")), "")
