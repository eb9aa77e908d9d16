"""A tool: its description for the model, its parameters and the function that runs it.

What a tool answers is read by a model. A mistake that it can correct is a ToolFailure, written for it. What a
tool may do is decided by its code and by the person, never by words that the model has read somewhere.
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
    """What a call came to. A command that ended badly is `failed`, and its output is the point."""

    parts: tuple[ModelText | ModelImage, ...]
    failed: bool = False


class ToolParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what tools take. A name that a tool does not know is a mistake worth telling."""


class ModelTool(Protocol):
    """A tool as the loop uses it.

    Calls that go `together` may run at the same time: they only look. One that `changes` something makes
    the same question a new one.
    """

    @property
    def name(self) -> str: ...
    @property
    def together(self) -> bool: ...
    @property
    def changes(self) -> bool: ...

    def spec(self) -> ToolSpec: ...

    async def call(self, context: ToolContext, arguments: str) -> ToolOutcome:
        """Do it. `arguments` is what the model wrote. ToolFailure for the model, PorticoError for both."""
        ...


class BuiltInTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of our own."""

    name: str
    description: str
    parameters: type[ToolParameters]
    run: Callable[[ToolContext, Any], Awaitable[str | ToolOutcome]]
    together: bool = False
    changes: bool = False

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
        raise ToolError(
            f"The arguments do not fit: {error}. This tool takes: {takes or 'nothing'}."
        ) from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ToolError(
            f"The arguments are not valid JSON ({error}). Send one JSON object, with quotes and line ends "
            "inside text escaped."
        ) from error


@cache
def _schema(parameters: type[ToolParameters]) -> bytes:
    """The JSON Schema as providers like it: an object at the top, and no reference to itself."""
    (top,), parts = msgspec.json.schema_components((parameters,), ref_template="#/$defs/{name}")
    own = parts.pop(top["$ref"].rpartition("/")[2])
    own.pop("title", None)
    own.pop("description", None)
    if parts:
        own["$defs"] = parts
    return msgspec.json.encode(own)
