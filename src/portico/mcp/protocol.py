"""MCP method names, protocol revisions, error codes, HTTP headers and metadata keys.

There are two eras. Up to 2025-11-25 a connection begins with `initialize`; since 2026-07-28 there is no handshake,
and each request carries its version in `_meta`.
"""

from typing import Any

import msgspec
from msgspec import Raw, UnsetType

from portico.domain import codecs
from portico.rpc.messages import INVALID_PARAMS, RpcError

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSION = "2026-07-28"

INITIALIZE = "initialize"
DISCOVER = "server/discover"
LIST_TOOLS = "tools/list"
CALL_TOOL = "tools/call"
PING = "ping"
LIST_ROOTS = "roots/list"
CREATE_ELICITATION = "elicitation/create"
INITIALIZED = "notifications/initialized"
CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"

HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022
# Errors of the connection to a server, which are never errors of MCP.
RESOURCE_LIMIT = -33000
SERVER_UNAVAILABLE = -33001
BACKEND_FAILED = -33002

SESSION_HEADER = "Mcp-Session-Id"
VERSION_HEADER = "MCP-Protocol-Version"
METHOD_HEADER = "Mcp-Method"
NAME_HEADER = "Mcp-Name"

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

# Fields that only results of the newest revision have.
MODERN_RESULT = {"resultType": "complete"}
MODERN_CACHEABLE = {**MODERN_RESULT, "ttlMs": 0, "cacheScope": "private"}


class McpImplementation(msgspec.Struct, frozen=True):
    """Name and version of a client or a server."""

    name: str
    version: str


def fields_of(raw: Raw | None) -> dict[str, Raw]:
    """The members of a JSON object, each still as bytes; none if it is anything else."""
    if raw is None:
        return {}
    try:
        return codecs.decode_json(raw, dict[str, Raw])
    except msgspec.DecodeError:
        return {}


def present(value: Raw | UnsetType) -> Raw | None:
    """None for a value that is missing or null, which mean the same in MCP."""
    return None if isinstance(value, UnsetType) or bytes(value) == b"null" else value


def raw(value: Any) -> Raw:
    return value if isinstance(value, Raw) else Raw(msgspec.json.encode(value))


def is_modern(params: Raw | None) -> bool:
    """Whether a request belongs to the newest revision. RpcError if it names an unknown one."""
    version = fields_of(fields_of(params).get("_meta")).get(VERSION_KEY)
    if version is None:
        return False
    named = codecs.decode_json(version)
    if not isinstance(named, str):
        raise RpcError(INVALID_PARAMS, f"{VERSION_KEY} must be a string")
    if named != MODERN_VERSION:
        data = {"supported": [MODERN_VERSION], "requested": named}
        raise RpcError(UNSUPPORTED_VERSION, f"the MCP revision {named} is not supported", data)
    return True


def with_modern_meta(params: Raw | None, client: Raw | None) -> Raw:
    """The parameters as those of a request of the newest revision, by a client without optional capabilities."""
    fields = fields_of(params)
    return raw({**fields, "_meta": {**fields_of(fields.get("_meta")), **modern_meta(client)}})


def modern_meta(client: Any) -> dict[str, Any]:
    """The `_meta` that every request of the newest revision carries."""
    meta = {VERSION_KEY: MODERN_VERSION, CLIENT_CAPABILITIES_KEY: {}}
    return meta if client is None else {**meta, CLIENT_INFO_KEY: client}


def agreed_version(params: Raw | None) -> str:
    """The revision that `initialize` settles on: the client's if it is known, else the newest of its era."""
    wanted = fields_of(params).get("protocolVersion")
    version = codecs.decode_json(wanted) if wanted is not None else None
    return version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
