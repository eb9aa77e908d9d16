"""One-line summary of a frame: request, notification or response. Safe to print.

Frames of a trace may contain anything, so every field may be missing.
"""

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Raw

from portico.acp.extensions import PERMISSION_DECIDED
from portico.conductor.tracing.steps import TraceStep
from portico.domain import codecs
from portico.doors.terminal.labels import display_width, pluralize
from portico.doors.terminal.sanitizer import clean_line

LONGEST = 400
_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


def gist(step: TraceStep) -> str:
    """Summary of a frame on one line."""
    if step.error is not None:
        return clean_line(f"{step.error.code} {step.error.message}"[:LONGEST])
    body = decode_body(step.body)
    if step.kind == "unreadable":
        return clean_line(_compact(body))
    known = _RESULTS if step.kind == "response" else _PARAMETERS
    return clean_line(known.get(step.method, _anything)(body)[:LONGEST])


def family_key(step: TraceStep) -> tuple[str, ...]:
    """Summary of consecutive frames of one kind, such as chunks of a text."""
    update = decode_body(step.body) if step.method == "session/update" else None
    parts = (text_at(update, "update", name) for name in ("sessionUpdate", "toolCallId", "status"))
    return (step.method, step.session or "", *parts)


def chunk_text(step: TraceStep) -> str | None:
    """The text of a chunk; None for another frame."""
    update = value_at(decode_body(step.body), "update")
    return text_at(update, "content", "text") if text_at(update, "sessionUpdate") in _CHUNKS else None


def quoted(text: str) -> str:
    line = clean_line(text[:LONGEST])
    return f"“{line}”" if line else ""


def truncate(text: str, width: int) -> str:
    """The text cut to a width, with an ellipsis if it was longer."""
    if display_width(text) <= width:
        return text
    kept, room = "", width - 1
    for character in text:
        room -= display_width(character)
        if room < 0:
            break
        kept += character
    return f"{kept.rstrip()}…" if width > 0 else ""


def decode_body(body: Raw) -> Any:
    try:
        return codecs.decode_json(body)
    except (msgspec.DecodeError, RecursionError):
        return bytes(body).decode("utf-8", "replace")


