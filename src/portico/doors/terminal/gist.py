"""The gist of a frame in a few words: what was asked, what was said, how it came out. Already safe to show.

Frames of a trace may hold anything, so nothing here takes a field for granted.
"""

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Raw

from portico.acp.extensions import DECIDED
from portico.conductor.tracing.steps import Step
from portico.domain import codecs
from portico.doors.terminal.phrasing import columns, counted
from portico.doors.terminal.sanitize import clean_line

LONGEST = 400
_CHUNKS = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


def gist(step: Step) -> str:
    """What a frame says, on one line."""
    if step.error is not None:
        return clean_line(f"{step.error.code} {step.error.message}"[:LONGEST])
    body = decoded(step.body)
    if step.kind == "unreadable":
        return clean_line(_compact(body))
    known = _RESULTS if step.kind == "response" else _PARAMETERS
    return clean_line(known.get(step.method, _anything)(body)[:LONGEST])


def family(step: Step) -> tuple[str, ...]:
    """Frames of one family, one after another, read as one: chunks of a text, the same news of a tool."""
    update = decoded(step.body) if step.method == "session/update" else None
    parts = (said(update, "update", name) for name in ("sessionUpdate", "toolCallId", "status"))
    return (step.method, step.session or "", *parts)


def chunk(step: Step) -> str | None:
    """The text of a chunk; None if it is none."""
    update = at(decoded(step.body), "update")
    return said(update, "content", "text") if said(update, "sessionUpdate") in _CHUNKS else None


def quoted(text: str) -> str:
    line = clean_line(text[:LONGEST])
    return f"“{line}”" if line else ""


def cut(text: str, width: int) -> str:
    """The text in so many columns, with an ellipsis if it was longer."""
    if columns(text) <= width:
        return text
    kept, room = "", width - 1
    for character in text:
        room -= columns(character)
        if room < 0:
            break
        kept += character
    return f"{kept.rstrip()}…" if width > 0 else ""


def decoded(body: Raw) -> Any:
    try:
        return codecs.decode_json(body)
    except (msgspec.DecodeError, RecursionError):
        return bytes(body).decode("utf-8", "replace")


def at(value: Any, *path: str) -> Any:
    """What is at a path of objects; None if nothing is."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def said(value: Any, *path: str) -> str:
    """The same as text; empty if nothing is there that can be said in a word."""
    found = at(value, *path)
    return str(found) if isinstance(found, str | int | float) else ""


def _together(*parts: str) -> str:
    return " ".join(filter(None, parts))


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()[:LONGEST]


def _anything(body: Any) -> str:
    """Whatever there is, but for the session, which a reader knows."""
    rest = (
        {name: item for name, item in body.items() if name != "sessionId"} if isinstance(body, dict) else body
    )
    return _compact(rest) if rest else ""


def _who(name: str) -> Callable[[Any], str]:
    return lambda body: _together(said(body, name, "name"), said(body, name, "version"))


def _folder(body: Any) -> str:
    servers = at(body, "mcpServers")
    count = counted(len(servers), "MCP server") if isinstance(servers, list) and servers else ""
    return _together(said(body, "sessionId"), PurePath(said(body, "cwd")).name, count)


def _prompt(body: Any) -> str:
    blocks = at(body, "prompt")
    if not isinstance(blocks, list):
        return _anything(body)
    texts = [said(block, "text") for block in blocks if said(block, "type") == "text"]
    others = [said(block, "type") for block in blocks if said(block, "type") != "text"]
    more = f"+{counted(len(others), 'block')}" if others else ""
    return _together(quoted(" ".join(texts)), more)


def _update(body: Any) -> str:
    update = at(body, "update")
    kind = said(update, "sessionUpdate")
    if kind in _CHUNKS:
        block = said(update, "content", "type")
        return _together(kind, quoted(said(update, "content", "text")) or f"[{block}]")
    entries = at(update, "entries")
    if isinstance(entries, list):
        done = sum(said(entry, "status") == "completed" for entry in entries)
        return _together(kind, f"{done}/{len(entries)}")
    commands = at(update, "availableCommands")
    if isinstance(commands, list):
        return _together(kind, " ".join(f"/{said(command, 'name')}" for command in commands))
    used, size = at(update, "used"), at(update, "size")
    if isinstance(used, int) and isinstance(size, int) and size:
        return _together(kind, f"{used:,} of {size:,} tokens")
    names = ("status", "title", "toolCallId", "currentModeId", "message")
    words = [said(update, name) for name in names]
    return _together(kind, *words) if any(words) else _together(kind, _compact(update) if update else "")


def _permission(body: Any) -> str:
    options = at(body, "options")
    count = counted(len(options), "option") if isinstance(options, list) else ""
    return _together(quoted(said(body, "toolCall", "title") or said(body, "toolCall", "toolCallId")), count)


def _outcome(body: Any) -> str:
    return _together(said(body, "outcome", "outcome"), said(body, "outcome", "optionId"))


def _decided(body: Any) -> str:
    title = quoted(said(body, "toolCall", "title"))
    return _together(said(body, "outcome"), title, said(body, "source"), said(body, "rule"))


def _file(body: Any) -> str:
    content = at(body, "content")
    size = counted(len(content), "character") if isinstance(content, str) else ""
    return _together(said(body, "path"), size)


def _command(body: Any) -> str:
    arguments = at(body, "args")
    words = [str(word) for word in arguments] if isinstance(arguments, list) else []
    return _together("$", said(body, "command"), *words)


def _output(body: Any) -> str:
    output = said(body, "output").strip()
    return _together(quoted(output), _exit(at(body, "exitStatus")))


def _exit(body: Any) -> str:
    if signal := said(body, "signal"):
        return f"signal {signal}"
    code = said(body, "exitCode")
    return f"exit {code}" if code else ""


def _field(*names: str) -> Callable[[Any], str]:
    return lambda body: _together(*(said(body, name) for name in names))


def _message(body: Any) -> str:
    """MCP in ACP: what is inside counts."""
    return _together(said(body, "method"), said(body, "params", "name"))


def _listed(body: Any) -> str:
    sessions = at(body, "sessions")
    return counted(len(sessions), "session") if isinstance(sessions, list) else _anything(body)


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
    DECIDED: _decided,
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
