"""A tool of an MCP server as the loop uses it. The person is asked first, whatever the server says about it."""

import base64
import binascii
import re
from collections.abc import Collection

import msgspec

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.porter.mcp.channel import ServerFailed
from portico.porter.mcp.client import Called, Described, McpClient, Part
from portico.porter.models.port import Image, Text, ToolSpec
from portico.porter.toolcalls import Work
from portico.porter.tools.bench import Bench
from portico.porter.tools.tool import Outcome, ToolFailure
from portico.rpc.messages import RpcError

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 4000
_SHOWN = 4000


class McpTool:
    """Called `server__tool`, in the letters that every provider accepts."""

    together = False
    changes = True

    def __init__(self, client: McpClient, described: Described) -> None:
        self._client = client
        self._described = described
        self.name = f"{_plain(client.name)[:24]}__{_plain(described.name)}"[:_LONGEST_NAME]

    def rename(self, taken: Collection[str]) -> None:
        """Take a name that no other tool has: what differs in other letters, or far behind, is the same here."""
        wanted, number = self.name, 2
        while self.name in taken:
            self.name = f"{wanted[: _LONGEST_NAME - len(str(number)) - 1]}_{number}"
            number += 1

    def spec(self) -> ToolSpec:
        parameters = {"type": "object", **self._described.input_schema}
        return ToolSpec(
            name=self.name,
            description=self._described.description[:_LONGEST_DESCRIPTION] or self._described.name,
            schema=msgspec.json.encode(parameters),
        )

    async def call(self, bench: Bench, arguments: str) -> Outcome:
        try:
            given = codecs.decode_json(arguments.strip() or "{}", dict[str, object])
        except (msgspec.DecodeError, RecursionError) as error:
            raise ToolFailure(f"The arguments are not one valid JSON object: {error}.") from error
        title = f"{self._client.name}: {self._described.name}"
        work = Work(title=title, kind="other", raw_input=given, waits=True)
        async with bench.turn.tool(work) as call:
            await bench.turn.permit(
                call,
                f"{self._client.name}\n{self._described.name}",
                covers=f"every “{self._described.name}” of {self._client.name}",
                otherwise=f"The person declined: {title} was not called.",
            )

            async def ask(words: str, form: schema.ElicitationSchema) -> schema.CreateElicitationResponse:
                return await bench.turn.ask_form(call, f"{self._client.name} asks: {words}", form)

            try:
                called = await self._client.call(self._described.name, given, ask)
            except RpcError as error:
                raise ToolFailure(f"The server refused the call: {error.reason}") from error
            except ServerFailed as error:
                raise ToolFailure(str(error)) from error
            outcome = _outcome(called)
            call.add_text("\n".join(part.text for part in outcome.parts if isinstance(part, Text))[:_SHOWN])
        return outcome


def _outcome(called: Called) -> Outcome:
    parts = tuple(map(_part, called.content))
    if not parts and called.structured_content is not None:
        parts = (Text(msgspec.json.encode(called.structured_content).decode()),)
    return Outcome(parts or (Text("It answered with nothing."),), failed=called.is_error)


def _part(part: Part) -> Text | Image:
    match part.type:
        case "text":
            return Text(part.text or "")
        case "image" if part.data and part.mime_type:
            try:
                return Image(base64.b64decode(part.data, validate=True), part.mime_type)
            except (binascii.Error, ValueError):
                return Text("[An image that could not be read.]")
        case "resource" if part.resource is not None:
            return Text(str(part.resource.get("text") or f"[The resource {part.resource.get('uri')}.]"))
        case "resource_link":
            return Text(f"[A link to {part.uri}.]")
        case other:
            return Text(f"[Something of the kind {other}, which is not text.]")


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)
