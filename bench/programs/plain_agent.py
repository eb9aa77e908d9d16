"""The least an agent can be: a loop that reads a line, decodes it and answers. The standard library alone."""

import json
import sys


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        result = {"protocolVersion": 1} if request["method"] == "initialize" else request.get("params")
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
