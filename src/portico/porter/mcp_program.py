"""Starts the programs of MCP servers for Porter."""

from collections.abc import Mapping
from pathlib import Path

from portico import __version__
from portico.acp import _schema as schema
from portico.domain.provider_keys import without_provider_keys
from portico.mcp.client_transport import ClientPeer, McpTransport
from portico.mcp.protocol import McpImplementation
from portico.sandbox.wrapper import sandbox_wrapper

PORTER = McpImplementation("porter", __version__)


async def open_program(
    server: schema.McpServer, cwd: Path, environ: Mapping[str, str], requests: ClientPeer
) -> McpTransport:
    """Start a server that is a program, without the keys of model providers. McpServerFailed if it cannot start."""
    from portico.mcp.stdio_transport import ServerProgram, open_stdio

    added = {variable.name: variable.value for variable in server.env or ()}
    program = ServerProgram(
        command=(server.command or "", *(server.args or ())),
        cwd=cwd,
        environ={**without_provider_keys(environ), **added},
        wrapper=sandbox_wrapper(environ),
    )
    return await open_stdio(server.name, program, requests)
