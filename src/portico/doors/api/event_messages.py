"""Encoder from events to messages of the contract, complete for every kind."""

from collections.abc import Callable, Iterable
from typing import Any

from protobuf import Message

from portico.api.fields import json_text, one_of, raw_json, to_double, to_enum, to_int64, to_json, to_time
from portico.api.v1 import events_pb as pb
from portico.domain import events, values
from portico.domain.errors import ErrorCode, ErrorDetails
from portico.domain.turns import TurnState
from portico.doors.api.review_messages import to_proposal, to_restored
from portico.doors.api.tool_messages import (
    to_locations,
    to_parts,
    to_tool_completed,
    to_tool_started,
    to_tool_updated,
)


def to_event(event: events.Event) -> pb.Event:
    return pb.Event(
        session_id=event.session_id,
        seq=event.seq,
        turn_id=event.turn_id or "",
        at=to_time(event.at),
        payload=one_of(event.kind, to_payload(event.payload)),
    )


def to_payload(payload: events.AnyPayload) -> Message[Any]:
    return ENCODERS[type(payload)](payload)


def to_state(state: TurnState) -> pb.TurnState:
    return pb.TurnState[state.name]


def to_plan(entries: Iterable[values.PlanEntry]) -> list[pb.PlanEntry]:
    return [
        pb.PlanEntry(
            content=entry.content,
            priority=to_enum(pb.Priority, entry.priority),
            status=to_enum(pb.Progress, entry.status),
        )
        for entry in entries
    ]


def to_todos(todos: Iterable[values.TodoItem]) -> list[pb.Todo]:
    return [
        pb.Todo(
            todo_id=todo.todo_id,
            content=todo.content,
            status=to_enum(pb.Progress, todo.status),
            priority=to_enum(pb.Priority, todo.priority),
        )
        for todo in todos
    ]


def to_commands(commands: Iterable[values.AgentCommand]) -> list[pb.Command]:
    return [pb.Command(name=one.name, description=one.description, hint=one.hint or "") for one in commands]


def to_options(options: Iterable[values.ConfigOption]) -> list[pb.ConfigOption]:
    return [
        pb.ConfigOption(
            option_id=option.option_id,
            name=option.name,
            value=one_of("switched_on" if isinstance(option.value, bool) else "choice", option.value),
            category=option.category or "",
            choices=_choices(option.choices),
            description=option.description or "",
            open=option.open,
        )
        for option in options
    ]


def to_usage(usage: events.UsageUpdated) -> pb.UsageUpdated:
    return pb.UsageUpdated(
        used=to_int64(usage.used),
        size=to_int64(usage.size),
        cost=usage.cost,
        currency=usage.currency or "",
        input_tokens=to_int64(usage.input_tokens),
        output_tokens=to_int64(usage.output_tokens),
    )


def to_permission(request: events.PermissionRequested) -> pb.PermissionRequested:
    return pb.PermissionRequested(
        request_id=request.request_id,
        tool_id=request.tool_id,
        title=request.title,
        tool_kind=to_enum(pb.ToolKind, request.tool_kind),
        options=[
            pb.PermissionOption(
                option_id=option.option_id,
                name=option.name,
                kind=to_enum(pb.PermissionOptionKind, option.kind),
            )
            for option in request.options
        ],
        content=to_parts(request.content),
        locations=to_locations(request.locations),
        input_json=raw_json(request.input),
        scopes=[to_enum(pb.PermissionScope, scope) for scope in request.scopes],
        wider_rule=request.wider_rule or "",
        risks=[to_enum(pb.PermissionRisk, risk) for risk in request.risks],
        rule=request.rule or "",
    )


def to_question(question: events.QuestionAsked) -> pb.QuestionAsked:
    return pb.QuestionAsked(
        request_id=question.request_id,
        message=question.message,
        url=question.url or "",
        fields=[_field(field) for field in question.fields],
        title=question.title or "",
        description=question.description or "",
        tool_id=question.tool_id or "",
        mode=question.mode,
        elicitation_id=question.elicitation_id or "",
    )


