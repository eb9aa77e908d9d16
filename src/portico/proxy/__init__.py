"""Owns the public API for proxies: base classes, tools, and `run`, which makes a program of them.

A proxy sits in the chain between a client and its agent. It sees the messages that it names, in both directions, and
may forward, change, answer or hold each one. Subclass `Proxy` to work with messages, or `McpProxy` to give the agent
tools; end the file with `run(YourProxy())` and name it under `proxies` in the settings.
"""

from portico.conductor.mcp_bridge.server_proxy import McpProxy
from portico.conductor.mcp_bridge.session_servers import ChainSession
from portico.conductor.proxy import Proxy
from portico.conductor.proxy_program import run, serve
from portico.mcp.server import ToolServer
from portico.mcp.tools import McpImage, McpText, Tool, ToolCall, ToolFailure, ToolResult, schema_of
from portico.rpc.messages import Message, RpcError

__all__ = [
    "ChainSession",
    "McpImage",
    "McpProxy",
    "McpText",
    "Message",
    "Proxy",
    "RpcError",
    "Tool",
    "ToolCall",
    "ToolFailure",
    "ToolResult",
    "ToolServer",
    "run",
    "schema_of",
    "serve",
]
