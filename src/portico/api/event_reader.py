"""Decoder from messages of the contract to events, the inverse of `event_messages`."""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from portico.api.fields import read_enum
from portico.api.v1 import events_pb as pb
from portico.api.value_reader import (
    from_enum,
    from_error_details,
    from_json,
    from_locations,
    from_optional,
    from_options,
    from_parts,
    from_permission,
    from_proposal,
    from_question,
    from_restored,
    from_sandbox,
    from_state,
    from_time,
)
from portico.domain import codecs, events, values
from portico.domain.errors import ErrorCode, MalformedEvent
from portico.domain.ids import SessionId, TurnId
from portico.domain.problems import FileProblems, Problem
from portico.domain.reviews import ReviewMode
from portico.domain.windows import Severity


def from_event(message: pb.Event) -> events.Event:
    """The event in a message. MalformedEvent for a kind that this version of Portico does not know."""
    return events.Event(
        session_id=SessionId(message.session_id),
        seq=message.seq,
        turn_id=TurnId(message.turn_id) if message.turn_id else None,
        at=from_time(message.at),
        payload=from_payload(message.payload),
    )


def from_payload(payload: Any) -> events.AnyPayload:
    """The payload in a branch of an event's oneof."""
    read = None if payload is None else _READERS.get(payload.field)
    if read is None:
        kind = "no payload" if payload is None else f"a payload of the unknown kind {payload.field}"
        raise MalformedEvent(f"The server sent an event with {kind}.", suggestion="Upgrade Portico.")
    return read(payload.value)


def _session_started(message: pb.SessionStarted) -> events.SessionStarted:
    origin = None
    if message.forked_from_session_id:
        origin = values.ForkedFrom(
            session_id=SessionId(message.forked_from_session_id),
            agent_session_id=message.forked_from_agent_session_id or None,
            last_turn=TurnId(message.forked_from_last_turn) if message.forked_from_last_turn else None,
            before_seq=message.forked_before_seq or None,
        )
    return events.SessionStarted(
        workspace=message.workspace,
        agent=message.agent,
        continued=message.continued,
        mode=codecs.convert(message.mode, ReviewMode),
        portico_version=message.portico_version,
        agent_command=tuple(message.agent_command),
        reads_only=message.reads_only,
        adopts=message.adopts or None,
        forked_from=origin,
    )


def _state_changed(message: pb.StateChanged) -> events.StateChanged:
    session = message.agent_session
    return events.StateChanged(
        state=from_state(message.state),
        previous=from_state(message.previous),
        reason=message.reason or None,
        agent_session=None
        if session is None
        else values.AgentSession(
            agent_session_id=session.agent_session_id,
            attached_by=codecs.convert(session.attached_by, values.AttachedBy),
            replayed_updates=session.replayed_updates,
            sandbox=from_sandbox(session.sandbox),
        ),
    )


def _prompt_submitted(message: pb.PromptSubmitted) -> events.PromptSubmitted:
    return events.PromptSubmitted(
        text=message.text,
        blocks=tuple(Raw(block.encode()) for block in message.blocks_json),
        prompt_id=message.prompt_id or None,
        prompt=None
        if message.prompt is None
        else values.PromptReference(
            name=message.prompt.name,
            version=message.prompt.version or None,
            fingerprint=message.prompt.fingerprint,
        ),
    )


def _text_delta(message: pb.TextDelta) -> events.TextDelta:
    return events.TextDelta(
        text=message.text, message_id=message.message_id or None, block=from_json(message, "block_json")
    )


def _thinking(message: pb.Thinking) -> events.Thinking:
    return events.Thinking(
        text=message.text, message_id=message.message_id or None, block=from_json(message, "block_json")
    )


def _tool_started(message: pb.ToolStarted) -> events.ToolStarted:
    return events.ToolStarted(
        tool_id=message.tool_id,
        title=message.title,
        tool_kind=from_enum(message.tool_kind),
        status=from_enum(message.status),
        name=message.name or None,
        content=from_parts(message.content),
        locations=from_locations(message.locations),
        input=from_json(message, "input_json"),
        output=from_json(message, "output_json"),
        read_only=message.read_only,
        stoppable=message.stoppable,
    )


def _file_problems(message: pb.FileProblems) -> FileProblems:
    return FileProblems(
        path=message.path,
        added=tuple(map(_problem, message.added)),
        removed=tuple(map(_problem, message.removed)),
    )


def _problem(message: pb.Problem) -> Problem:
    severity: Severity = read_enum(message.severity) or "information"
    return Problem(line=message.line, severity=severity, message=message.message, source=message.source)


def _tool_updated(message: pb.ToolUpdated) -> events.ToolUpdated:
    grown, terminal = message.grown, message.terminal
    return events.ToolUpdated(
        tool_id=message.tool_id,
        title=from_optional(message, "title"),
        tool_kind=read_enum(message.tool_kind),
        status=read_enum(message.status),
        content=None if message.content is None else from_parts(message.content.parts),
        locations=None if message.locations is None else from_locations(message.locations.locations),
        input=from_json(message, "input_json"),
        output=from_json(message, "output_json"),
        grown=None if grown is None else values.TextGrowth(text=grown.text, dropped=grown.dropped),
        problems=None if message.problems is None else tuple(map(_file_problems, message.problems.files)),
        terminal=None
        if terminal is None
        else values.TerminalOutput(
            terminal_id=terminal.terminal_id,
            text=terminal.text,
            exit_code=from_optional(terminal, "exit_code"),
            signal=terminal.signal or None,
            ended=terminal.ended,
            left_out=terminal.left_out,
        ),
    )


