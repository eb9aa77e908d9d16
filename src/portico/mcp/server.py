"""An in-process MCP server with tools, for both protocol eras.

A server keeps no state between requests, so one object answers every session. Cancelling a request cancels the task
that answers it, which is up to the transport.
"""

import logging
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw, UnsetType

import portico
from portico.domain import codecs
from portico.mcp import protocol
from portico.mcp.messages import InitializeResult, ToolDeclaration, ToolPage
from portico.mcp.protocol import fields_of, present, raw
from portico.mcp.tools import McpText, Notify, Tool, ToolCall, ToolFailure, ToolResult
from portico.rpc.messages import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

log = logging.getLogger(__name__)

RESULT_LIMIT = 8 * 1024 * 1024


class McpRequest(msgspec.Struct, frozen=True):
    """One request of an agent, and for which session it was made."""

    method: str
    params: Raw | None
    session_id: str | None
    cwd: str
    notify: Notify


class InProcessServer(Protocol):
    """Anything that answers MCP requests."""

    @property
    def name(self) -> str:
        """The name that the agent shows."""
        ...

    async def answer(self, request: McpRequest) -> Any:
        """The result, as any value that can be encoded. RpcError for an error of MCP."""
        ...


class ToolServer:
    """A set of tools under one name."""

    def __init__(
        self,
        name: str,
        tools: Sequence[Tool],
        *,
        instructions: str | None = None,
        result_limit: int = RESULT_LIMIT,
    ) -> None:
        self._name = name
        self._tools = {tool.name: tool for tool in tools}
        if len(self._tools) != len(tools):
            raise ValueError(f"two tools of the server {name} have the same name")
        self._instructions = instructions
        self._result_limit = result_limit

    @property
    def name(self) -> str:
        return self._name

    async def answer(self, request: McpRequest) -> Any:
        modern = protocol.is_modern(request.params)
        match request.method:
            case protocol.INITIALIZE:
                return self._initialize(request.params)
            case protocol.DISCOVER:
                return self._discover()
            case protocol.LIST_TOOLS:
                page = ToolPage([_declaration(tool) for tool in self._tools.values()])
                return {"tools": page.tools, **protocol.MODERN_CACHEABLE} if modern else page
            case protocol.CALL_TOOL:
                called = await self._call(request)
                return {**called, **protocol.MODERN_RESULT} if modern else called
            case protocol.PING:
                return protocol.MODERN_RESULT if modern else {}
            case other:
                raise RpcError(METHOD_NOT_FOUND, f"the server {self.name} has no method {other}")

    def _initialize(self, params: Raw | None) -> InitializeResult:
        return InitializeResult(
            protocol_version=protocol.agreed_version(params),
            capabilities={"tools": {}},
            server_info=self._identity(),
            instructions=self._instructions,
        )

    def _discover(self) -> dict[str, Any]:
        return {
            "supportedVersions": [protocol.MODERN_VERSION],
            "capabilities": {"tools": {}},
            **({} if self._instructions is None else {"instructions": self._instructions}),
            **protocol.MODERN_CACHEABLE,
            "_meta": {protocol.SERVER_INFO_KEY: self._identity()},
        }

    def _identity(self) -> protocol.McpImplementation:
        return protocol.McpImplementation(self.name, portico.__version__)

    async def _call(self, request: McpRequest) -> dict[str, Any]:
        try:
            params = codecs.decode_json(request.params or b"{}", _CallParams)
        except msgspec.DecodeError as error:
            raise RpcError(INVALID_PARAMS, f"{request.method}: {error}") from error
        tool = self._tools.get(params.name)
        if tool is None:
            known = ", ".join(self._tools) or "none"
            raise RpcError(INVALID_PARAMS, f"unknown tool {params.name}; available: {known}")
        token = fields_of(present(params.meta)).get("progressToken")
        call = ToolCall(params.arguments or {}, request.session_id, request.cwd, request.notify, token)
        result = await _run(tool, call)
        size = sum(len(bytes(part)) for part in result.values() if isinstance(part, Raw))
        if size > self._result_limit:
            return _failed(
                f"The result of {tool.name} has {size} bytes; the limit is {self._result_limit}. Ask for less."
            )
        return result


class _CallParams(msgspec.Struct, frozen=True):
    name: str
    arguments: dict[str, Any] | None = None
    meta: Raw | UnsetType = msgspec.field(default=UNSET, name="_meta")


async def _run(tool: Tool, call: ToolCall) -> dict[str, Any]:
    try:
        result = await tool.run(call)
        return _encoded(ToolResult((McpText(result),)) if isinstance(result, str) else result)
    except ToolFailure as failure:
        return _failed(str(failure))
    except Exception as error:  # top level of a tool: the model gets an error, and the session continues
        log.exception("the tool %s failed", tool.name)
        return _failed(
            f"The tool {tool.name} has a defect and did not finish ({type(error).__name__}). "
            "Calling it again in the same way will not help."
        )


def _failed(reason: str) -> dict[str, Any]:
    return _encoded(ToolResult((McpText(reason),), is_error=True))


def _encoded(result: ToolResult) -> dict[str, Any]:
    made: dict[str, Any] = {"content": raw(result.content)}
    if not isinstance(result.structured, UnsetType):
        made["structuredContent"] = structured = raw(result.structured)
        if not result.content:
            made["content"] = raw([McpText(bytes(structured).decode())])
    if result.is_error:
        made["isError"] = True
    return made


def _declaration(tool: Tool) -> ToolDeclaration:
    return ToolDeclaration(
        name=tool.name,
        description=tool.description,
        input_schema={"type": "object", **tool.input_schema},
        title=tool.title,
        output_schema=tool.output_schema,
        annotations={"readOnlyHint": True} if tool.read_only else None,
    )
