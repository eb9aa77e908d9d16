"""Exact uses of a name, from the code tools that the chain offers, if it does."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from portico.acp import _schema as schema
from portico.acp.extensions import ServerMeta, from_meta
from portico.mcp.client import McpClient
from portico.mcp.client_transport import McpServerFailed
from portico.porter.mcp_program import PORTER, open_program
from portico.porter.mcp_requests import ServerRequests
from portico.porter.search.symbol import Symbol, SymbolDefinition
from portico.porter.search.text_search import TextMatch
from portico.porter.turn import PorterTurn
from portico.rpc.messages import RpcError

SERVER = "portico-code"
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+):\d+(?:  (?P<text>.*))?")


async def find_references(
    turn: PorterTurn, symbol: Symbol, definition: SymbolDefinition
) -> list[TextMatch] | None:
    """The uses of what is defined at a place; None if no language server can tell."""
    server = _code_server(turn)
    if server is None:
        return None
    requests = ServerRequests((turn.workspace.root,), can_ask=False)
    try:
        transport = await open_program(server, turn.workspace.root, turn.environ, requests)
        client = McpClient(server.name, transport, requests, PORTER)
        try:
            await client.begin()
            arguments = {"path": str(definition.path), "line": definition.line, "symbol": symbol.name}
            called = await client.call("references", arguments, _nothing_asked)
        finally:
            await client.close()
    except (McpServerFailed, RpcError):
        return None
    told = "\n".join(part.text or "" for part in called.content)
    return None if called.is_error else list(_places(told, turn, definition)) or None


def _code_server(turn: PorterTurn) -> schema.McpServer | None:
    """The server of the code tools, if it is Portico's own."""
    servers = turn.session.parameters.mcp_servers
    return next(
        (
            server
            for server in servers
            if server.name == SERVER and server.command and from_meta(server.meta, ServerMeta).trusted
        ),
        None,
    )


def _places(told: str, turn: PorterTurn, definition: SymbolDefinition) -> Iterator[TextMatch]:
    for line in told.split("\n"):
        if (found := _PLACE.fullmatch(line)) is not None:
            path = turn.workspace.root / found["path"]
            if (path, int(found["line"])) != (definition.path, definition.line):
                yield TextMatch(path, int(found["line"]), found["text"] or "")


@contextmanager
def _nothing_asked(*_: Any) -> Iterator[None]:
    yield
