"""Reports one tool call to the client: announced, updated while it runs, and always ended."""

import asyncio
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from portico.acp import _schema as schema
from portico.acp.extensions import ToolCallMeta, to_meta
from portico.domain.errors import PorticoError
from portico.porter.markdown import strip_surrogates
from portico.porter.terminals import CommandResult, output_block

Tell = Callable[[schema.SessionUpdate], None]

MAX_LOCATIONS = 50
CRASHED = "An internal error in Porter ended this call. See portico.log in the state folder."
_SHOWN = "shown in a tool call"


class ToolError(Exception):
    """A tool call failed in a way the model can correct; the message is written for the model."""


class ToolCallDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Details of a tool call, as ACP has them. `waits` if it needs permission first.

    `read_only` if a trusted MCP server says that its tool changes nothing.
    """

    title: str
    kind: schema.ToolKind
    name: str | None = None
    locations: tuple[schema.ToolCallLocation, ...] = ()
    content: tuple[schema.ToolCallContent, ...] = ()
    raw_input: Any = None
    waits: bool = False
    read_only: bool = False

    @property
    def meta(self) -> dict[str, Any] | None:
        return to_meta(ToolCallMeta(read_only=True)) if self.read_only else None


class ToolCallReport:
    """An asynchronous context: leaving it ends the call, as failed if an exception is raised."""

    def __init__(self, call_id: str, work: ToolCallDetails, tell: Tell, keep: Tell) -> None:
        self.id = call_id
        self.work = msgspec.structs.replace(work, title=strip_surrogates(work.title))
        self._tell = tell
        self._keep = keep
        self._content = list(work.content)
        self._status: schema.ToolCallStatus = "completed"
        self._kept_output: schema.ToolCallContent | None = None

    def as_request(self) -> schema.ToolCallUpdate:
        """Return the call as shown in a permission request."""
        return schema.ToolCallUpdate(
            tool_call_id=self.id,
            title=self.work.title,
            name=self.work.name,
            kind=self.work.kind,
            meta=self.work.meta,
            status="pending",
            content=self._content,
            locations=list(self.work.locations),
            raw_input=self.work.raw_input,
        )

    def proceed(self) -> None:
        """Report that permission was granted."""
        self._both(schema.ToolCallProgress(tool_call_id=self.id, status="in_progress"))

    def show(self, content: schema.ToolCallContent) -> None:
        """Show content in place of the content shown last. It is not stored; the final content is."""
        self._content = [*self.work.content, content]
        self._tell(schema.ToolCallProgress(tool_call_id=self.id, content=self._content))

    def add_text(self, text: str) -> None:
        """Add text that is shown when the call ends."""
        self._content.append(schema.Content(content=schema.TextContent(text=strip_surrogates(text))))

    def locate(self, places: Iterable[tuple[Path, int]]) -> None:
        """Report the file locations of the call. Paths that are not valid text are left out."""
        sent = (schema.ToolCallLocation(path=str(path), line=line) for path, line in places if is_text(path))
        self._both(schema.ToolCallProgress(tool_call_id=self.id, locations=list(islice(sent, MAX_LOCATIONS))))

    def ran(self, ended: CommandResult) -> None:
        """Record the result of a command: its exit code decides the status, and its output is stored."""
        self._status = "completed" if ended.succeeded else "failed"
        self._kept_output = output_block(ended.output) if ended.output.strip() else None

    async def __aenter__(self) -> "ToolCallReport":
        self._both(
            schema.ToolCall(
                tool_call_id=self.id,
                title=self.work.title,
                name=self.work.name,
                kind=self.work.kind,
                meta=self.work.meta,
                status="pending" if self.work.waits else "in_progress",
                content=self._content,
                locations=list(self.work.locations),
                raw_input=self.work.raw_input,
            )
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._status = "failed"
            self.add_text(_words_for(error))
            error.add_note(_SHOWN)
        end = schema.ToolCallProgress(
            tool_call_id=self.id, status=self._status, content=self._content or None
        )
        # A terminal ends with its client; its output is stored as text.
        kept: list[schema.ToolCallContent] = [
            part for part in self._content if not isinstance(part, schema.Terminal)
        ]
        if self._kept_output is not None and self._kept_output not in kept:
            kept.append(self._kept_output)
        self._keep(msgspec.structs.replace(end, content=kept or None))
        self._tell(end)

    def _both(self, update: schema.SessionUpdate) -> None:
        self._keep(update)
        self._tell(update)


def is_text(path: Path) -> bool:
    return strip_surrogates(str(path)) == str(path)


def was_shown(error: BaseException) -> bool:
    """Return whether a tool call has already shown this error, or its cause, to the user."""
    if _SHOWN in getattr(error, "__notes__", ()):
        return True
    return error.__cause__ is not None and was_shown(error.__cause__)


def _words_for(error: BaseException) -> str:
    match error:
        case asyncio.CancelledError():
            return "Stopped."
        case PorticoError():
            return error.message
        case ToolError():
            return str(error)
        case _:
            return CRASHED
