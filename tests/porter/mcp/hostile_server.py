"""An MCP server over standard input and output that does what no server should; its first argument names it."""

import json
import os
import signal
import sys
from typing import Any

MANNERS = sys.argv[1]
_SCHEMA: dict[str, Any] = {"type": "object"}
_LONG = "a_name_that_is_longer_than_any_provider_of_models_accepts_it"


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools() -> list[dict[str, Any]]:
    match MANNERS:
        case "many tools":
            return [{"name": f"tool{number}", "inputSchema": _SCHEMA} for number in range(10_000)]
        case "giant schema":
            properties = {f"p{number}": {"type": "string"} for number in range(50_000)}
            giant = {"name": "giant", "inputSchema": {**_SCHEMA, "properties": properties}}
            return [giant, {"name": "greet", "inputSchema": _SCHEMA}]
        case "like names":
            return [
                {"name": name, "inputSchema": _SCHEMA} for name in ("a b", "a_b", f"{_LONG}1", f"{_LONG}2")
            ]
        case _:
            return [{"name": "greet", "inputSchema": _SCHEMA}]


def before_the_greeting(number: int) -> None:
    match MANNERS:
        case "closed output":
            os.close(1)
            signal.pause()
        case "half a line":
            sys.stdout.write('{"jsonrpc": "2.0", "id": 1, "res')
            sys.stdout.flush()
            os._exit(0)
        case "answers to nobody":
            for other in range(50):
                send({"id": 9000 + other, "result": {}})
        case "flood of notes":
            note = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "x"}})
            sys.stdout.write(f"{note}\n" * 100_000)
        case "answers twice":
            send({"id": number, "result": {"protocolVersion": "2025-06-18"}})
        case _:
            return


def answer(message: dict[str, Any]) -> None:
    method, number = message["method"], message["id"]
    if method == "initialize":
        before_the_greeting(number)
        send({"id": number, "result": {"protocolVersion": "2025-06-18"}})
    elif method == "tools/list":
        # Further requests get the same page again.
        send({"id": number, "result": {"tools": tools(), "nextCursor": "more"}})
    elif method == "tools/call" and MANNERS == "chatty":
        sys.stdout.write("I am being called\n" * 60)
        send({"id": number, "result": {"content": [{"type": "text", "text": "done"}]}})
    elif method == "tools/call" and MANNERS == "giant answer":
        head = '{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "' % number
        sys.stdout.write(f'{head}{"x" * 5_000_000}"}}]}}}}\n')
        sys.stdout.flush()
    elif method == "tools/call":
        send({"id": number, "result": {"content": [{"type": "text", "text": message["params"]["name"]}]}})


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            answer(message)


if __name__ == "__main__":
    main()
