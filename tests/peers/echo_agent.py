"""An agent in plain JSON-RPC that shows what reaches it, to see what a chain does to messages.

_echo     answers with the whole message, as session/prompt does in its _meta
_fail     answers with the error that its parameters are
_wait     says that it waits, and answers once it is cancelled
_ask      asks the client what its parameters are, and answers with the whole answer
_recall   asks likewise, and cancels at once
_post     posts its parameters to the first MCP server of the last session, and answers with what comes back
"""

import json
import sys
import urllib.request
from typing import Any

Json = dict[str, Any]
servers: list[Json] = []
asked: dict[str, Any] = {}


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(request_id: Any, params: Json) -> str:
    """Ask the client; its answer becomes the answer to a request."""
    question = f"question-{len(asked) + 1}"
    asked[question] = request_id
    send(id=question, method="_question", params=params)
    return question


def post(message: Json) -> Json:
    server = servers[0]
    headers = {header["name"]: header["value"] for header in server["headers"]}
    body = json.dumps(message).encode()
    asking = urllib.request.Request(
        server["url"], body, {"Content-Type": "application/json", **headers}, method="POST"
    )
    # Without the proxies of the environment, which know nothing of this machine.
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asking, timeout=30) as answer:
        return {"status": answer.status, "body": json.loads(answer.read())}


def serve(message: Json) -> None:
    request_id, params = message["id"], message.get("params", {})
    match message["method"]:
        case "initialize":
            capabilities = {"mcpCapabilities": {"http": True}}
            send(id=request_id, result={"protocolVersion": 1, "agentCapabilities": capabilities})
        case "session/new":
            servers[:] = params["mcpServers"]
            send(id=request_id, result={"sessionId": "echo"})
        case "session/prompt":
            send(id=request_id, result={"stopReason": "end_turn", "_meta": {"reached": message}})
        case "_fail":
            send(id=request_id, error=params)
        case "_wait":
            send(method="_waiting", params={})
        case "_ask":
            ask(request_id, params)
        case "_recall":
            send(method="$/cancel_request", params={"requestId": ask(request_id, params)})
        case "_post":
            send(id=request_id, result=post(params))
        case _:
            send(id=request_id, result=message)


for line in sys.stdin:
    received: Json = json.loads(line)
    if "method" not in received:
        send(id=asked.pop(received["id"]), result=received)
    elif received["method"] == "$/cancel_request":
        cancelled = received["params"]["requestId"]
        send(id=cancelled, error={"code": -32800, "message": "cancelled", "data": {"named": cancelled}})
    elif "id" in received:
        serve(received)
