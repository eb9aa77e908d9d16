"""Streamed answer of Bedrock: `converse-stream`, in the binary frames of `application/vnd.amazon.eventstream`."""

import json
import struct
from collections.abc import Iterator
from typing import Any
from zlib import crc32

from tests.support.model_endpoint import Answer, Call, Part, Refuse, Say, Think

_PIECE = 8
_REASONS = {"length": "max_tokens", "refused": "content_filtered", "auto": "end_turn"}
_ERRORS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    402: "ServiceQuotaExceededException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
    529: "ServiceUnavailableException",
}


def bedrock_error(refusal: Refuse) -> dict[str, Any]:
    """The real ones name themselves in a header; a client takes the name from the body too."""
    return {"__type": _ERRORS[refusal.status], "message": refusal.message}


def bedrock_frames(answer: Answer, failure: Refuse | None) -> Iterator[bytes]:
    yield _event("messageStart", {"role": "assistant"})
    for index, part in enumerate(answer.parts):
        if isinstance(part, Call):
            start = {"toolUse": {"toolUseId": part.id, "name": part.name}}
            yield _event("contentBlockStart", {"contentBlockIndex": index, "start": start})
        for delta in _deltas(part):
            yield _event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
        yield _event("contentBlockStop", {"contentBlockIndex": index})
    if failure is not None:
        name = _ERRORS[failure.status]
        kind = {":message-type": "exception", ":exception-type": name[0].lower() + name[1:]}
        yield _frame(kind, {"message": failure.message})
        return
    calls = any(isinstance(part, Call) for part in answer.parts)
    reason = "tool_use" if calls and answer.finish == "auto" else _REASONS[answer.finish]
    yield _event("messageStop", {"stopReason": reason})
    tokens = answer.tokens
    usage = {
        "inputTokens": tokens.input - tokens.cached,
        "outputTokens": tokens.output,
        "totalTokens": tokens.input + tokens.output,
        "cacheReadInputTokens": tokens.cached,
    }
    yield _event("metadata", {"usage": usage, "metrics": {"latencyMs": 1}})


def _deltas(part: Part) -> Iterator[dict[str, Any]]:
    match part:
        case Say(text=text):
            yield from ({"text": one} for one in _cut(text))
        case Think(text=text, signature=signature):
            yield from ({"reasoningContent": {"text": one}} for one in _cut(text))
            yield {"reasoningContent": {"signature": signature}}
        case Call(arguments=arguments):
            yield from ({"toolUse": {"input": one}} for one in _cut(arguments))


def _cut(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _event(name: str, payload: dict[str, Any]) -> bytes:
    return _frame({":message-type": "event", ":event-type": name}, payload)


def _frame(headers: dict[str, str], payload: dict[str, Any]) -> bytes:
    named = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in {**headers, ":content-type": "application/json"}.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(named) + len(body), len(named))
    message = prelude + struct.pack(">I", crc32(prelude)) + named + body
    return message + struct.pack(">I", crc32(message))
