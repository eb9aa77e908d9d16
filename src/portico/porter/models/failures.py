"""Translates provider errors into Portico's errors, which say what the user can do.

It relies on pydantic-ai's exception classes, and reads provider-specific data only for the retry delay.
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
    """The provider ended the response, for example because the model wrote an unreadable call."""


class ProviderFailure(NamedTuple):
    """An error for the user, whether a retry may help, and the delay that the provider requested."""

    error: PorticoError
    again: bool
    pause: float | None = None


def explain_failure(
    error: Exception, provider: ModelProvider, model: str, *, hidden: str | None
) -> ProviderFailure:
    """Translate an error of a provider. `hidden` is the key, which is removed from messages."""
    words = _said(error, hidden)
    name = provider.name
    if isinstance(error, ModelContextWindowExceededError) or _is_about_window(error, words):
        return ProviderFailure(
            ContextLimit(
                f"The conversation is too long for {name}:{model}.",
                suggestion="Start a new session, or choose a model with a larger context window.",
            ),
            again=False,
        )
    match error:
        case ModelAuthenticationError():
            return ProviderFailure(
                AuthRequired(
                    f"{name} rejected the key: {words}",
                    suggestion=f"Store a new one with: portico auth login {name}"
                    + (f", or set {provider.key_variables[0]}." if provider.key_variables else "."),
                ),
                again=False,
            )
        case ModelQuotaExceededError():
            return ProviderFailure(
                ModelBusy(
                    f"The quota of the account at {name} is used up: {words}",
                    suggestion=f"Add credit at {name}. {_ANOTHER}",
                ),
                again=False,
            )
        case ModelRateLimitError():
            pause = _asked_pause(error)
            return ProviderFailure(
                ModelBusy(
                    f"{name} limits the rate of requests: {words}",
                    suggestion=f"Wait {round(pause)} s and try again."
                    if pause
                    else "Wait a minute and try again.",
                ),
                again=True,
                pause=pause,
            )
        case ModelUnavailableError() | ModelServerError():
            return ProviderFailure(
                ModelBusy(f"{name} is unavailable: {words}", suggestion=f"Try again later. {_ANOTHER}"),
                again=True,
                pause=_asked_pause(error),
            )
        case ResponseFailed():
            return ProviderFailure(
                ModelReported(
                    f"{name}:{model} ended its answer early: {words}", suggestion=f"Try again. {_ANOTHER}"
                ),
                again=True,
            )
        case ModelNotFoundError():
            near = getattr(error, "suggested_model_id", None)
            return ProviderFailure(
                InvalidInput(
                    f'{name} has no model "{model}": {words}',
                    suggestion=f"Did you mean {near}?"
                    if near
                    else f"List its models with: portico models list {name}",
                ),
                again=False,
            )
        case ModelConnectionError() | ModelRequestTimeout() | OSError():
            return ProviderFailure(_unheard(error, provider, words), again=True)
        case ContentFilterError():
            return ProviderFailure(refusal_error(f"{name}:{model}", words), again=False)
        case ModelAPIError():
            return ProviderFailure(
                ModelReported(f"{name} reports: {words}", suggestion=f"Try again. {_ANOTHER}"),
                again=False,
            )
        case _:
            log.warning("unexpected error of %s:%s", name, model, exc_info=error)
            return ProviderFailure(
                ModelReported(
                    f"{name}:{model} sent an invalid response: {words}",
                    suggestion=f"Try again. {_ANOTHER}",
                ),
                again=False,
            )


def _unheard(error: Exception, provider: ModelProvider, words: str) -> ModelTimedOut:
    """Return the error for a missing or interrupted response."""
    match error:
        case ModelTimeoutError() | ModelRequestTimeout() | TimeoutError():
            return ModelTimedOut(f"{provider.name} stopped responding.", suggestion=f"Try again. {_ANOTHER}")
        case ModelConnectionError(phase="pool" | "connect"):
            where = f" at {provider.address}" if provider.address else ""
            return ModelTimedOut(
                f"{provider.name}{where} cannot be reached: {words}",
                suggestion="Check the network and the address, or work offline with: "
                "portico models pull qwen2.5-coder",
            )
        case _:
            return interrupted_error(provider.name)


def interrupted_error(name: str) -> ModelTimedOut:
    return ModelTimedOut(
        f"The answer of {name} was interrupted.", suggestion="Send the prompt again, or “continue”."
    )


def refusal_error(name: str, words: str = "") -> ModelRefused:
    return ModelRefused(
        f"{name} refused to answer{': ' + words if words else '.'}",
        suggestion=f"Rephrase the prompt. {_ANOTHER}",
    )


def _is_about_window(error: Exception, words: str) -> bool:
    """OpenAI-compatible servers have no common error code for this, so match the message."""
    return isinstance(error, ModelRequestRejectedError) and bool(_WINDOW_WORDS.search(words))


def _asked_pause(error: ModelAPIError) -> float | None:
    """Return the delay of the Retry-After header, or of Google's error body: `"retryDelay": "7s"`."""
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
    """Return the message of a provider's error, without the JSON around it."""
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
