"""A tool: its description for the model, its parameters and the function that runs it.

A tool's result is read by a model. A mistake that the model can correct is a ToolError, written for the model. What
a tool may do is decided by its code and by the user, never by text that the model has read.
"""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, Protocol

import msgspec

from portico.domain import codecs
from portico.porter.models.model import ModelImage, ModelText, ToolSpec
from portico.porter.tool_call import ToolError
from portico.porter.tools.context import ToolContext


class ToolOutcome(msgspec.Struct, frozen=True):
    """The result of a call. A command with a non-zero exit code is `failed`, and its output is the result."""

    parts: tuple[ModelText | ModelImage, ...]
    failed: bool = False


class ToolParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the parameters of tools. Unknown names are errors."""


class ModelTool(Protocol):
    """A tool as the model loop uses it.

    Calls of a `parallel` tool may run at the same time, because they only read. After a call of a tool that
    `changes` something, an earlier call may be repeated. A tool of an MCP server is `read_only` if a trusted server
    says so.
    """

    @property
    def name(self) -> str: ...
    @property
    def parallel(self) -> bool: ...
    @property
    def changes(self) -> bool: ...
    @property
    def read_only(self) -> bool: ...

    def spec(self) -> ToolSpec: ...

    async def call(self, context: ToolContext, arguments: str) -> ToolOutcome:
        """Run a call with the arguments that the model wrote. Raises ToolError or PorticoError."""
        ...


class BuiltInTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is part of Porter."""

    name: str
    description: str
    parameters: type[ToolParameters]
    run: Callable[[ToolContext, Any], Awaitable[str | ToolOutcome]]
    parallel: bool = False
    changes: bool = False
    read_only: bool = False

    def spec(self) -> ToolSpec:
        return ToolSpec(name=self.name, description=self.description, schema=_schema(self.parameters))

    async def call(self, context: ToolContext, arguments: str) -> ToolOutcome:
        done = await self.run(context, _read(arguments, self.parameters))
        return ToolOutcome((ModelText(done),)) if isinstance(done, str) else done


def _read(arguments: str, parameters: type[ToolParameters]) -> ToolParameters:
    try:
        return codecs.decode_json(arguments.strip() or "{}", parameters)
    except msgspec.ValidationError as error:
        takes = ", ".join(field.encode_name for field in msgspec.structs.fields(parameters))
        raise ToolError(f"Invalid arguments: {error}. This tool takes: {takes or 'nothing'}.") from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ToolError(
            f"The arguments are not valid JSON ({error}). Send one JSON object, with quotes and line breaks "
            "inside strings escaped."
        ) from error


@cache
def _schema(parameters: type[ToolParameters]) -> bytes:
    """Return a JSON Schema that providers accept: an object at the top, not a reference."""
    (top,), parts = msgspec.json.schema_components((parameters,), ref_template="#/$defs/{name}")
    own = parts.pop(top["$ref"].rpartition("/")[2])
    own.pop("title", None)
    own.pop("description", None)
    if parts:
        own["$defs"] = parts
    return msgspec.json.encode(own)
