"""An MCP server over standard input and output, with the manners that its first argument names."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MANNERS = sys.argv[1] if len(sys.argv) > 1 else "good"

TOOLS = [
    {
        "name": "add",
        "description": "Adds two numbers.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
    },
    {"name": "odd name!", "inputSchema": {"type": "object"}},
    {"name": "huge", "inputSchema": {"type": "object"}},
    {"name": "die", "inputSchema": {"type": "object"}},
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "asks", "inputSchema": {"type": "object"}},
    {"name": "variable", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "meet", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]

QUESTIONS: dict[str, dict[str, Any]] = {
    "ping": {},
    "roots/list": {},
    "sampling/createMessage": {"messages": [], "maxTokens": 10},
    "elicitation/create": {
        "message": "Who are you?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "colour": {"type": "string", "default": "blue"}},
            "required": ["name"],
        },
    },
}
"""Requests that a server may send to its client."""


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], **more}


def ask(method: str, params: dict[str, Any]) -> Any:
    """Ask the client something; its answer, or the code of its error."""
    send({"id": f"my-{method}", "method": method, "params": params})
    while (message := json.loads(sys.stdin.readline())).get("id") != f"my-{method}":
        pass
    return message["result"] if "result" in message else message["error"]["code"]


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if name == "add":
        return text(str(arguments["a"] + arguments["b"]))
    if name == "huge":
        return text("x" * 50_000_000)
    if name == "die":
        sys.stderr.write("out of memory\n")
        sys.exit(3)
    if name == "look":
        return text("Looked.")
    if name == "variable":
        return text(os.environ.get(arguments["name"], "not set"))
    if name == "asks":
        return text(json.dumps({method: ask(method, params) for method, params in QUESTIONS.items()}))
    if name == "hang":
        time.sleep(1000)
    return text(f"cannot {name}", isError=True)


WAITING: list[dict[str, Any]] = []


def meet(message: dict[str, Any]) -> None:
    """Answer when a second call has come, the second one first, each with its own argument."""
    WAITING.append(message)
    if len(WAITING) > 1:
        for one in reversed(WAITING):
            send({"id": one["id"], "result": text(one["params"]["arguments"]["who"])})
        WAITING.clear()


def answer(message: dict[str, Any]) -> None:
    method, params = message["method"], message.get("params", {})
    if method == "initialize" and MANNERS == "modern":
        send({"id": message["id"], "error": {"code": -32601, "message": "no handshake"}})
    elif method == "initialize":
        send({"method": "notifications/message", "params": {"data": "hello"}})
        send(
            {
                "id": message["id"],
                "result": {"protocolVersion": params["protocolVersion"], "capabilities": {}},
            }
        )
    elif method == "tools/list":
        if MANNERS == "modern":
            assert params["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
        page = {"tools": TOOLS[2:]} if params.get("cursor") else {"tools": TOOLS[:2], "nextCursor": "2"}
        send({"id": message["id"], "result": page})
    elif method == "tools/call" and params["name"] == "meet":
        meet(message)
    elif method == "tools/call":
        send({"id": message["id"], "result": called(params["name"], params["arguments"])})


def main() -> None:
    if MANNERS == "hang":
        time.sleep(1000)
    while MANNERS == "late" and not Path(sys.argv[2]).exists():
        time.sleep(0.005)
    while MANNERS == "flood":
        sys.stdout.write("this is not JSON\n" * 1000)
    if MANNERS == "dead":
        sys.stderr.write("no license\n")
        sys.exit(1)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            answer(message)


if __name__ == "__main__":
    main()
