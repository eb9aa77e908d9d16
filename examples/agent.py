"""A whole ACP agent in plain Python: it counts the words of each prompt. Nothing of Portico is needed.

Try it: portico exec --agent-command "python3 examples/agent.py" "How many words are these?"
"""

import json
import sys
from itertools import count
from typing import Any

sessions = count(1)


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(session_id: str, text: str) -> None:
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send(method="session/update", params={"sessionId": session_id, "update": content})


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request; None for a method that this agent does not have."""
    if method == "initialize":
        return {"protocolVersion": 1, "agentCapabilities": {}}
    if method == "session/new":
        return {"sessionId": f"session-{next(sessions)}"}
    if method == "session/prompt":
        words = [word for block in params["prompt"] for word in block.get("text", "").split()]
        update(params["sessionId"], f"{len(words)} words.")
        return {"stopReason": "end_turn"}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message or "id" not in message:
        continue  # Answers and notifications: this agent asks nothing and stops at once anyway.
    result = answer(message["method"], message.get("params", {}))
    if result is None:
        send(id=message["id"], error={"code": -32601, "message": f"Unknown method {message['method']}"})
    else:
        send(id=message["id"], result=result)
