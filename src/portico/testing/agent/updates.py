"""Script verbs that send session updates: text, thoughts, tool calls, plans and others."""

from __future__ import annotations

import os

from portico.testing.agent.streams import stream_delta, stream_text
from portico.testing.agent.vocabulary import NUMBER, StepList, Verbs
from portico.testing.agent.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from portico.testing.agent.turn import ScriptedTurn
    from portico.testing.agent.wire import Json

VERBS = Verbs()

CHUNKS = {"text": "agent_message_chunk", "thought": "agent_thought_chunk"}
# Deltas without a pause between them share a write, as a pipe would join them anyway.
DELTAS_A_WRITE = 32

TOOL_DETAILS = {
    "title?": str,
    "kind?": str,
    "text?": str,
    "diff?": {"path": str, "old?": (str, type(None)), "new": str},
    "content?": list,
    "locations?": list,
    "raw_input?": object,
    "raw_output?": object,
}


def chunk(kind: str, text: str) -> Json:
    return {"sessionUpdate": CHUNKS[kind], "content": {"type": "text", "text": text}}


@VERBS.takes(str)
def say(turn: ScriptedTurn, text: str) -> None:
    turn.say(text)


@VERBS.takes(str)
def think(turn: ScriptedTurn, text: str) -> None:
    turn.update(chunk("thought", text))


@VERBS.takes({})
def echo(turn: ScriptedTurn, _: Json) -> None:
    turn.say(turn.prompt)


@VERBS.takes(str)
def env(turn: ScriptedTurn, name: str) -> None:
    turn.say(f"{name}={os.environ.get(name, '')}")


@VERBS.takes({"count": int, "size": int, "delay_ms?": NUMBER, "kind?": str, "first?": int})
def stream(turn: ScriptedTurn, fields: Json) -> None:
    kind, size, delay = fields.get("kind", "text"), fields["size"], fields.get("delay_ms", 0) / 1000
    first = fields.get("first", 1)
    end = first + fields["count"]
    # The deltas need no escaping, so a line is made by putting one between two constant halves.
    params = {"sessionId": turn.session and turn.session.id, "update": chunk(kind, "@")}
    before, after = encode({"jsonrpc": "2.0", "method": "session/update", "params": params}).split(b'"@"')
    number = first
    try:
        while number < end:
            turn.check()
            upto = min(end, number + (1 if delay else DELTAS_A_WRITE))
            deltas = (stream_delta(current, size).encode() for current in range(number, upto))
            turn.wire.send_bytes(*(b'%b"%b"%b\n' % (before, delta, after) for delta in deltas))
            number = upto
            turn.rest(delay)
    finally:
        if turn.session is not None:
            turn.session.record(chunk(kind, stream_text(number - first, size, first=first)))


@VERBS.takes({"id?": str, "statuses?": list, "steps?": StepList, **TOOL_DETAILS})
def tool(turn: ScriptedTurn, fields: Json) -> None:
    """The first status comes with the call, the last one with what came of it; the steps run before the last."""
    call = fields.get("id") or turn.next_call()
    statuses = fields.get("statuses", ["pending", "in_progress", "completed"])
    opening, outcome = _opening(turn, fields), _outcome(turn, fields)
    head = {"sessionUpdate": "tool_call", "toolCallId": call, "title": call, "status": statuses[0], **opening}
    turn.update(head | outcome if len(statuses) == 1 else head)
    for status in statuses[1:-1]:
        turn.update({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status})
    turn.run(fields.get("steps", []))
    if len(statuses) > 1:
        turn.update(
            {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": statuses[-1], **outcome}
        )


@VERBS.takes({"id": str, "status?": str, **TOOL_DETAILS})
def tool_update(turn: ScriptedTurn, fields: Json) -> None:
    status = {"status": fields["status"]} if "status" in fields else {}
    details = _opening(turn, fields) | _outcome(turn, fields)
    turn.update({"sessionUpdate": "tool_call_update", "toolCallId": fields["id"], **status, **details})


@VERBS.takes({"count": int, "size": int, "id?": str})
def resend(turn: ScriptedTurn, fields: Json) -> None:
    """A tool call whose every update repeats all output so far, so that n updates cost n²."""
    call, size = fields.get("id") or turn.next_call(), fields["size"]
    tool(turn, {"id": call, "title": "Resend", "kind": "execute", "statuses": ["in_progress"]})
    for count in range(1, fields["count"] + 1):
        turn.check()
        tool_update(turn, {"id": call, "text": stream_text(count, size)})
    tool_update(turn, {"id": call, "status": "completed"})


@VERBS.takes(list)
def plan(turn: ScriptedTurn, entries: list[str | Json]) -> None:
    defaults = {"priority": "medium", "status": "pending"}
    whole = [defaults | ({"content": entry} if isinstance(entry, str) else entry) for entry in entries]
    turn.update({"sessionUpdate": "plan", "entries": whole})


@VERBS.takes({"used": int, "size": int, "cost?": dict})
def usage(turn: ScriptedTurn, fields: Json) -> None:
    turn.update({"sessionUpdate": "usage_update", **fields})


@VERBS.takes(list)
def commands(turn: ScriptedTurn, entries: list[str | Json]) -> None:
    whole = [{"name": entry, "description": entry} if isinstance(entry, str) else entry for entry in entries]
    turn.update({"sessionUpdate": "available_commands_update", "availableCommands": whole})


@VERBS.takes(str)
def title(turn: ScriptedTurn, text: str) -> None:
    turn.update({"sessionUpdate": "session_info_update", "title": text})


@VERBS.takes(str)
def mode(turn: ScriptedTurn, mode_id: str) -> None:
    turn.update({"sessionUpdate": "current_mode_update", "currentModeId": mode_id})


@VERBS.takes(dict)
def update(turn: ScriptedTurn, whole: Json) -> None:
    """Any update as it stands: kinds of which no protocol knows, and those that have no verb here."""
    turn.update(whole)


def _opening(turn: ScriptedTurn, fields: Json) -> Json:
    details: Json = {name: fields[name] for name in ("title", "kind") if name in fields}
    if "raw_input" in fields:
        details["rawInput"] = fields["raw_input"]
    if "locations" in fields:
        details["locations"] = [{**place, "path": turn.path(place["path"])} for place in fields["locations"]]
    return details


def _outcome(turn: ScriptedTurn, fields: Json) -> Json:
    content = list(fields.get("content", []))
    if "text" in fields:
        content.append({"type": "content", "content": {"type": "text", "text": fields["text"]}})
    if "diff" in fields:
        path, old, new = turn.path(fields["diff"]["path"]), fields["diff"].get("old"), fields["diff"]["new"]
        content.append({"type": "diff", "path": path, "oldText": old, "newText": new})
    details: Json = {"content": content} if content else {}
    if "raw_output" in fields:
        details["rawOutput"] = fields["raw_output"]
    return details
