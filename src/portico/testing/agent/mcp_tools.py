"""Script verb that calls a tool of an MCP server given to the session."""

from __future__ import annotations

import json
import os
import threading
from queue import SimpleQueue

from portico.testing.agent.turn import INTERNAL, ScriptedRefusal
from portico.testing.agent.vocabulary import Verbs
from portico.testing.agent.wire import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

    from portico.testing.agent.turn import ScriptedTurn
    from portico.testing.agent.wire import Json

VERBS = Verbs()

HELLO: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "scripted-agent", "version": "1"},
}


@VERBS.takes({"server": str, "name": str, "arguments?": dict})
def use_tool(turn: ScriptedTurn, fields: Json) -> None:
    """Starts the server's program for this one call; a stopped turn ends it."""
    from subprocess import PIPE, Popen  # Late: few scripts need it, and every start would pay for it.

    entry = _entry(turn, fields["server"])
    if entry is None:
        turn.say(f"there is no server {fields['server']}")
        return
    environ = {**os.environ, **{one["name"]: one["value"] for one in entry.get("env", [])}}
    with Popen([entry["command"], *entry.get("args", [])], stdin=PIPE, stdout=PIPE, env=environ) as program:
        try:
            heard = _listening(program)
            _ask(turn, program, heard, 1, "initialize", HELLO)
            call = {"name": fields["name"], "arguments": fields.get("arguments", {})}
            answer = _ask(turn, program, heard, 2, "tools/call", call)
        finally:
            program.kill()
    turn.say(_words(answer))


def _entry(turn: ScriptedTurn, name: str) -> Json | None:
    servers: list[Json] = [] if turn.session is None else turn.session.servers
    return next((one for one in servers if one.get("name") == name and "command" in one), None)


def _listening(program: Popen[bytes]) -> SimpleQueue[Json]:
    heard: SimpleQueue[Json] = SimpleQueue()

    def listen() -> None:
        for line in program.stdout or ():
            heard.put(json.loads(line))
        heard.put({"gone": True})

    threading.Thread(target=listen, name="a tool", daemon=True).start()
    return heard


def _ask(
    turn: ScriptedTurn,
    program: Popen[bytes],
    heard: SimpleQueue[Json],
    number: int,
    method: str,
    params: Json,
) -> Json:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    if program.stdin is not None:
        program.stdin.write(encode(request) + b"\n")
        program.stdin.flush()
    while (answer := turn.await_answer(heard, turn.check)).get("id") != number:
        if "gone" in answer:
            raise ScriptedRefusal(INTERNAL, f"the server of a tool ended before it answered {method}")
    return answer


def _words(answer: Json) -> str:
    if "error" in answer:
        return f"tool failed: {answer['error'].get('message')}"
    result = answer["result"]
    text = "\n".join(part.get("text", f"[{part.get('type')}]") for part in result.get("content", []))
    return f"tool failed: {text}" if result.get("isError") else text
