"""MCP method names, protocol revisions, error codes and metadata keys.

There are two eras. Up to 2025-11-25 a conversation begins with `initialize`; since 2026-07-28 there is none,
and each request brings its version along in `_meta`.
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
CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"

HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"

# What only results of the newest revision have; to a reader of an older one it would be noise.
MODERN_RESULT = {"resultType": "complete"}
MODERN_CACHEABLE = {**MODERN_RESULT, "ttlMs": 0, "cacheScope": "private"}


class McpImplementation(msgspec.Struct, frozen=True):
    """Who a client or a server says it is."""

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
    """A value that is left out and one that is null are the same to MCP."""
    return None if isinstance(value, UnsetType) or bytes(value) == b"null" else value


def raw(value: Any) -> Raw:
    return value if isinstance(value, Raw) else Raw(msgspec.json.encode(value))


def is_modern(params: Raw | None) -> bool:
    """Whether a request belongs to the newest revision. RpcError if it names one that nobody knows."""
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
    """The same parameters as a request of the newest revision has them, from a client that can do no more."""
    fields = fields_of(params)
    meta = fields_of(fields.get("_meta"))
    meta[VERSION_KEY] = raw(MODERN_VERSION)
    meta[CLIENT_CAPABILITIES_KEY] = raw({})
    if client is not None:
        meta[CLIENT_INFO_KEY] = client
    return raw({**fields, "_meta": meta})


def agreed_version(params: Raw | None) -> str:
    """The revision that `initialize` settles on: the client's if it is known, else the newest of its era."""
    wanted = fields_of(params).get("protocolVersion")
    version = codecs.decode_json(wanted) if wanted is not None else None
    return version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
