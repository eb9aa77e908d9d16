"""Provenance of an answer: the prompt, model and run that it came from."""

from typing import Any

import msgspec

from portico.domain.events import (
    ConfigUpdated,
    Event,
    Notice,
    PromptSubmitted,
    TurnEnded,
    UsageUpdated,
)
from portico.domain.timestamps import format_time
from portico.domain.turns import TurnState
from portico.domain.values import PromptReference

SCHEMA_VERSION = 1
_COMPLETE = "end_turn"
_CUT_OFF = {
    "max_tokens": "The answer was cut off at the token limit of the model.",
    "refusal": "The model refused to answer.",
    "cancelled": "The run was cancelled; the answer is incomplete.",
    "timeout": "The run took too long and was stopped; the answer is incomplete.",
}


class RunProvenance(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Origin of an answer. `variables` are names only: values may be long or private.

    An answer that is not `complete` was cut off; `finishReason` says why. `textFingerprint` is the SHA-256 of the text
    as it was written to a file.
    """

    schema_version: int = SCHEMA_VERSION
    prompt: str
    version: str | None
    fingerprint: str
    variables: tuple[str, ...]
    agent: str
    model: str | None
    started_at: str
    completed_at: str
    finish_reason: str
    complete: bool
    session_id: str
    trace_id: str
    text_fingerprint: str | None = None


class RunUsage(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Tokens of a run; None if the agent does not report them."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class PromptRun:
    """Collects the facts of one run from the events of its turn."""

    def __init__(self, source: PromptReference, variables: tuple[str, ...]) -> None:
        self._source = source
        self._variables = variables
        self._started = self._completed = 0
        self._ended: TurnEnded | None = None
        self.usage = RunUsage()
        self.session_cost: float | None = None
        self.model: str | None = None
        self.warnings: list[str] = []

    def take(self, event: Event) -> None:
        match event.payload:
            case PromptSubmitted():
                self._started = event.at
            case ConfigUpdated(options=options):
                chosen = [one.value for one in options if one.category == "model"]
                self.model = next((one for one in chosen if isinstance(one, str)), self.model)
            case UsageUpdated() as update:
                self._add(update)
            case Notice(level="warning", text=text):
                self.warnings.append(text)
            case TurnEnded() as ended:
                self._ended, self._completed = ended, event.at
                if ended.stop_reason in _CUT_OFF:
                    self.warnings.append(_CUT_OFF[ended.stop_reason])
            case _:
                pass

    def _add(self, update: UsageUpdated) -> None:
        if update.cost is not None and update.currency in (None, "USD"):
            self.session_cost = update.cost
        if update.input_tokens is not None or update.output_tokens is not None:
            self.usage = RunUsage(input_tokens=update.input_tokens, output_tokens=update.output_tokens)

    @property
    def complete(self) -> bool:
        ended = self._ended
        return ended is not None and ended.state is TurnState.COMPLETED and ended.stop_reason == _COMPLETE

    @property
    def provider(self) -> str | None:
        """The provider of the model, if its name tells it."""
        provider, colon, _ = (self.model or "").partition(":")
        return provider if colon else None

    def provenance(self, *, agent: str, session_id: str, trace_id: str) -> RunProvenance:
        return RunProvenance(
            prompt=self._source.name,
            version=self._source.version,
            fingerprint=self._source.fingerprint,
            variables=self._variables,
            agent=agent,
            model=self.model,
            started_at=format_time(self._started),
            completed_at=format_time(self._completed or self._started),
            finish_reason=self._ended.stop_reason if self._ended else "unknown",
            complete=self.complete,
            session_id=session_id,
            trace_id=trace_id,
        )


def provenance_fields(provenance: RunProvenance) -> dict[str, Any]:
    """Return the fields that are set, by their names in JSON."""
    fields: dict[str, Any] = msgspec.to_builtins(provenance)
    return {key: value for key, value in fields.items() if value is not None}
