"""Encoder from tool calls and their content to messages of the contract."""

from collections.abc import Iterable
from typing import Any, assert_never

from portico.api.fields import json_text, one_of, raw_json, to_enum, to_int32
from portico.api.v1 import events_pb as pb
from portico.domain import events, values
from portico.domain.problems import FileProblems, Problem


def to_tool_started(payload: events.ToolStarted) -> pb.ToolStarted:
    return pb.ToolStarted(
        tool_id=payload.tool_id,
        title=payload.title,
        tool_kind=to_enum(pb.ToolKind, payload.tool_kind),
        status=to_enum(pb.ToolStatus, payload.status),
        name=payload.name or "",
        content=to_parts(payload.content),
        locations=to_locations(payload.locations),
        input_json=raw_json(payload.input),
        output_json=raw_json(payload.output),
        read_only=payload.read_only,
        stoppable=payload.stoppable,
    )


def to_tool_updated(payload: events.ToolUpdated) -> pb.ToolUpdated:
    terminal, grown = payload.terminal, payload.grown
    return pb.ToolUpdated(
        tool_id=payload.tool_id,
        title=payload.title,
        tool_kind=to_enum(pb.ToolKind, payload.tool_kind),
        status=to_enum(pb.ToolStatus, payload.status),
        content=_tool_content(payload.content),
        locations=_tool_locations(payload.locations),
        input_json=raw_json(payload.input),
        output_json=raw_json(payload.output),
        grown=None if grown is None else pb.TextGrowth(dropped=grown.dropped, text=grown.text),
        problems=None
        if payload.problems is None
        else pb.ToolProblems(files=[to_file_problems(one) for one in payload.problems]),
        terminal=None
        if terminal is None
        else pb.TerminalOutput(
            terminal_id=terminal.terminal_id,
            text=terminal.text,
            ended=terminal.ended,
            exit_code=to_int32(terminal.exit_code),
            signal=terminal.signal or "",
            left_out=terminal.left_out,
        ),
    )


def to_tool_completed(payload: events.ToolCompleted) -> pb.ToolCompleted:
    return pb.ToolCompleted(
        tool_id=payload.tool_id,
        success=payload.success,
        duration_ms=payload.duration_ms,
        title=payload.title,
        tool_kind=to_enum(pb.ToolKind, payload.tool_kind),
        content=_tool_content(payload.content),
        locations=_tool_locations(payload.locations),
        input_json=raw_json(payload.input),
        output_json=raw_json(payload.output),
    )


def _tool_content(parts: tuple[values.ToolPart, ...] | None) -> pb.ToolContent | None:
    return None if parts is None else pb.ToolContent(parts=to_parts(parts))


def to_parts(parts: Iterable[values.ToolPart]) -> list[pb.ToolPart]:
    return [_part(part) for part in parts]


def _part(part: values.ToolPart) -> pb.ToolPart:
    shown: Any
    match part:
        case values.TextPart(text=text):
            shown = one_of("text", pb.TextPart(text=text))
        case values.DiffPart(path=path, new_text=new_text, old_text=old_text):
            shown = one_of("diff", pb.DiffPart(path=path, new_text=new_text, old_text=old_text))
        case values.TerminalPart(terminal_id=terminal_id):
            shown = one_of("terminal", pb.TerminalPart(terminal_id=terminal_id))
        case values.BlockPart(block=block):
            shown = one_of("block", pb.BlockPart(block_json=json_text(block)))
        case _:
            assert_never(part)
    return pb.ToolPart(part=shown)


def to_file_problems(file: FileProblems) -> pb.FileProblems:
    return pb.FileProblems(
        path=file.path,
        added=[_problem(one) for one in file.added],
        removed=[_problem(one) for one in file.removed],
    )


def _problem(one: Problem) -> pb.Problem:
    return pb.Problem(
        line=one.line,
        severity=to_enum(pb.Severity, one.severity),
        message=one.message,
        source=one.source,
    )


def _tool_locations(locations: tuple[values.Location, ...] | None) -> pb.ToolLocations | None:
    return None if locations is None else pb.ToolLocations(locations=to_locations(locations))


def to_locations(locations: Iterable[values.Location]) -> list[pb.Location]:
    return [pb.Location(path=one.path, line=to_int32(one.line)) for one in locations]
