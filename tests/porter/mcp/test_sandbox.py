"""MCP servers and commands of Porter run in the sandbox that its host gives."""

import os
import sys
from pathlib import Path

from msgspec import Raw

from portico.acp import _schema as schema
from portico.porter.mcp_program import open_program
from portico.porter.mcp_requests import ServerRequests
from portico.porter.terminals import LocalCommandRunner, run_to_end
from portico.sandbox.wrapper import WRAPPER_VARIABLE

ANSWER = """
import json, os, sys
request = json.loads(sys.stdin.readline())
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": os.environ.get("CONFINED", "no")}), flush=True)
sys.stdin.read()
"""
CONFINED = {**os.environ, WRAPPER_VARIABLE: '["/usr/bin/env", "CONFINED=yes"]'}


async def test_an_mcp_server(tmp_path: Path) -> None:
    server = schema.McpServer(name="asked", command=sys.executable, args=["-c", ANSWER], env=[])
    pipes = await open_program(server, tmp_path, CONFINED, ServerRequests((), can_ask=False))
    try:
        assert await pipes.request("whether", {}) == Raw(b'"yes"')
    finally:
        await pipes.close()


async def test_a_command(tmp_path: Path) -> None:
    command = ("/bin/sh", "-c", "echo $CONFINED")
    ended = await run_to_end(LocalCommandRunner(CONFINED), command, tmp_path, lambda _: None)
    assert ended.output == "yes\n"
