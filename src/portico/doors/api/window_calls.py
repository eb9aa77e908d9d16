"""AgentService methods for attached editor windows, and the codec of their messages."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, assert_never

from portico.api.fields import one_of, read_enum, to_enum
from portico.api.v1 import agent_pb as pb
from portico.domain import windows
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.domain.problems import Problem
from portico.doors.api.streams import merge_streams
from portico.sessions.windows import WindowRegistry


class WindowCalls:
    """Calls of attached editor windows."""

    def __init__(self, registry: WindowRegistry | None, closing: asyncio.Event) -> None:
        self._registry = registry
        self._closing = closing

    async def attach(self, request: pb.AttachEditorRequest) -> AsyncGenerator[pb.AttachEditorResponse]:
        updates = self._require_registry().attach(_introduction(request))
        async with aclosing(merge_streams(updates, closing=self._closing)) as stream:
            async for update in stream:
                yield to_window_update(update)

    def take(self, said: pb.EditorReply | pb.EditorState | pb.EditorTools | pb.EditorProblems) -> None:
        """Handle a reply, a state change, the tools or the problems of a window."""
        registry = self._require_registry()
        if isinstance(said, pb.EditorReply):
            registry.reply(said.request_id, read_window_answer(said))
        elif isinstance(said, pb.EditorProblems):
            for file in said.files:
                found = _found(pb.EditorFindings(problems=file.problems))
                problems = [
                    Problem(line=one.line + 1, severity=one.severity, message=one.message, source=one.source)
                    for one in found.problems
                ]
                registry.update_problems(said.editor_id, file.path, problems)
        elif isinstance(said, pb.EditorTools):
            tools = None if said.withdrawn else [_tool(one) for one in said.tools]
            registry.update_tools(
                said.editor_id, SessionId(said.session_id) if said.session_id else None, tools
            )
        else:
            registry.update_status(said.editor_id, said.unsaved, focused=said.focused)

    def _require_registry(self) -> WindowRegistry:
        if self._registry is None:
            raise InvalidInput("This server does not support attached editors.")
        return self._registry


def to_window_update(update: windows.WindowUpdate | None) -> pb.AttachEditorResponse:
    """An update for a window; None is a heartbeat."""
    match update:
        case None:
            message = one_of("heartbeat", pb.Heartbeat())
        case windows.WindowAttached(editor_id=editor_id):
            message = one_of("attached", pb.EditorAttached(editor_id=editor_id))
        case windows.WindowRequest():
            message = one_of("request", _request(update))
        case windows.WindowRequestCancelled(request_id=request_id):
            message = one_of("cancelled", pb.EditorRequestCancelled(request_id=request_id))
        case _:
            assert_never(update)
    return pb.AttachEditorResponse(update=message)


def read_window_answer(said: pb.EditorReply) -> windows.WindowResult:
    result: Any = said.result
    match result and result.field:
        case "buffer":
            buffer: pb.BufferText = result.value
            # A missing text would read as an empty one.
            return windows.BufferText(text=buffer.text if buffer.has_field("text") else None)
        case "edits":
            edits: pb.EditsApplied = result.value
            return windows.WindowEditResult(
                applied=edits.applied, changed=tuple(edits.changed), not_saved=tuple(edits.not_saved)
            )
        case "findings":
            return _found(result.value)
        case "command":
            command: pb.CommandDispatched = result.value
            return windows.TerminalCommandResult(
                sent=command.sent, terminal=command.terminal, message=command.message
            )
        case "tool":
            tool: pb.ToolInvoked = result.value
            images = tuple(windows.ToolImage(mime_type=one.mime_type, data=one.data) for one in tool.images)
            return windows.ToolInvocationResult(text=tool.text, images=images)
        case "failure":
            return windows.WindowFailure(message=result.value)
        case _:
            raise InvalidInput("result is required.", suggestion="Set one of the results, or failure.")


def _introduction(request: pb.AttachEditorRequest) -> windows.WindowIntroduction:
    offered = request.capabilities or pb.EditorCapabilities()
    return windows.WindowIntroduction(
        name=request.name or "editor",
        folders=tuple(request.folders),
        abilities=windows.WindowAbilities(
            buffers=offered.buffers,
            edits=offered.edits,
            lookups=offered.lookups,
            commands=offered.commands,
        ),
    )


def _request(asked: windows.WindowRequest) -> pb.EditorRequest:
    question = asked.question
    match question:
        case windows.ReadBuffer(path=path):
            wanted = one_of("read_buffer", pb.ReadBuffer(path=path))
        case windows.ApplyEdits(label=label, files=files):
            edited = [
                pb.EditedFile(path=one.path, expected=one.expected, content=one.content) for one in files
            ]
            wanted = one_of("apply_edits", pb.ApplyEdits(label=label, files=edited))
        case windows.CodeLookup(kind=kind, path=path, line=line, column=column, query=query):
            sought = to_enum(pb.EditorLookupKind, kind)
            wanted = one_of(
                "lookup", pb.EditorLookup(kind=sought, path=path, line=line, column=column, query=query)
            )
        case windows.TerminalCommand(command=command, cwd=cwd, title=title, reveal=reveal):
            dispatched = pb.DispatchCommand(command=command, cwd=cwd, title=title, reveal=reveal)
            wanted = one_of("dispatch_command", dispatched)
        case windows.ToolInvocation(name=name, arguments=arguments):
            wanted = one_of("invoke_tool", pb.InvokeTool(name=name, input_json=arguments))
        case _:
            assert_never(question)
    return pb.EditorRequest(request_id=asked.request_id, session_id=asked.session_id, request=wanted)


def _tool(announced: pb.EditorTool) -> windows.WindowTool:
    return windows.WindowTool(
        name=announced.name, description=announced.description, schema=announced.schema_json
    )


def _found(findings: pb.EditorFindings) -> windows.CodeLookupResult:
    places = tuple(
        windows.CodeLocation(
            path=one.path,
            line=one.line,
            column=one.column,
            end_line=one.end_line,
            end_column=one.end_column,
            name=one.name,
            detail=one.detail,
            text=one.text,
        )
        for one in findings.places
    )
    problems = tuple(
        windows.CodeProblem(
            path=one.path,
            line=one.line,
            column=one.column,
            severity=read_enum(one.severity) or "information",
            message=one.message,
            source=one.source,
        )
        for one in findings.problems
    )
    return windows.CodeLookupResult(places=places, problems=problems, words=findings.words)