def to_error_details(code: ErrorCode, details: ErrorDetails, *, recoverable: bool) -> pb.ErrorDetails:
    return pb.ErrorDetails(
        code=to_enum(pb.ErrorCode, code),
        suggestion=details.suggestion or "",
        agent=details.agent or "",
        stderr=details.stderr or "",
        exit_status=details.exit_status or "",
        auth_methods=list(details.auth_methods),
        model_failure=details.model_failure or "",
        recoverable=recoverable,
    )


def _session_started(payload: events.SessionStarted) -> pb.SessionStarted:
    origin = payload.forked_from
    return pb.SessionStarted(
        workspace=payload.workspace,
        agent=payload.agent,
        agent_command=list(payload.agent_command),
        continued=payload.continued,
        mode=payload.mode,
        portico_version=payload.portico_version,
        reads_only=payload.reads_only,
        forked_from_session_id=origin.session_id if origin else "",
        adopts=payload.adopts or "",
        forked_from_agent_session_id=(origin.agent_session_id or "") if origin else "",
        forked_from_last_turn=(origin.last_turn or "") if origin else "",
        forked_before_seq=(origin.before_seq or 0) if origin else 0,
    )


def _state_changed(payload: events.StateChanged) -> pb.StateChanged:
    session = payload.agent_session
    return pb.StateChanged(
        state=to_state(payload.state),
        previous=to_state(payload.previous),
        reason=payload.reason or "",
        agent_session=None
        if session is None
        else pb.AgentSession(
            agent_session_id=session.agent_session_id,
            attached_by=session.attached_by,
            replayed_updates=session.replayed_updates,
            sandbox=to_sandbox(session.sandbox),
        ),
    )


def to_sandbox(sandbox: values.SandboxStatus | None) -> pb.SandboxInForce | None:
    if sandbox is None:
        return None
    return pb.SandboxInForce(level=sandbox.level, backend=sandbox.backend, note=sandbox.note)


def _permission_resolved(payload: events.PermissionResolved) -> pb.PermissionResolved:
    return pb.PermissionResolved(
        request_id=payload.request_id,
        outcome=to_enum(pb.PermissionOutcome, payload.outcome),
        by=to_enum(pb.DecidedBy, payload.by),
        option_id=payload.option_id or "",
        rule=payload.rule or "",
        scope=to_enum(pb.PermissionScope, payload.scope),
        person=payload.person,
    )


def _question_answered(payload: events.QuestionAnswered) -> pb.QuestionAnswered:
    return pb.QuestionAnswered(
        request_id=payload.request_id,
        action=to_enum(pb.QuestionAction, payload.action),
        by=to_enum(pb.DecidedBy, payload.by),
        content_json=to_json(payload.content) if payload.content else None,
        withheld=list(payload.withheld),
        person=payload.person,
    )


def _notice(payload: events.Notice) -> pb.Notice:
    return pb.Notice(
        level=to_enum(pb.NoticeLevel, payload.level),
        text=payload.text,
        from_agent=payload.source == "agent",
        count=payload.count,
        raw_json=raw_json(payload.raw),
        details=payload.details or "",
        code=payload.code or "",
        paths=list(payload.paths),
        checkpoint_id=payload.checkpoint_id,
        other_session_id=payload.other_session_id,
    )


def _field(field: values.QuestionField) -> pb.QuestionField:
    return pb.QuestionField(
        name=field.name,
        title=field.title or "",
        description=field.description or "",
        type=field.type,
        required=field.required,
        default_json=None if field.default is None else to_json(field.default),
        choices=_choices(field.choices),
        format=field.format or "",
        minimum=to_double(field.minimum),
        maximum=to_double(field.maximum),
        secret=field.secret,
        pattern=field.pattern or "",
    )


def _choices(choices: Iterable[values.OptionChoice]) -> list[pb.Choice]:
    return [pb.Choice(value=one.value, name=one.name, description=one.description or "") for one in choices]


def _prompt_submitted(payload: events.PromptSubmitted) -> pb.PromptSubmitted:
    return pb.PromptSubmitted(
        text=payload.text,
        blocks_json=[json_text(block) for block in payload.blocks],
        prompt_id=payload.prompt_id or "",
        prompt=None
        if payload.prompt is None
        else pb.PromptReference(
            name=payload.prompt.name,
            version=payload.prompt.version or "",
            fingerprint=payload.prompt.fingerprint,
        ),
    )


