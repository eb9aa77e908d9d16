"""A small agent that proposes: each prompt is a list of changes, given to the tool that Portico offers over ACP.

Needs nothing but Python. It says back what the tool told it.
"""

import json
import sys
from itertools import count
from typing import Any

_ids = count(1)


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def propose(server_id: str, changes: Any) -> str:
    """Call the tool, and wait for what it says."""
    request_id = f"proposing-{next(_ids)}"
    call = {"name": "propose_changes", "arguments": {"changes": changes}}
    params = {"serverId": server_id, "requestId": request_id, "method": "tools/call", "params": call}
    send(id=request_id, method="mcp/message", params=params)
    while (answer := receive()).get("id") != request_id:
        pass
    return str(answer["result"]["result"]["content"][0]["text"])


def main() -> None:
    server_id = ""
    while True:
        message = receive()
        params = message.get("params", {})
        match message.get("method"):
            case "initialize":
                send(
                    id=message["id"],
                    result={"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"acp": True}}},
                )
            case "session/new":
                (server_id,) = [
                    one["serverId"] for one in params["mcpServers"] if one["name"] == "portico-review"
                ]
                send(id=message["id"], result={"sessionId": "proposing"})
            case "session/prompt":
                text = propose(server_id, json.loads(params["prompt"][-1]["text"]))
                update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
                send(method="session/update", params={"sessionId": "proposing", "update": update})
                send(id=message["id"], result={"stopReason": "end_turn"})
            case _:
                if "id" in message and "method" in message:
                    send(id=message["id"], error={"code": -32601, "message": "not here"})


if __name__ == "__main__":
    main()
