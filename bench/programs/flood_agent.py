"""An agent that answers a prompt with updates as fast as a pipe takes them, the same for every client.

All its bytes are made before a prompt comes, so that what is measured is the client. Any prompt but
`flood` gets one update. It uses the standard library alone: flood_agent.py COUNT
"""

import json
import os
import sys
from typing import Any

SESSION = "flood"


def delta(number: int) -> str:
    """The text of one update: 40 characters that tell which it is."""
    return f"{number:08d} {'words to fill a line ':.<30}\n"


def message(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}, separators=(",", ":")).encode() + b"\n"


def update(number: int) -> bytes:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": delta(number)}}
    return message(method="session/update", params={"sessionId": SESSION, "update": chunk})


def send(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def main() -> None:
    drop, flood = update(0), b"".join(update(number) for number in range(int(sys.argv[1])))
    results: dict[str, dict[str, Any]] = {
        "initialize": {"protocolVersion": 1, "agentCapabilities": {}},
        "session/new": {"sessionId": SESSION},
        "session/prompt": {"stopReason": "end_turn"},
    }
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["method"] == "session/prompt":
            send(flood if request["params"]["prompt"][-1]["text"] == "flood" else drop)
        if "id" in request:
            send(message(id=request["id"], result=results[request["method"]]))


if __name__ == "__main__":
    main()
