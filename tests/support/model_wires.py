"""The same streamed answer in each wire format: OpenAI's chat completions and responses, Anthropic's messages.

Those of Google and Bedrock are in modules of their own.
"""

import json
from collections.abc import Iterator
from typing import Any, Literal

from tests.support.bedrock_wire import bedrock_error, bedrock_frames
from tests.support.google_wire import google_error, google_frames
from tests.support.model_endpoint import Answer, Call, Part, Refuse, Say, Think, Tokens

Wire = Literal["chat", "responses", "messages", "google", "bedrock"]
_PIECE = 8
_ENDINGS: dict[str, Wire] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    ":streamGenerateContent": "google",
    "/converse-stream": "bedrock",
}


def language(path: str) -> Wire:
    plain = path.split("?", maxsplit=1)[0]
    (wire,) = (wire for ending, wire in _ENDINGS.items() if plain.endswith(ending))
    return wire


def error_body(wire: Wire, refusal: Refuse) -> Any:
    if wire == "google":
        return google_error(refusal)
    if wire == "bedrock":
        return bedrock_error(refusal)
    if wire == "messages":
        return {"type": "error", "error": {"type": refusal.type, "message": refusal.message}}
    error = {"message": refusal.message, "type": refusal.type, "code": refusal.code, "param": None}
    return {"error": error}


def content_type(wire: Wire) -> str:
    return "application/vnd.amazon.eventstream" if wire == "bedrock" else "text/event-stream"


def frames(wire: Wire, reply: Answer | Refuse, request: Any) -> Iterator[bytes]:
    """The reply as it is streamed, in small pieces."""
    answer = reply if isinstance(reply, Answer) else Answer(*reply.after)
    failure = reply if isinstance(reply, Refuse) else None
    if wire == "bedrock":
        yield from bedrock_frames(answer, failure)
        return
    streams = {"chat": _chat, "responses": _responses, "messages": _messages, "google": google_frames}
    # Google has the name of the model in the path.
    for frame in streams[wire](answer, failure, request.get("model", "scripted")):
        yield frame.encode()


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _data(value: Any) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _event(value: dict[str, Any]) -> str:
    return f"event: {value['type']}\n{_data(value)}"


