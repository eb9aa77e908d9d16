"""MCP messages that the client reads and the server writes: tools, results and the handshake."""

from typing import Any

import msgspec


class InitializeResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The result of `initialize`."""

    protocol_version: str
    capabilities: Any = None
    server_info: Any = None
    instructions: Any = None


class ToolDeclaration(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tool as its server describes it."""

    name: str
    description: str = ""
    input_schema: dict[str, Any] = {}
    title: Any = None
    output_schema: Any = None
    annotations: Any = None

    @property
    def only_reads(self) -> bool:
        """Whether the server says that the tool changes nothing."""
        return isinstance(self.annotations, dict) and self.annotations.get("readOnlyHint") is True


class ToolPage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The result of `tools/list`."""

    tools: list[ToolDeclaration]
    next_cursor: str | None = None


class ToolContent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Any part of a result as it is received: the fields of all kinds, each optional."""

    type: str
    text: str | None = None
    data: str | None = None
    mime_type: str | None = None
    uri: str | None = None
    resource: dict[str, Any] | None = None


class ToolCallResult(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The result of `tools/call` as it is received."""

    content: list[ToolContent] = []
    structured_content: Any = None
    is_error: bool = False
