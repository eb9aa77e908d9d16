"""Guard against a model that repeats the same call with the same result."""

import msgspec

from portico.domain import codecs
from portico.porter.models.model import ModelToolCall, ModelToolResult
from portico.porter.profiles.profile import ProfileGuards

REFUSAL = (
    "This call was not made: you made it {times} with exactly these arguments and the same result, "
    "and nothing has changed since. Do something else: read another file, search for other words, ask the "
    "user, or finish with what you know."
)


class RepetitionGuard:
    """The calls of one turn. `refused` counts the calls that were refused."""

    def __init__(self, guards: ProfileGuards) -> None:
        self._guards = guards
        self._seen: dict[str, tuple[int, int]] = {}
        self.refused = 0

    def refuses(self, call: ModelToolCall) -> str | None:
        """Return a message for the model if the call is a repetition; otherwise None."""
        count, _ = self._seen.get(_key(call), (0, 0))
        if count < self._guards.repetitions:
            return None
        self.refused += 1
        return REFUSAL.format(times="once" if count == 1 else f"{count} times")

    def note(self, call: ModelToolCall, result: ModelToolResult, *, changes: bool) -> None:
        """Record a call. After one that `changes` something, earlier calls may be repeated."""
        if changes and not result.failed:
            self._seen.clear()
            return
        key, fingerprint = _key(call), hash(result.parts)
        count, last = self._seen.get(key, (0, fingerprint))
        self._seen[key] = (count + 1 if last == fingerprint else 1, fingerprint)

    @property
    def hopeless(self) -> bool:
        return self.refused >= self._guards.refusals


def _key(call: ModelToolCall) -> str:
    try:
        value = codecs.decode_json(call.arguments or "{}")
        arguments = msgspec.json.encode(value, order="sorted").decode()
    except (msgspec.MsgspecError, RecursionError):
        arguments = call.arguments
    return f"{call.name} {arguments}"
