"""An MCP server with the tool `symbols`, as the code component offers it, for Python files."""

import ast
import json
import sys
from pathlib import Path
from typing import Any

SYMBOLS = {
    "name": "symbols",
    "description": "Lists what is defined in a file.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
}


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {}}
    if method == "tools/list":
        return {"tools": [SYMBOLS]}
    path = params["arguments"]["path"]
    defined = [one for one in ast.parse(Path(path).read_text()).body if isinstance(one, ast.FunctionDef)]
    lines = [f"{path}:{one.lineno}:1  {one.name}" for one in defined]
    return {"content": [{"type": "text", "text": "\n".join(lines)}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        print(
            json.dumps({**answer, "result": result(message["method"], message.get("params", {}))}), flush=True
        )
