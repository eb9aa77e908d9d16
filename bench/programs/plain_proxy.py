"""The least a proxy program can be: it decodes every line and passes it on. The standard library alone."""

import itertools
import json
import sys
from typing import Any


def main() -> None:
    """Messages from the client are wrapped for the successor, those of the successor are unwrapped."""
    ids = itertools.count(1)
    asked: dict[int, Any] = {}
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" not in message:
            message["id"] = asked.pop(message["id"])
        else:
            message |= _onward(message["method"], message.get("params", {}))
            if "id" in message:
                given = next(ids)
                asked[given], message["id"] = message["id"], given
        sys.stdout.buffer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        sys.stdout.buffer.flush()


def _onward(method: str, params: Any) -> dict[str, Any]:
    if method == "proxy/successor":
        return {"method": params["method"], "params": params.get("params", {})}
    inner = "initialize" if method == "proxy/initialize" else method
    return {"method": "proxy/successor", "params": {"method": inner, "params": params}}


if __name__ == "__main__":
    main()
