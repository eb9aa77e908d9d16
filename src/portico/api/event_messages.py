"""Encoder from events of the log to messages of the contract, complete for every kind."""

from collections.abc import Iterable
from typing import Any, assert_never

from protobuf import Message, Oneof
from protobuf.wkt import Timestamp

from portico.api.fields import json_text, raw_json, to_double, to_enum, to_int64, to_json
from portico.api.proposal_messages import to_proposal, to_restored
from portico.api.tool_messages import (
    to_locations,
    to_parts,
    to_tool_completed,
    to_tool_started,
    to_tool_updated,
)
from portico.api.v1 import events_pb as pb
from portico.domain import events, values
from portico.domain.errors import ErrorCode, ErrorDetails
from portico.domain.turns import TurnState


def to_event(event: events.Event) -> pb.Event:
    return pb.Event(
        session_id=event.session_id,
        seq=event.seq,
        turn_id=event.turn_id or "",
        at=to_time(event.at),
        payload=one_of(event.kind, to_payload(event.payload)),
    )


def one_of(field: str, value: object) -> Any:
    """One branch of a oneof. The generated types want the field's name as a literal each time."""
    return Oneof(field, value)


def to_time(at_ms: int) -> Timestamp:
    return Timestamp(seconds=at_ms // 1000, nanos=at_ms % 1000 * 1_000_000)


def to_state(state: TurnState) -> pb.TurnState:
    return pb.TurnState[state.name]


def to_payload(payload: events.AnyPayload) -> Message[Any]:  # noqa: PLR0912 - one branch for each kind
    match payload:
        case events.SessionStarted():
            return _session_started(payload)
        case events.StateChanged():
            return _state_changed(payload)
        case events.PromptSubmitted(text=text, blocks=blocks, prompt_id=prompt_id):
            return pb.PromptSubmitted(
                text=text, blocks_json=[json_text(block) for block in blocks], prompt_id=prompt_id or ""
            )
        case events.TextDelta(text=text, message_id=message_id, block=block):
            return pb.TextDelta(text=text, message_id=message_id or "", block_json=raw_json(block) or "")
        case events.Thinking(text=text, message_id=message_id, block=block):
            return pb.Thinking(text=text, message_id=message_id or "", block_json=raw_json(block) or "")
        case events.ToolStarted():
            return to_tool_started(payload)
        case events.ToolUpdated():
            return to_tool_updated(payload)
        case events.ToolCompleted():
            return to_tool_completed(payload)
        case events.PlanUpdated(entries=entries, raw=raw):
            return pb.PlanUpdated(entries=to_plan(entries), raw_json=raw_json(raw))
        case events.TodosUpdated(todos=todos):
            return pb.TodosUpdated(todos=to_todos(todos))
        case events.PermissionRequested():
            return to_permission(payload)
        case events.PermissionResolved():
            return _permission_resolved(payload)
        case events.QuestionAsked():
            return to_question(payload)
        case events.QuestionAnswered():
            return _question_answered(payload)
        case events.UsageUpdated():
            return to_usage(payload)
        case events.CommandsUpdated(commands=commands):
            return pb.CommandsUpdated(commands=to_commands(commands))
        case events.ConfigUpdated(options=options, chosen=chosen):
            return pb.ConfigUpdated(options=to_options(options), chosen=list(chosen))
        case events.TitleUpdated(title=title):
            return pb.TitleUpdated(title=title)
        case events.ProposalUpdated():
            return to_proposal(payload)
        case events.CheckpointCreated(
            checkpoint_id=checkpoint_id, label=label, moment=moment, left_out=left_out
        ):
            return pb.CheckpointCreated(
                checkpoint_id=checkpoint_id,
                label=label,
                moment=to_enum(pb.CheckpointMoment, moment),
                left_out=left_out,
            )
        case events.CheckpointRestored():
            return to_restored(payload)
        case events.EditorRequested(request_id=request_id, editor=editor, title=title, paths=paths):
            return pb.EditorRequested(request_id=request_id, editor=editor, title=title, paths=list(paths))
        case events.EditorReplied(request_id=request_id, done=done, message=message):
            return pb.EditorReplied(request_id=request_id, done=done, message=message or "")
        case events.Notice():
            return _notice(payload)
        case events.ErrorReported(code=code, message=message, recoverable=recoverable, details=details):
            return pb.ErrorReported(
                code=to_enum(pb.ErrorCode, code),
                message=message,
                recoverable=recoverable,
                details=to_error_details(code, details, recoverable=recoverable),
            )
        case events.TurnEnded():
            return pb.TurnEnded(
                state=to_state(payload.state),
                stop_reason=payload.stop_reason,
                duration_ms=payload.duration_ms,
                tools_used=payload.tools_used,
            )
        case _:
            assert_never(payload)


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
    )


def _question_answered(payload: events.QuestionAnswered) -> pb.QuestionAnswered:
    return pb.QuestionAnswered(
        request_id=payload.request_id,
        action=to_enum(pb.QuestionAction, payload.action),
        by=to_enum(pb.DecidedBy, payload.by),
        content_json=to_json(payload.content) if payload.content else None,
        withheld=list(payload.withheld),
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
