"""Streamed answer of Google: `streamGenerateContent` as server-sent events.

A call comes whole, with its arguments as an object. One whose arguments are no object never leaves
Google: the answer ends with MALFORMED_FUNCTION_CALL instead.
"""

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_endpoint import Answer, Call, Part, Refuse, Say, Think, Tokens

_PIECE = 8
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    529: "UNAVAILABLE",
}
_REASONS = {"length": "MAX_TOKENS", "refused": "SAFETY", "auto": "STOP"}


def google_error(refusal: Refuse) -> dict[str, Any]:
    error: dict[str, Any] = {"code": refusal.status, "message": refusal.message}
    error["status"] = _STATUSES.get(refusal.status, "UNKNOWN")
    return {"error": error | ({"details": list(refusal.details)} if refusal.details else {})}


def google_frames(answer: Answer, failure: Refuse | None, model: str) -> Iterator[str]:
    def chunk(*parts: dict[str, Any], finish: str | None = None) -> str:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
        if finish:
            candidate["finishReason"] = finish
        usage = _usage(answer.tokens, ended=finish is not None)
        head = {"responseId": "response_1", "modelVersion": model, "usageMetadata": usage}
        return _data(head | {"candidates": [candidate]})

    yield chunk({"text": ""})
    for part in answer.parts:
        yield from (chunk(piece) for piece in _pieces(part))
    if failure is not None:
        yield _data(google_error(failure))
        return
    broken = any(isinstance(part, Call) and _object(part.arguments) is None for part in answer.parts)
    yield chunk(finish="MALFORMED_FUNCTION_CALL" if broken else _REASONS[answer.finish])


def _data(value: Any) -> str:
    return f"data: {json.dumps(value)}\r\n\r\n"


def _usage(tokens: Tokens, *, ended: bool) -> dict[str, int]:
    counted = {"promptTokenCount": tokens.input, "cachedContentTokenCount": tokens.cached}
    written = {"candidatesTokenCount": tokens.output, "totalTokenCount": tokens.input + tokens.output}
    return counted | (written if ended else {})


def _pieces(part: Part) -> Iterator[dict[str, Any]]:
    match part:
        case Say(text=text):
            yield from ({"text": one} for one in _cut(text))
        case Think(text=text, signature=signature):
            yield from ({"text": one, "thought": True} for one in _cut(text))
            yield {"text": "", "thought": True, "thoughtSignature": signature}
        case Call(name=name, arguments=arguments, id=call_id):
            if (decoded := _object(arguments)) is not None:
                yield {"functionCall": {"id": call_id, "name": name, "args": decoded}}


def _cut(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _object(arguments: str) -> dict[str, Any] | None:
    try:
        decoded = json.loads(arguments)
    except ValueError:
        return None
    return decoded if isinstance(decoded, dict) else None
