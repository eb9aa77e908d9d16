"""An agent that answers every prompt by writing files into the folder of its session: writing_agent.py COUNT

It uses the standard library alone.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    folder = Path()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        method, result = request.get("method"), {}
        if method == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}}
        elif method == "session/new":
            folder, result = Path(request["params"]["cwd"]), {"sessionId": "writer"}
        elif method == "session/prompt":
            for number in range(int(sys.argv[1])):
                (folder / f"file_{number}.txt").write_text(f"line {number}\n" * 20)
            result = {"stopReason": "end_turn"}
        if "id" in request and method is not None:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
            sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
