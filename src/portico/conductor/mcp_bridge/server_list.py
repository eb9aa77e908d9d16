"""The `mcpServers` list of a session request: reading, extending and rewriting it.

Entries that are not changed keep their bytes, so nothing that a client asks for is lost on the way.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.acp.extensions import ServerMeta, SessionPlacement, placement_in, to_meta
from portico.domain import codecs
from portico.mcp.protocol import fields_of, present, raw

_EARLY_ADDRESS = "acp:"


class SessionOpening(msgspec.Struct, frozen=True):
    """The parameters of a request that opens a session."""

    fields: dict[str, Raw]
    cwd: str
    session_id: str | None
    servers: tuple[Raw, ...]
    placed: SessionPlacement

    def with_servers(self, servers: Sequence[Raw]) -> dict[str, Raw]:
        return {**self.fields, "mcpServers": raw(servers)}


class McpServerEntry(msgspec.Struct, frozen=True):
    """One server of the list. `server_id` is there if it is reached over ACP."""

    name: str
    server_id: str | None
    meta: Raw | None

    @property
    def is_legacy(self) -> bool:
        """Whether it is declared in the oldest way, as a URL that no agent can open."""
        return self.server_id is not None and self.server_id.startswith(_EARLY_ADDRESS)


class _WireOpening(msgspec.Struct, frozen=True):
    cwd: str = ""
    session_id: str | None = msgspec.field(default=None, name="sessionId")
    servers: tuple[Raw, ...] | None = msgspec.field(default=None, name="mcpServers")
    meta: Any = msgspec.field(default=None, name="_meta")


class _WireEntry(msgspec.Struct, frozen=True):
    type: str | None = None
    name: str = ""
    server_id: str | None = msgspec.field(default=None, name="serverId")
    id: str | None = None
    url: str | None = None
    meta: Raw | UnsetType = msgspec.field(default=UNSET, name="_meta")


def read_opening(params: Raw) -> SessionOpening | None:
    """None for malformed parameters, which the agent is left to refuse."""
    try:
        wire = codecs.decode_json(params, _WireOpening)
    except msgspec.DecodeError:
        return None
    return SessionOpening(
        fields_of(params), wire.cwd, wire.session_id, wire.servers or (), placement_in(wire.meta)
    )


def read_entry(entry: Raw) -> McpServerEntry:
    try:
        wire = codecs.decode_json(entry, _WireEntry)
    except msgspec.DecodeError:
        return McpServerEntry("", None, None)
    server_id = (wire.server_id or wire.id) if wire.type == "acp" else None
    if server_id is None and wire.url is not None and wire.url.startswith(_EARLY_ADDRESS):
        server_id = wire.url
    return McpServerEntry(wire.name, server_id, present(wire.meta))


def acp_entry(name: str, server_id: str) -> Raw:
    """`id` is what `serverId` was called before. The server runs in this process, so its hints are trusted."""
    meta = to_meta(ServerMeta(trusted=True))
    return raw({"type": "acp", "name": name, "serverId": server_id, "id": server_id, "_meta": meta})


def stdio_entry(entry: McpServerEntry, command: Sequence[str], environ: Mapping[str, str]) -> Raw:
    """An entry with a program, in place of a server that the agent cannot reach."""
    made = {
        "name": entry.name,
        "command": command[0],
        "args": command[1:],
        "env": [{"name": name, "value": value} for name, value in environ.items()],
    }
    return raw(made if entry.meta is None else {**made, "_meta": entry.meta})


def http_entry(entry: McpServerEntry, url: str, headers: Mapping[str, str]) -> Raw:
    """An entry with a URL, in place of such a server."""
    made = {
        "type": "http",
        "name": entry.name,
        "url": url,
        "headers": [{"name": name, "value": value} for name, value in headers.items()],
    }
    return raw(made if entry.meta is None else {**made, "_meta": entry.meta})


def accepts_mcp_over(kind: Literal["acp", "http"], initialized: Raw) -> bool:
    """Whether the result of `initialize` says that servers of this kind may be offered."""
    agent = fields_of(fields_of(initialized).get("agentCapabilities"))
    announced = fields_of(agent.get("mcpCapabilities")).get(kind)
    return announced is not None and bytes(announced) == b"true"


def announce_mcp_over_acp(initialized: Raw) -> Raw:
    """The same result, announcing MCP servers over ACP."""
    fields = fields_of(initialized)
    agent = fields_of(fields.get("agentCapabilities"))
    kinds = {**fields_of(agent.get("mcpCapabilities")), "acp": raw(True)}
    return raw({**fields, "agentCapabilities": {**agent, "mcpCapabilities": kinds}})
