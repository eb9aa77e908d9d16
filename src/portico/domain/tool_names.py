"""The name of an MCP tool in permission rules and in Porter: `server__tool`."""

import re

LONGEST_TOOL_NAME = 64
_LONGEST_SERVER = 24


def qualified_tool_name(server: str, tool: str) -> str:
    """Exactly one `__`, so that it is clear where the server's name ends; letters that every provider accepts."""
    before = _plain(server)[:_LONGEST_SERVER].rstrip("_") or "server"
    after = _plain(tool).lstrip("_") or "tool"
    return f"{before}__{after}"[:LONGEST_TOOL_NAME]


def _plain(name: str) -> str:
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name))
