"""View of one tool call, computed from its events."""

from typing import Self

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain.events import ToolCompleted, ToolStarted, ToolUpdated
from portico.domain.tours import Tour, read_tour
from portico.domain.values import DiffPart, TerminalOutput, TextGrowth, TextPart, ToolKind, ToolPart
from portico.doors.terminal.labels import duration, title_text
from portico.doors.terminal.sanitizer import clean_output

OUTPUT_ROWS = 8
"""Lines of output to show for a call that succeeded; twice as many if it failed."""
ROW_LENGTH = 2000
_OUTPUT_SIZE = 16_000
_SHOWN_MS = 100


class ToolView(msgspec.Struct, frozen=True, kw_only=True):
    """State of a tool call. `output` is the end of its command's output; `output_lines` counts all lines."""

    tool_id: str
    workspace: str = ""
    title: str = ""
    kind: ToolKind = "other"
    started_at: int = 0
    content: tuple[ToolPart, ...] = ()
    output: str = ""
    output_lines: int = 0
    exit_words: str = ""
    success: bool | None = None
    duration_ms: int = 0
    read_only: bool = False
    stoppable: bool = False
    result: Raw | UnsetType = UNSET

    @classmethod
    def started(cls, payload: ToolStarted, at: int, workspace: str) -> Self:
        return cls(
            tool_id=payload.tool_id,
            workspace=workspace,
            title=title_text(payload.title, payload.name or payload.tool_kind, workspace=workspace),
            kind=payload.tool_kind,
            started_at=at,
            content=payload.content,
            read_only=payload.read_only,
            stoppable=payload.stoppable,
            result=payload.output,
        )

    def updated(self, payload: ToolUpdated | ToolCompleted) -> Self:
        """The view after an update; fields that the update does not set stay."""
        view = msgspec.structs.replace(
            self,
            title=title_text(payload.title, workspace=self.workspace) if payload.title else self.title,
            kind=payload.tool_kind or self.kind,
            content=self.content if payload.content is None else payload.content,
            result=self.result if isinstance(payload.output, UnsetType) else payload.output,
        )
        match payload:
            case ToolUpdated(terminal=TerminalOutput() as terminal):
                return view.printed(terminal)
            case ToolUpdated(grown=TextGrowth() as grown):
                return msgspec.structs.replace(view, content=grown.of(view.content))
            case ToolCompleted(success=success, duration_ms=duration_ms):
                return msgspec.structs.replace(view, success=success, duration_ms=duration_ms)
            case _:
                return view

    @property
    def diffs(self) -> tuple[DiffPart, ...]:
        return tuple(part for part in self.content if isinstance(part, DiffPart))

    @property
    def tour(self) -> Tour | None:
        """The tour that the call has presented."""
        return read_tour(self.result)

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def facts(self) -> list[str]:
        """Whether it only reads, how to stop it alone, exit status, if it failed, and duration."""
        took = (
            [duration(self.duration_ms)] if self.success is not None and self.duration_ms >= _SHOWN_MS else []
        )
        only_reads = ["read-only"] if self.read_only else []
        stop = ["Ctrl-\\ stops it"] if self.stoppable and self.success is None else []
        return [*only_reads, *stop, *([self.exit_words] if self.exit_words else []), *took]

    def output_tail(self, output: str) -> tuple[int, list[str]]:
        """The number of omitted lines and the last lines of an output, which say how a command ended."""
        lines = output_lines(output)
        limit = OUTPUT_ROWS if self.success else 2 * OUTPUT_ROWS
        return max(0, max(len(lines), self.output_lines) - limit), lines[-limit:]

    def printed(self, terminal: TerminalOutput) -> Self:
        """The view after more output of its command, or its exit."""
        output = self.output + terminal.text
        if len(output) > 2 * _OUTPUT_SIZE:
            output = output[-_OUTPUT_SIZE:].partition("\n")[2] or output[-_OUTPUT_SIZE:]
        exit_words = self.exit_words
        if terminal.signal:
            exit_words = terminal.signal
        elif terminal.exit_code:
            exit_words = f"exit {terminal.exit_code}"
        return msgspec.structs.replace(
            self,
            output=output,
            output_lines=self.output_lines + terminal.text.count("\n"),
            exit_words=exit_words,
        )


def output_lines(output: str) -> list[str]:
    return clean_output(output).strip("\n").splitlines()