def _text_delta(payload: events.TextDelta) -> pb.TextDelta:
    return pb.TextDelta(
        text=payload.text, message_id=payload.message_id or "", block_json=raw_json(payload.block) or ""
    )


def _thinking(payload: events.Thinking) -> pb.Thinking:
    return pb.Thinking(
        text=payload.text, message_id=payload.message_id or "", block_json=raw_json(payload.block) or ""
    )


def _plan_updated(payload: events.PlanUpdated) -> pb.PlanUpdated:
    return pb.PlanUpdated(entries=to_plan(payload.entries), raw_json=raw_json(payload.raw))


def _todos_updated(payload: events.TodosUpdated) -> pb.TodosUpdated:
    return pb.TodosUpdated(todos=to_todos(payload.todos))


def _commands_updated(payload: events.CommandsUpdated) -> pb.CommandsUpdated:
    return pb.CommandsUpdated(commands=to_commands(payload.commands))


def _config_updated(payload: events.ConfigUpdated) -> pb.ConfigUpdated:
    return pb.ConfigUpdated(options=to_options(payload.options), chosen=list(payload.chosen))


def _components_updated(payload: events.ComponentsUpdated) -> pb.ComponentsUpdated:
    return pb.ComponentsUpdated(on=list(payload.on), off=list(payload.off))


def _title_updated(payload: events.TitleUpdated) -> pb.TitleUpdated:
    return pb.TitleUpdated(title=payload.title, by_person=payload.by_person)


def _checkpoint_created(payload: events.CheckpointCreated) -> pb.CheckpointCreated:
    return pb.CheckpointCreated(
        checkpoint_id=payload.checkpoint_id,
        label=payload.label,
        moment=to_enum(pb.CheckpointMoment, payload.moment),
        left_out=payload.left_out,
    )


def _editor_requested(payload: events.EditorRequested) -> pb.EditorRequested:
    return pb.EditorRequested(
        request_id=payload.request_id, editor=payload.editor, title=payload.title, paths=list(payload.paths)
    )


def _editor_replied(payload: events.EditorReplied) -> pb.EditorReplied:
    return pb.EditorReplied(request_id=payload.request_id, done=payload.done, message=payload.message or "")


def _error_reported(payload: events.ErrorReported) -> pb.ErrorReported:
    return pb.ErrorReported(
        code=to_enum(pb.ErrorCode, payload.code),
        message=payload.message,
        recoverable=payload.recoverable,
        details=to_error_details(payload.code, payload.details, recoverable=payload.recoverable),
    )


def _turn_ended(payload: events.TurnEnded) -> pb.TurnEnded:
    return pb.TurnEnded(
        state=to_state(payload.state),
        stop_reason=payload.stop_reason,
        duration_ms=payload.duration_ms,
        tools_used=payload.tools_used,
    )


ENCODERS: dict[type[events.AnyPayload], Callable[[Any], Message[Any]]] = {
    events.SessionStarted: _session_started,
    events.StateChanged: _state_changed,
    events.PromptSubmitted: _prompt_submitted,
    events.TextDelta: _text_delta,
    events.Thinking: _thinking,
    events.ToolStarted: to_tool_started,
    events.ToolUpdated: to_tool_updated,
    events.ToolCompleted: to_tool_completed,
    events.PlanUpdated: _plan_updated,
    events.TodosUpdated: _todos_updated,
    events.PermissionRequested: to_permission,
    events.PermissionResolved: _permission_resolved,
    events.QuestionAsked: to_question,
    events.QuestionAnswered: _question_answered,
    events.UsageUpdated: to_usage,
    events.CommandsUpdated: _commands_updated,
    events.ConfigUpdated: _config_updated,
    events.ComponentsUpdated: _components_updated,
    events.TitleUpdated: _title_updated,
    events.ProposalUpdated: to_proposal,
    events.CheckpointCreated: _checkpoint_created,
    events.CheckpointRestored: to_restored,
    events.EditorRequested: _editor_requested,
    events.EditorReplied: _editor_replied,
    events.Notice: _notice,
    events.ErrorReported: _error_reported,
    events.TurnEnded: _turn_ended,
}
"""Encoder of each kind of payload; a test holds that none is missing."""