def value_at(value: Any, *path: str) -> Any:
    """The value at a path of keys, or None."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def text_at(value: Any, *path: str) -> str:
    """The value at a path as text; empty if it is not a simple value."""
    found = value_at(value, *path)
    return str(found) if isinstance(found, str | int | float) else ""


def _together(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()[:LONGEST]


def _anything(body: Any) -> str:
    """All parameters except the session."""
    rest = (
        {name: item for name, item in body.items() if name != "sessionId"} if isinstance(body, dict) else body
    )
    return _compact(rest) if rest else ""


def _who(name: str) -> Callable[[Any], str]:
    return lambda body: _together(text_at(body, name, "name"), text_at(body, name, "version"))


def _folder(body: Any) -> str:
    servers = value_at(body, "mcpServers")
    count = pluralize(len(servers), "MCP server") if isinstance(servers, list) and servers else ""
    return _together(text_at(body, "sessionId"), PurePath(text_at(body, "cwd")).name, count)


def _prompt(body: Any) -> str:
    blocks = value_at(body, "prompt")
    if not isinstance(blocks, list):
        return _anything(body)
    texts = [text_at(block, "text") for block in blocks if text_at(block, "type") == "text"]
    others = [text_at(block, "type") for block in blocks if text_at(block, "type") != "text"]
    more = f"+{pluralize(len(others), 'block')}" if others else ""
    return _together(quoted(" ".join(texts)), more)


def _update(body: Any) -> str:
    update = value_at(body, "update")
    kind = text_at(update, "sessionUpdate")
    if kind in _CHUNKS:
        block = text_at(update, "content", "type")
        return _together(kind, quoted(text_at(update, "content", "text")) or f"[{block}]")
    entries = value_at(update, "entries")
    if isinstance(entries, list):
        done = sum(text_at(entry, "status") == "completed" for entry in entries)
        return _together(kind, f"{done}/{len(entries)}")
    commands = value_at(update, "availableCommands")
    if isinstance(commands, list):
        return _together(kind, " ".join(f"/{text_at(command, 'name')}" for command in commands))
    used, size = value_at(update, "used"), value_at(update, "size")
    if isinstance(used, int) and isinstance(size, int) and size:
        return _together(kind, f"{used:,} of {size:,} tokens")
    names = ("status", "title", "toolCallId", "currentModeId", "message")
    words = [text_at(update, name) for name in names]
    return _together(kind, *words) if any(words) else _together(kind, _compact(update) if update else "")


def _permission(body: Any) -> str:
    options = value_at(body, "options")
    count = pluralize(len(options), "option") if isinstance(options, list) else ""
    return _together(
        quoted(text_at(body, "toolCall", "title") or text_at(body, "toolCall", "toolCallId")), count
    )


def _outcome(body: Any) -> str:
    return _together(text_at(body, "outcome", "outcome"), text_at(body, "outcome", "optionId"))


def _decided(body: Any) -> str:
    title = quoted(text_at(body, "toolCall", "title"))
    return _together(text_at(body, "outcome"), title, text_at(body, "source"), text_at(body, "rule"))


def _file(body: Any) -> str:
    content = value_at(body, "content")
    size = pluralize(len(content), "character") if isinstance(content, str) else ""
    return _together(text_at(body, "path"), size)


def _command(body: Any) -> str:
    arguments = value_at(body, "args")
    words = [str(word) for word in arguments] if isinstance(arguments, list) else []
    return _together("$", text_at(body, "command"), *words)


def _output(body: Any) -> str:
    output = text_at(body, "output").strip()
    return _together(quoted(output), _exit(value_at(body, "exitStatus")))


def _exit(body: Any) -> str:
    if signal := text_at(body, "signal"):
        return f"signal {signal}"
    code = text_at(body, "exitCode")
    return f"exit {code}" if code else ""


def _field(*names: str) -> Callable[[Any], str]:
    return lambda body: _together(*(text_at(body, name) for name in names))


def _message(body: Any) -> str:
    """MCP over ACP: the summary of the inner message."""
    return _together(text_at(body, "method"), text_at(body, "params", "name"))


def _listed(body: Any) -> str:
    sessions = value_at(body, "sessions")
    return pluralize(len(sessions), "session") if isinstance(sessions, list) else _anything(body)


_PARAMETERS: dict[str, Callable[[Any], str]] = {
    "initialize": _who("clientInfo"),
    "authenticate": _field("methodId"),
    "session/new": _folder,
    "session/load": _folder,
    "session/resume": _folder,
    "session/fork": _folder,
    "session/close": _field("sessionId"),
    "session/delete": _field("sessionId"),
    "session/cancel": _field("sessionId"),
    "session/prompt": _prompt,
    "session/update": _update,
    "session/set_mode": _field("modeId"),
    "session/set_config_option": _field("configId", "value"),
    "session/request_permission": _permission,
    "fs/read_text_file": _file,
    "fs/write_text_file": _file,
    "terminal/create": _command,
    "terminal/output": _field("terminalId"),
    "terminal/wait_for_exit": _field("terminalId"),
    "terminal/kill": _field("terminalId"),
    "terminal/release": _field("terminalId"),
    "mcp/message": _message,
    "$/cancel_request": _field("requestId"),
    PERMISSION_DECIDED: _decided,
}
_RESULTS: dict[str, Callable[[Any], str]] = {
    "initialize": _who("agentInfo"),
    "session/new": _field("sessionId"),
    "session/fork": _field("sessionId"),
    "session/list": _listed,
    "session/prompt": _field("stopReason"),
    "session/request_permission": _outcome,
    "fs/read_text_file": _file,
    "terminal/create": _field("terminalId"),
    "terminal/output": _output,
    "terminal/wait_for_exit": _exit,
}
