"""Script verbs that call tools of an MCP server given to the session."""

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
    _use(turn, fields["server"], [fields])


@VERBS.takes({"server": str, "calls": list})
def use_tools(turn: ScriptedTurn, fields: Json) -> None:
    """The same for several calls, all of them made before the first is answered."""
    _use(turn, fields["server"], fields["calls"])


def _use(turn: ScriptedTurn, server: str, calls: list[Json]) -> None:
    from subprocess import PIPE, Popen  # Late: few scripts need it, and every start would pay for it.

    entry = _entry(turn, server)
    if entry is None:
        turn.say(f"there is no server {server}")
        return
    environ = {**os.environ, **{one["name"]: one["value"] for one in entry.get("env", [])}}
    with Popen([entry["command"], *entry.get("args", [])], stdin=PIPE, stdout=PIPE, env=environ) as program:
        try:
            heard = _listening(program)
            _send(program, 1, "initialize", HELLO)
            _answers(turn, heard, {1})
            for number, call in enumerate(calls, 2):
                params = {"name": call["name"], "arguments": call.get("arguments", {})}
                _send(program, number, "tools/call", params)
            answers = _answers(turn, heard, set(range(2, len(calls) + 2)))
        finally:
            program.kill()
    turn.say("\n".join(_words(answers[number]) for number in sorted(answers)))


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


def _send(program: Popen[bytes], number: int, method: str, params: Json) -> None:
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    if program.stdin is not None:
        program.stdin.write(encode(request) + b"\n")
        program.stdin.flush()


def _answers(turn: ScriptedTurn, heard: SimpleQueue[Json], wanted: set[int]) -> dict[int, Json]:
    """The answers by the number of their request, in whatever order they come."""
    found: dict[int, Json] = {}
    while found.keys() != wanted:
        answer = turn.await_answer(heard, turn.check)
        if "gone" in answer:
            raise ScriptedRefusal(INTERNAL, "the server of a tool ended before it answered")
        if answer.get("id") in wanted:
            found[answer["id"]] = answer
    return found


def _words(answer: Json) -> str:
    if "error" in answer:
        return f"tool failed: {answer['error'].get('message')}"
    result = answer["result"]
    text = "\n".join(part.get("text", f"[{part.get('type')}]") for part in result.get("content", []))
    return f"tool failed: {text}" if result.get("isError") else text
