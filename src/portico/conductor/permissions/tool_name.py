"""The MCP tool that a tool call names, as `server__tool`, in the notation of each agent.

| agent       | where it says so                                   | example                         |
|-------------|----------------------------------------------------|---------------------------------|
| Porter      | `name`                                             | `github__get_issue`             |
| Claude Code | `_meta.claudeCode.toolName`, else the title        | `mcp__github__get_issue`        |
| Codex       | the title and `rawInput`, which must agree         | `Tool: github/get_issue`        |
| OpenCode    | the title                                          | `github_get_issue`: not certain |

A name that can be read in more than one way is not certain: no rule allows it, and a denial that fits one of its
readings goes to a person.
"""

import re
from typing import Any

import msgspec

from portico.acp import _schema as acp
from portico.domain.tool_names import qualified_tool_name

_MCP = "mcp__"
_QUALIFIED = re.compile(r"[A-Za-z0-9_-]+__[A-Za-z0-9_-]+")
_CODEX = re.compile(r"Tool: ([^/\n]+)/([^/\n]+)")
_JOINED = re.compile(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)+")
_MOST_READINGS = 16


class McpToolName(msgspec.Struct, frozen=True):
    """All readings of a name; none if the call names no MCP tool."""

    readings: tuple[str, ...] = ()
    certain: bool = False

    @property
    def known(self) -> str | None:
        return self.readings[0] if self.certain else None


NO_TOOL = McpToolName()


def mcp_tool_name(call: acp.ToolCallUpdate) -> McpToolName:
    claude = _claude_name(call.meta)
    if claude is not None:
        return _qualified(claude.removeprefix(_MCP)) if claude.startswith(_MCP) else NO_TOOL
    if call.name is not None:
        return _qualified(call.name.removeprefix(_MCP))
    if (call.kind or "other") != "other":
        return NO_TOOL  # The title of a command or a search is what the model wrote.
    title = call.title or ""
    if title.startswith(_MCP):
        return _qualified(title.removeprefix(_MCP))
    if (codex := _CODEX.fullmatch(title)) is not None:
        raw_input = call.raw_input if isinstance(call.raw_input, dict) else {}
        agrees = (raw_input.get("server"), raw_input.get("tool")) == codex.groups()
        return McpToolName((qualified_tool_name(*codex.groups()),), certain=agrees)
    return _joined(title)


def _claude_name(meta: dict[str, Any] | None) -> str | None:
    claude = (meta or {}).get("claudeCode")
    name = claude.get("toolName") if isinstance(claude, dict) else None
    return name if isinstance(name, str) else None


def _qualified(name: str) -> McpToolName:
    """A name with one `__`; with more of them it does not say where the server's name ends."""
    if _QUALIFIED.fullmatch(name) is None:
        return _joined(name)
    return McpToolName((name,), certain=name.count("__") == 1 and "___" not in name)


def _joined(name: str) -> McpToolName:
    """A server and a tool with one `_` between them: every `_` may be the one."""
    if _JOINED.fullmatch(name) is None:
        return NO_TOOL
    parts = name.split("_")
    splits = range(1, min(len(parts), _MOST_READINGS + 1))
    return McpToolName(tuple(f"{'_'.join(parts[:at])}__{'_'.join(parts[at:])}" for at in splits))