def _chat(answer: Answer, failure: Refuse | None, model: str) -> Iterator[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _data(_chat_head(model) | {"choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for delta in _chat_deltas(answer.parts):
        yield chunk(delta)
    if failure is not None:
        yield _data(error_body("chat", failure))
        return
    if answer.finish == "refused":
        yield chunk({"refusal": "I would rather not."})
    calls = any(isinstance(part, Call) for part in answer.parts)
    usual = "tool_calls" if calls else "stop"
    yield chunk({}, "length" if answer.finish == "length" else usual)
    yield _data(_chat_head(model) | {"choices": [], "usage": _chat_usage(answer.tokens)})
    yield "data: [DONE]\n\n"


def _chat_head(model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}


def _chat_usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    }


def _chat_deltas(parts: tuple[Part, ...]) -> Iterator[dict[str, Any]]:
    number = -1
    for part in parts:
        match part:
            case Say(text=text):
                yield from ({"content": piece} for piece in _pieces(text))
            case Think(text=text):
                yield from ({"reasoning_content": piece} for piece in _pieces(text))
            case Call(name=name, arguments=arguments, id=call_id):
                number += 1
                function = {"name": name, "arguments": ""}
                yield {
                    "tool_calls": [{"index": number, "id": call_id, "type": "function", "function": function}]
                }
                for piece in _pieces(arguments):
                    yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}


def _messages(answer: Answer, failure: Refuse | None, model: str) -> Iterator[str]:
    usage = {
        "input_tokens": answer.tokens.input - answer.tokens.cached,
        "cache_read_input_tokens": answer.tokens.cached,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1,
    }
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    yield _event({"type": "message_start", "message": message})
    yield _event({"type": "ping"})
    for index, part in enumerate(answer.parts):
        start, deltas = _block(part)
        yield _event({"type": "content_block_start", "index": index, "content_block": start})
        for delta in deltas:
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    if failure is not None:
        yield _event(error_body("messages", failure))
        return
    calls = any(isinstance(part, Call) for part in answer.parts)
    reasons = {"length": "max_tokens", "refused": "refusal", "auto": "tool_use" if calls else "end_turn"}
    delta = {"stop_reason": reasons[answer.finish], "stop_sequence": None}
    yield _event(
        {"type": "message_delta", "delta": delta, "usage": usage | {"output_tokens": answer.tokens.output}}
    )
    yield _event({"type": "message_stop"})


def _block(part: Part) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match part:
        case Say(text=text):
            return {"type": "text", "text": ""}, [
                {"type": "text_delta", "text": one} for one in _pieces(text)
            ]
        case Think(text=text, signature=signature):
            thoughts = [{"type": "thinking_delta", "thinking": one} for one in _pieces(text)]
            signed = {"type": "signature_delta", "signature": signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
        case Call(name=name, arguments=arguments, id=call_id):
            deltas = [{"type": "input_json_delta", "partial_json": one} for one in _pieces(arguments)]
            return {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas


def _responses(answer: Answer, failure: Refuse | None, model: str) -> Iterator[str]:
    number = -1

    def event(kind: str, **fields: Any) -> str:
        nonlocal number
        number += 1
        return _event({"type": kind, "sequence_number": number, **fields})

    whole = _whole_response(model, answer)
    yield event("response.created", response=whole | {"status": "in_progress", "output": [], "usage": None})
    for index, part in enumerate(answer.parts):
        place = {"output_index": index, "item_id": f"item_{index}"}
        item = _item(part, index)
        yield event("response.output_item.added", output_index=index, item=_begun(item))
        match part:
            case Say(text=text):
                for piece in _pieces(text):
                    yield event(
                        "response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[]
                    )
            case Think(text=text):
                for piece in _pieces(text):
                    yield event(
                        "response.reasoning_summary_text.delta", **place, summary_index=0, delta=piece
                    )
            case Call(arguments=arguments):
                for piece in _pieces(arguments):
                    yield event("response.function_call_arguments.delta", **place, delta=piece)
        yield event("response.output_item.done", output_index=index, item=item)
    if failure is not None:
        error = {"code": failure.code or failure.type, "message": failure.message}
        yield event("response.failed", response=whole | {"status": "failed", "error": error})
        return
    if answer.finish == "length":
        reason = {"reason": "max_output_tokens"}
        yield event(
            "response.incomplete", response=whole | {"status": "incomplete", "incomplete_details": reason}
        )
    elif answer.finish == "refused":
        reason = {"reason": "content_filter"}
        yield event(
            "response.incomplete", response=whole | {"status": "incomplete", "incomplete_details": reason}
        )
    else:
        yield event("response.completed", response=whole)


def _whole_response(model: str, answer: Answer) -> dict[str, Any]:
    tokens = answer.tokens
    usage = {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens.input + tokens.output,
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": [_item(part, index) for index, part in enumerate(answer.parts)],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }


def _item(part: Part, index: int) -> dict[str, Any]:
    head = {"id": f"item_{index}", "status": "completed"}
    match part:
        case Say(text=text):
            content = [{"type": "output_text", "text": text, "annotations": []}]
            return head | {"type": "message", "role": "assistant", "content": content}
        case Think(text=text, signature=signature):
            summary = [{"type": "summary_text", "text": text}]
            return {"id": head["id"], "type": "reasoning", "summary": summary, "encrypted_content": signature}
        case Call(name=name, arguments=arguments, id=call_id):
            return head | {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": [], "summary": [], "arguments": "", "status": "in_progress"}
    return {name: empty.get(name, value) for name, value in item.items()}
