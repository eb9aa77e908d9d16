"""An agent that takes MCP servers as programs, and says in the answer to `session/new` which it was given."""

import json
import sys


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = {"protocolVersion": 1, "agentCapabilities": {}}
        if request["method"] == "session/new":
            result = {"sessionId": "one", "_meta": {"mcpServers": request["params"]["mcpServers"]}}
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
