"""Keeps a history within the model's context window: drops old tool results, then summarizes.

The newest messages stay as they are. The compacted history is stored in the transcript, and the user is notified.
"""

from collections.abc import Sequence

import msgspec

from portico.domain.errors import ModelFailed, PorticoError
from portico.porter.history import well_formed
from portico.porter.model_loop.token_estimate import TokenEstimate
from portico.porter.models.model import (
    AssistantMessage,
    Message,
    Model,
    ModelImage,
    ModelRequest,
    ModelText,
    ModelToolCall,
    ModelToolResult,
    ModelUsage,
    RequestLimits,
    ResponseFinished,
    ToolMessage,
    UserMessage,
)

UNKNOWN_WINDOW = 100_000
FULL = 0.8
"""The share of the context window above which a history is compacted."""
_TAIL = 0.25
_TO_SUMMARISE = 0.6
_LET_GO_LONGER_THAN = 400
_SUMMARY_TOKENS = 2000

_ASKED = (
    "Summarize the conversation above for yourself, so that you can continue the work without it. "
    "Write: what the user wants, in their words where it matters; what was decided and why; what was found, with "
    "paths and lines; what was changed; what was tried and failed; what remains to be done. No greeting, no comment."
)
_SYSTEM = "You write exact summaries of conversations between a user and a coding agent."
_OPENING = "[The conversation so far was summarized, because it had become too long. The summary:]\n\n"


def drop_old_results(messages: Sequence[Message], keep: int) -> list[Message]:
    """Return the messages with long tool results shortened, except in the last `keep` messages."""
    older, newer = messages[: max(len(messages) - keep, 0)], messages[max(len(messages) - keep, 0) :]
    return [_without_results(message) for message in older] + list(newer)


def newest_messages(messages: Sequence[Message], tokens: int, token_estimate: TokenEstimate) -> list[Message]:
    """Return the newest messages that fit, without results whose call is missing."""
    taken = 0
    for number in range(len(messages) - 1, -1, -1):
        taken += token_estimate.tokens([messages[number]])
        if taken > tokens:
            break
    else:
        number = -1
    first = number + 1
    while first < len(messages) and isinstance(messages[first], ToolMessage):
        first += 1
    return list(messages[first:])


class CompactedHistory(msgspec.Struct, frozen=True):
    """A shorter history, the summary in it, and the tokens used to write the summary."""

    messages: list[Message]
    summary: str
    usage: ModelUsage


async def summarize(
    model: Model, messages: Sequence[Message], window: int, token_estimate: TokenEstimate
) -> CompactedHistory:
    """Summarize all but the newest messages. If the model fails, list prompts and calls instead."""
    tail = newest_messages(messages, int(window * _TAIL), token_estimate)
    older = messages[: len(messages) - len(tail)]
    prompt = last_prompt(older) if not any(isinstance(one, UserMessage) for one in tail) else None
    try:
        summary, usage = await _summary(model, older, window, token_estimate)
    except PorticoError:
        summary, usage = _bare_facts(older), ModelUsage()
    asked = f"\n\n[The user's last prompt:]\n\n{prompt}" if prompt else ""
    opening = UserMessage((ModelText(f"{_OPENING}{summary}{asked}"),))
    return CompactedHistory(list(well_formed([opening, *tail])), summary, usage)


def last_prompt(messages: Sequence[Message]) -> str | None:
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            text = "\n".join(part.text for part in message.parts if isinstance(part, ModelText))
            return text[-4000:] if text else None
    return None


async def _summary(
    model: Model, messages: Sequence[Message], window: int, token_estimate: TokenEstimate
) -> tuple[str, ModelUsage]:
    shortest = drop_old_results(messages, 0)
    # If it does not fit, cut the middle: the beginning has the task, the end the current state.
    text, tokens = _as_text(shortest), max(token_estimate.tokens(shortest), 1)
    if tokens > (room := window * _TO_SUMMARISE):
        kept = int(len(text) * room / tokens)
        text = f"{text[: kept // 4]}\n\n[…]\n\n{text[-(kept - kept // 4) :]}"
    request = ModelRequest(
        system=_SYSTEM,
        messages=(UserMessage((ModelText(f"{text}\n\n{_ASKED}"),)),),
        limits=RequestLimits(output_tokens=min(_SUMMARY_TOKENS, max(window // 8, 64))),
    )
    stream, usage = model.stream(request), ModelUsage()
    try:
        async for event in stream:
            if isinstance(event, ModelUsage):
                usage = event
            if isinstance(event, ResponseFinished) and event.message.text.strip():
                return event.message.text.strip(), usage
    finally:
        await stream.aclose()
    raise ModelFailed("The model gave no summary.")


def _bare_facts(messages: Sequence[Message]) -> str:
    prompts = [last_prompt([message]) for message in messages if isinstance(message, UserMessage)]
    calls = [call for one in messages if isinstance(one, AssistantMessage) for call in one.calls]
    asked = "\n".join(f"- {prompt[:500]}" for prompt in prompts[-10:] if prompt)
    done = "\n".join(f"- {_call(call)}" for call in calls[-30:])
    return f"The user asked:\n{asked or '- nothing'}\n\nThe last calls were:\n{done or '- none'}"


def _as_text(messages: Sequence[Message]) -> str:
    """Render messages as one text, because a summary must not contain open tool calls."""
    lines = []
    for message in messages:
        match message:
            case UserMessage():
                lines.append(f"USER: {last_prompt([message]) or '[an image]'}")
            case AssistantMessage(text=text, calls=calls):
                lines += [f"AGENT: {text}"] if text else []
                lines += [f"AGENT CALLS {_call(call)}" for call in calls]
            case ToolMessage(results=results):
                lines += [f"RESULT: {_words(result)[:2000]}" for result in results]
    return "\n\n".join(lines)


def _call(call: ModelToolCall) -> str:
    return f"{call.name} {call.arguments[:300]}"


def _words(result: ModelToolResult) -> str:
    return "\n".join(part.text for part in result.parts if isinstance(part, ModelText))


def _without_results(message: Message) -> Message:
    match message:
        case ToolMessage(results=results):
            return ToolMessage(tuple(map(_shortened, results)))
        case UserMessage(parts=parts) if any(isinstance(part, ModelImage) for part in parts):
            texts = tuple(
                ModelText("[an image that was dropped]") if isinstance(p, ModelImage) else p for p in parts
            )
            return UserMessage(texts)
        case _:
            return message


def _shortened(result: ModelToolResult) -> ModelToolResult:
    text = _words(result)
    if len(text) <= _LET_GO_LONGER_THAN and not any(isinstance(part, ModelImage) for part in result.parts):
        return result
    note = f"{text[:200]}\n[The rest of this result was dropped. Repeat the call if you need it.]"
    return ModelToolResult(result.call_id, result.name, (ModelText(note),), failed=result.failed)