def _tool_completed(message: pb.ToolCompleted) -> events.ToolCompleted:
    return events.ToolCompleted(
        tool_id=message.tool_id,
        success=message.success,
        duration_ms=message.duration_ms,
        title=from_optional(message, "title"),
        tool_kind=read_enum(message.tool_kind),
        content=None if message.content is None else from_parts(message.content.parts),
        locations=None if message.locations is None else from_locations(message.locations.locations),
        input=from_json(message, "input_json"),
        output=from_json(message, "output_json"),
    )


def _plan_updated(message: pb.PlanUpdated) -> events.PlanUpdated:
    entries = (
        values.PlanEntry(content=one.content, priority=from_enum(one.priority), status=from_enum(one.status))
        for one in message.entries
    )
    return events.PlanUpdated(entries=tuple(entries), raw=from_json(message, "raw_json"))


def _todos_updated(message: pb.TodosUpdated) -> events.TodosUpdated:
    todos = (
        values.TodoItem(
            todo_id=one.todo_id,
            content=one.content,
            status=from_enum(one.status),
            priority=from_enum(one.priority),
        )
        for one in message.todos
    )
    return events.TodosUpdated(todos=tuple(todos))


def _permission_resolved(message: pb.PermissionResolved) -> events.PermissionResolved:
    return events.PermissionResolved(
        request_id=message.request_id,
        outcome=from_enum(message.outcome),
        by=from_enum(message.by),
        option_id=message.option_id or None,
        rule=message.rule or None,
        scope=read_enum(message.scope),
        person=message.person,
    )


def _question_answered(message: pb.QuestionAnswered) -> events.QuestionAnswered:
    content = codecs.decode_json(message.content_json or "{}", dict[str, values.QuestionValue])
    return events.QuestionAnswered(
        request_id=message.request_id,
        action=from_enum(message.action),
        by=from_enum(message.by),
        content=content,
        withheld=tuple(message.withheld),
        person=message.person,
    )


def _usage_updated(message: pb.UsageUpdated) -> events.UsageUpdated:
    return events.UsageUpdated(
        used=from_optional(message, "used"),
        size=from_optional(message, "size"),
        cost=from_optional(message, "cost"),
        currency=message.currency or None,
        input_tokens=from_optional(message, "input_tokens"),
        output_tokens=from_optional(message, "output_tokens"),
    )


def _commands_updated(message: pb.CommandsUpdated) -> events.CommandsUpdated:
    commands = (
        values.AgentCommand(name=one.name, description=one.description, hint=one.hint or None)
        for one in message.commands
    )
    return events.CommandsUpdated(commands=tuple(commands))


def _config_updated(message: pb.ConfigUpdated) -> events.ConfigUpdated:
    return events.ConfigUpdated(options=from_options(message.options), chosen=tuple(message.chosen))


def _components_updated(message: pb.ComponentsUpdated) -> events.ComponentsUpdated:
    return events.ComponentsUpdated(on=tuple(message.on), off=tuple(message.off))


def _title_updated(message: pb.TitleUpdated) -> events.TitleUpdated:
    return events.TitleUpdated(title=message.title, by_person=message.by_person)


def _checkpoint_created(message: pb.CheckpointCreated) -> events.CheckpointCreated:
    return events.CheckpointCreated(
        checkpoint_id=message.checkpoint_id,
        label=message.label,
        moment=from_enum(message.moment),
        left_out=message.left_out,
    )


def _editor_requested(message: pb.EditorRequested) -> events.EditorRequested:
    return events.EditorRequested(
        request_id=message.request_id, editor=message.editor, title=message.title, paths=tuple(message.paths)
    )


def _editor_replied(message: pb.EditorReplied) -> events.EditorReplied:
    return events.EditorReplied(
        request_id=message.request_id, done=message.done, message=message.message or None
    )


def _notice(message: pb.Notice) -> events.Notice:
    return events.Notice(
        level=from_enum(message.level),
        text=message.text,
        details=message.details or None,
        source="agent" if message.from_agent else "portico",
        count=message.count,
        raw=from_json(message, "raw_json"),
        code=message.code or None,
        paths=tuple(message.paths),
        checkpoint_id=from_optional(message, "checkpoint_id"),
        other_session_id=from_optional(message, "other_session_id"),
    )


def _error_reported(message: pb.ErrorReported) -> events.ErrorReported:
    return events.ErrorReported(
        code=ErrorCode[message.code.name],
        message=message.message,
        recoverable=message.recoverable,
        details=from_error_details(message.details),
    )


def _turn_ended(message: pb.TurnEnded) -> events.TurnEnded:
    return events.TurnEnded(
        state=from_state(message.state),
        stop_reason=message.stop_reason,
        duration_ms=message.duration_ms,
        tools_used=message.tools_used,
    )


_READERS: dict[str, Callable[[Any], events.AnyPayload]] = {
    "session_started": _session_started,
    "state_changed": _state_changed,
    "prompt_submitted": _prompt_submitted,
    "text_delta": _text_delta,
    "thinking": _thinking,
    "tool_started": _tool_started,
    "tool_updated": _tool_updated,
    "tool_completed": _tool_completed,
    "plan_updated": _plan_updated,
    "todos_updated": _todos_updated,
    "permission_requested": from_permission,
    "permission_resolved": _permission_resolved,
    "question_asked": from_question,
    "question_answered": _question_answered,
    "usage_updated": _usage_updated,
    "commands_updated": _commands_updated,
    "config_updated": _config_updated,
    "components_updated": _components_updated,
    "title_updated": _title_updated,
    "proposal_updated": from_proposal,
    "checkpoint_created": _checkpoint_created,
    "checkpoint_restored": from_restored,
    "editor_requested": _editor_requested,
    "editor_replied": _editor_replied,
    "notice": _notice,
    "error": _error_reported,
    "turn_ended": _turn_ended,
}
