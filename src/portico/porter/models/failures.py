"""Translates provider errors into errors that say what the person can do.

Knows pydantic-ai's errors, which sort those of every provider, and of a single provider only where each
puts the time to wait.
"""

import logging
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelTimeoutError,
    ModelUnavailableError,
)

from portico.domain.errors import (
    AuthRequired,
    ContextLimit,
    InvalidInput,
    ModelBusy,
    ModelRefused,
    ModelReported,
    ModelTimedOut,
    PorticoError,
)
from portico.porter.models.providers import ModelProvider

log = logging.getLogger(__name__)

_MAX_WORDS = 500
_WINDOW_WORDS = re.compile(
    r"context (?:size|length|window)|prompt is too long|too many (?:input )?tokens", re.IGNORECASE
)
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")
_ANOTHER = "Choose another model with: portico models use NAME"


class ResponseFailed(AgentRunError):
    """The provider gave the answer up itself, as it does when a model wrote a call that cannot be read."""


class ProviderFailure(NamedTuple):
    """An error for the person; whether sending the request again may help; the pause that was asked for."""

    error: PorticoError
    again: bool
    pause: float | None = None


def explain_failure(
    error: Exception, provider: ModelProvider, model: str, *, hidden: str | None
) -> ProviderFailure:
    """`hidden` is the key: providers like to repeat what they were sent."""
    words = _said(error, hidden)
    name = provider.name
    if isinstance(error, ModelContextWindowExceededError) or _is_about_window(error, words):
        return ProviderFailure(
            ContextLimit(
                f"The conversation is too long for {name}:{model}.",
                suggestion="Begin a new session, or choose a model with a larger window.",
            ),
            again=False,
        )
    match error:
        case ModelAuthenticationError():
            return ProviderFailure(
                AuthRequired(
                    f"{name} does not accept the key: {words}",
                    suggestion=f"Give it a new one with: portico auth login {name}"
                    + (f", or in {provider.key_variables[0]}." if provider.key_variables else "."),
                ),
                again=False,
            )
        case ModelQuotaExceededError():
            return ProviderFailure(
                ModelBusy(
                    f"The account at {name} has nothing left: {words}",
                    suggestion=f"Add credit at {name}. {_ANOTHER}",
                ),
                again=False,
            )
        case ModelRateLimitError():
            pause = _asked_pause(error)
            return ProviderFailure(
                ModelBusy(
                    f"{name} gets too many requests: {words}",
                    suggestion=f"Wait {round(pause)} s and send it again."
                    if pause
                    else "Wait a minute and send it again.",
                ),
                again=True,
                pause=pause,
            )
        case ModelUnavailableError() | ModelServerError():
            return ProviderFailure(
                ModelBusy(
                    f"{name} cannot answer right now: {words}", suggestion=f"Send it again later. {_ANOTHER}"
                ),
                again=True,
                pause=_asked_pause(error),
            )
        case ResponseFailed():
            return ProviderFailure(
                ModelReported(
                    f"{name}:{model} gave its answer up: {words}", suggestion=f"Send it again. {_ANOTHER}"
                ),
                again=True,
            )
        case ModelNotFoundError():
            near = getattr(error, "suggested_model_id", None)
            return ProviderFailure(
                InvalidInput(
                    f"{name} has no model {model!r}: {words}",
                    suggestion=f"Did you mean {near}?"
                    if near
                    else f"See what there is with: portico models list {name}",
                ),
                again=False,
            )
        case ModelConnectionError() | ModelRequestTimeout() | OSError():
            return ProviderFailure(_unheard(error, provider, words), again=True)
        case ContentFilterError():
            return ProviderFailure(refusal_error(f"{name}:{model}", words), again=False)
        case ModelAPIError():
            return ProviderFailure(
                ModelReported(f"{name} reports: {words}", suggestion=f"Send it again. {_ANOTHER}"),
                again=False,
            )
        case _:
            log.warning("%s:%s sent what its client could not take", name, model, exc_info=error)
            return ProviderFailure(
                ModelReported(
                    f"{name}:{model} answered in a way that makes no sense: {words}",
                    suggestion=f"Send it again. {_ANOTHER}",
                ),
                again=False,
            )


def _unheard(error: Exception, provider: ModelProvider, words: str) -> ModelTimedOut:
    """Nothing came, or no more of it."""
    match error:
        case ModelTimeoutError() | ModelRequestTimeout() | TimeoutError():
            return ModelTimedOut(f"{provider.name} fell silent.", suggestion=f"Send it again. {_ANOTHER}")
        case ModelConnectionError(phase="pool" | "connect"):
            where = f" at {provider.address}" if provider.address else ""
            return ModelTimedOut(
                f"{provider.name}{where} cannot be reached: {words}",
                suggestion="Check the network and the address, or work offline with: "
                "portico models use offline:smollm2",
            )
        case _:
            return interrupted_error(provider.name)


def interrupted_error(name: str) -> ModelTimedOut:
    return ModelTimedOut(
        f"The answer of {name} broke off in the middle.", suggestion="Send the prompt again, or: go on"
    )


def refusal_error(name: str, words: str = "") -> ModelRefused:
    return ModelRefused(
        f"{name} would not answer that{': ' + words if words else '.'}",
        suggestion=f"Say it in other words. {_ANOTHER}",
    )


def _is_about_window(error: Exception, words: str) -> bool:
    """Servers that speak OpenAI's language have no common code for this, only words."""
    return isinstance(error, ModelRequestRejectedError) and bool(_WINDOW_WORDS.search(words))


def _asked_pause(error: ModelAPIError) -> float | None:
    """The header that the others have, or what Google writes into the error: `"retryDelay": "7s"`."""
    if (seconds := getattr(error, "retry_after", None)) is not None:
        return float(seconds)
    match getattr(error, "body", None):
        case {"error": {"details": [*details]}}:
            delays = [detail.get("retryDelay") for detail in details if isinstance(detail, dict)]
            found = (_SECONDS.fullmatch(delay) for delay in delays if isinstance(delay, str))
            return next((float(match[1]) for match in found if match), None)
        case _:
            return None


def _said(error: Exception, hidden: str | None) -> str:
    """The sentence in what the provider sent, without the JSON around it."""
    body = getattr(error, "body", None)
    found = next(_messages(body), None) or (body if isinstance(body, str) and body.strip() else None)
    words = found or getattr(error, "message", None) or str(error) or type(error).__name__
    flat = " ".join(str(words).split())
    flat = flat.replace(hidden, "…") if hidden else flat
    return flat if len(flat) <= _MAX_WORDS else flat[: _MAX_WORDS - 1] + "…"


def _messages(body: Any) -> Iterator[str]:
    if isinstance(body, dict):
        for name in ("message", "error", "detail"):
            value = body.get(name)
            if isinstance(value, str) and value.strip():
                yield value
            else:
                yield from _messages(value)
