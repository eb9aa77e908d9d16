"""A connection of one agent to one provided MCP server, translated between protocol revisions where they differ.

The provider's revision is found out before the agent's first request is answered, by `server/discover`, which
changes nothing.
"""

import msgspec
from msgspec import Raw

from portico.conductor.mcp_bridge.provider import McpProvider
from portico.conductor.mcp_bridge.server_list import McpServerEntry
from portico.mcp import protocol
from portico.mcp.messages import InitializeResult
from portico.mcp.protocol import fields_of, raw, with_modern_meta
from portico.mcp.server_connection import McpServerConnection, OnNotification, ServerBackend
from portico.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RequestId, RpcError

_NOT_THIS_DIALECT = (METHOD_NOT_FOUND, INVALID_PARAMS)


async def open_provider_connection(
    provider: McpProvider, entry: McpServerEntry, agent: McpServerConnection, method: str, params: Raw | None
) -> ServerBackend:
    """Open a connection that begins with this request of the agent."""
    server_id = entry.server_id or ""
    if entry.is_legacy:
        spelling = "_mcp/connect"
        return RelayedConnection(provider, await provider.connect(server_id, spelling, agent), spelling)
    client = fields_of(params).get("clientInfo")
    try:
        found = await provider.call(
            server_id, protocol.DISCOVER, with_modern_meta(None, client), agent.notify
        )
    except RpcError as error:
        if error.code not in _NOT_THIS_DIALECT:
            raise
        spelling = "mcp/connect"
        return RelayedConnection(provider, await provider.connect(server_id, spelling, agent), spelling)
    if isinstance(found, RpcError) or method != protocol.INITIALIZE:
        return DirectConnection(provider, server_id)
    return TranslatedConnection(provider, entry, found, client)


class DirectConnection:
    """Both sides speak the newest revision of MCP, which needs no connection."""

    def __init__(self, provider: McpProvider, server_id: str) -> None:
        self._provider = provider
        self._server_id = server_id

    async def request(
        self, client_id: RequestId, method: str, params: Raw | None, notify: OnNotification
    ) -> Raw:
        def renamed(method: str, params: Raw | None) -> None:
            notify(method, None if params is None else _renamed(params, client_id))

        found = await self._provider.call(self._server_id, method, params, renamed)
        if isinstance(found, RpcError):
            raise found
        return _renamed(found, client_id)

    def notification(self, method: str, params: Raw | None) -> None:
        """Dropped: without a connection a notification belongs to nothing."""

    def close(self) -> None:
        return


class TranslatedConnection:
    """The agent begins with a handshake; the provider speaks the revision without one."""

    def __init__(
        self, provider: McpProvider, entry: McpServerEntry, discovered: Raw, client: Raw | None
    ) -> None:
        self._provider = provider
        self._entry = entry
        self._discovered = fields_of(discovered)
        self._client = client

    async def request(
        self, client_id: RequestId, method: str, params: Raw | None, notify: OnNotification
    ) -> Raw:
        if method == protocol.INITIALIZE:
            return self._greeting(params)
        if method == protocol.PING:
            return raw({})
        found = await self._provider.call(
            self._entry.server_id or "", method, with_modern_meta(params, self._client), notify
        )
        if isinstance(found, RpcError):
            raise found
        return _as_handshake_result(found)

    def notification(self, method: str, params: Raw | None) -> None:
        """Dropped: the newest revision has no `initialized` and the like."""

    def close(self) -> None:
        return

    def _greeting(self, params: Raw | None) -> Raw:
        known = self._discovered
        server = fields_of(known.get("_meta")).get(protocol.SERVER_INFO_KEY)
        return raw(
            InitializeResult(
                protocol_version=protocol.agreed_version(params),
                capabilities=known.get("capabilities", {}),
                server_info=server or protocol.McpImplementation(self._entry.name, "0"),
                instructions=known.get("instructions"),
            )
        )


class RelayedConnection:
    """The provider needs a connection; messages on it are passed on unchanged, both ways."""

    def __init__(self, provider: McpProvider, connection_id: str, spelling: str) -> None:
        self._provider = provider
        self._connection_id = connection_id
        self._spelling = spelling

    async def request(
        self, client_id: RequestId, method: str, params: Raw | None, notify: OnNotification
    ) -> Raw:
        return await self._provider.connected_call(self._connection_id, self._spelling, method, params)

    def notification(self, method: str, params: Raw | None) -> None:
        self._provider.connected_notify(self._connection_id, self._spelling, method, params)

    def close(self) -> None:
        self._provider.disconnect(self._connection_id, self._spelling)


def _as_handshake_result(result: Raw) -> Raw:
    """The result without the fields of the newest revision."""
    fields = fields_of(result)
    kind = fields.pop("resultType", None)
    if kind is not None and bytes(kind) == b'"input_required"':
        raise RpcError(INTERNAL_ERROR, "the server asks for user input, which cannot be passed on")
    if kind is None:
        return result
    for name in ("ttlMs", "cacheScope"):
        fields.pop(name, None)
    return raw(fields)


def _renamed(value: Raw, client_id: RequestId) -> Raw:
    """The value with its subscription id replaced by the id that the agent gave it."""
    if protocol.SUBSCRIPTION_KEY.encode() not in bytes(value):
        return value
    fields = fields_of(value)
    meta = fields_of(fields.get("_meta"))
    if protocol.SUBSCRIPTION_KEY not in meta:
        return value
    return raw({**fields, "_meta": {**meta, protocol.SUBSCRIPTION_KEY: Raw(msgspec.json.encode(client_id))}})
