"""Tools of an in-process MCP server: declaration and call.

Results are read by a model. A mistake that the model can correct is a ToolFailure, written for it.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from portico.domain import codecs
from portico.mcp.protocol import PROGRESS

T = TypeVar("T")

Notify = Callable[[str, Any], None]
"""Sends the agent a notification that belongs to the request being answered."""


class ToolFailure(Exception):
    """The call failed, with a message that helps the model to correct it."""


class McpImage(msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="image"):
    """An image for the model; `data` is base64."""

    data: str
    mime_type: str


class McpText(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    """Text for the model."""

    text: str


class ToolResult(msgspec.Struct, frozen=True):
    """The result of a call. A structured value without content is shown as JSON."""

    content: tuple[McpText | McpImage, ...] = ()
    structured: Any | msgspec.UnsetType = msgspec.UNSET
    is_error: bool = False


class ToolCall(msgspec.Struct, frozen=True):
    """One call by the model. `session_id` is None while the agent is still opening the session."""

    arguments: dict[str, Any]
    session_id: str | None
    cwd: str
    notify: Notify
    progress_token: msgspec.Raw | None = None

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, if the agent asked for it."""
        if self.progress_token is None:
            return
        params = {"progressToken": self.progress_token, "progress": done, "total": total, "message": message}
        self.notify(PROGRESS, {name: value for name, value in params.items() if value is not None})

    def read(self, type: type[T]) -> T:  # noqa: A002 - msgspec calls it so too
        """The arguments as a value. ToolFailure names the one that does not fit."""
        try:
            return codecs.convert(self.arguments, type)
        except msgspec.ValidationError as error:
            raise ToolFailure(f"The arguments do not fit the tool's schema: {error}") from error


Run = Callable[[ToolCall], Awaitable[ToolResult | str]]


class Tool(msgspec.Struct, frozen=True):
    """`input_schema` is a JSON Schema of an object; `schema_of` makes one from a struct."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    run: Run
    title: str | None = None
    output_schema: Mapping[str, Any] | None = None
    read_only: bool = False
    """Whether calls change nothing, so that the agent need not ask for permission."""


def schema_of(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a struct, with the object itself at the root, as MCP requires."""
    (root,), definitions = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    schema = dict(definitions.pop(root["$ref"].rpartition("/")[2]))
    return {**schema, "$defs": definitions} if definitions else schema
