"""A tool of an MCP server as the model loop uses it.

Each call needs permission, unless a trusted server says that the tool only reads. The permission broker, which knows
the denials, is told of such a call and answers without asking a person; where there is no broker, nothing is asked.
"""

import base64
import binascii
from collections.abc import Collection
from functools import partial

import msgspec

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.domain.tool_names import LONGEST_TOOL_NAME, qualified_tool_name
from portico.mcp.client import McpClient
from portico.mcp.client_transport import McpServerFailed
from portico.mcp.messages import ToolCallResult, ToolContent, ToolDeclaration
from portico.porter.mcp_requests import ServerRequests
from portico.porter.models.model import ModelImage, ModelText, ToolSpec
from portico.porter.tool_call import ToolCallDetails, ToolError
from portico.porter.tools.context import ToolContext
from portico.porter.tools.tool import ToolOutcome
from portico.rpc.messages import RpcError

_LONGEST_DESCRIPTION = 4000
_SHOWN = 4000


class McpTool:
    """Called `server__tool`. What a server that is not `trusted` says about a tool grants nothing."""

    def __init__(
        self, client: McpClient, described: ToolDeclaration, requests: ServerRequests, *, trusted: bool
    ) -> None:
        self._client = client
        self._requests = requests
        self._described = described
        self.name = qualified_tool_name(client.name, described.name)
        self.read_only = trusted and described.only_reads

    @property
    def parallel(self) -> bool:
        return self.read_only

    @property
    def changes(self) -> bool:
        return not self.read_only

    def rename(self, taken: Collection[str]) -> None:
        """Take a name that no other tool has: what differs in other letters, or far behind, is the same here."""
        wanted, number = self.name, 2
        while self.name in taken:
            self.name = f"{wanted[: LONGEST_TOOL_NAME - len(str(number)) - 1]}_{number}"
            number += 1

    def spec(self) -> ToolSpec:
        parameters = {"type": "object", **self._described.input_schema}
        return ToolSpec(
            name=self.name,
            description=self._described.description[:_LONGEST_DESCRIPTION] or self._described.name,
            schema=msgspec.json.encode(parameters),
        )

    async def call(self, context: ToolContext, arguments: str) -> ToolOutcome:
        try:
            given = codecs.decode_json(arguments.strip() or "{}", dict[str, object])
        except (msgspec.DecodeError, RecursionError) as error:
            raise ToolError(f"The arguments are not one valid JSON object: {error}.") from error
        title = f"{self._client.name}: {self._described.name}"
        work = ToolCallDetails(
            title=title,
            kind="other",
            name=self.name,
            raw_input=given,
            waits=not self.read_only,
            read_only=self.read_only,
        )
        async with context.turn.tool(work) as call:
            if not self.read_only or context.turn.session.parameters.has_broker:
                await context.turn.permit(
                    call,
                    f"{self._client.name}\n{self._described.name}",
                    covers=f"every “{self._described.name}” of {self._client.name}",
                    otherwise=f"The person declined: {title} was not called.",
                )

            async def ask(words: str, form: schema.ElicitationSchema) -> schema.CreateElicitationResponse:
                return await context.turn.ask_form(call, f"{self._client.name} asks: {words}", form)

            try:
                called = await self._client.call(
                    self._described.name, given, partial(self._requests.calling, ask)
                )
            except RpcError as error:
                raise ToolError(f"The server refused the call: {error.reason}") from error
            except McpServerFailed as error:
                raise ToolError(str(error)) from error
            outcome = _outcome(called)
            call.add_text(
                "\n".join(part.text for part in outcome.parts if isinstance(part, ModelText))[:_SHOWN]
            )
        return outcome


def _outcome(called: ToolCallResult) -> ToolOutcome:
    parts = tuple(map(_part, called.content))
    if not parts and called.structured_content is not None:
        parts = (ModelText(msgspec.json.encode(called.structured_content).decode()),)
    return ToolOutcome(parts or (ModelText("It answered with nothing."),), failed=called.is_error)


def _part(part: ToolContent) -> ModelText | ModelImage:
    match part.type:
        case "text":
            return ModelText(part.text or "")
        case "image" if part.data and part.mime_type:
            try:
                return ModelImage(base64.b64decode(part.data, validate=True), part.mime_type)
            except (binascii.Error, ValueError):
                return ModelText("[An image that could not be read.]")
        case "resource" if part.resource is not None:
            return ModelText(str(part.resource.get("text") or f"[The resource {part.resource.get('uri')}.]"))
        case "resource_link":
            return ModelText(f"[A link to {part.uri}.]")
        case other:
            return ModelText(f"[Something of the kind {other}, which is not text.]")
