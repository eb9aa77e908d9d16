"""Codec between session views, lists, drafts and answers and the messages of the contract."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from portico.api.fields import read_enum, to_enum, to_time
from portico.api.v1 import agent_pb as pb
from portico.api.v1 import events_pb
from portico.conductor.permissions.policy import parse_rule
from portico.domain import codecs, events, values
from portico.domain.components import ComponentStatus
from portico.domain.drafts import QueuedPrompt, SessionDraft
from portico.domain.errors import InvalidInput
from portico.domain.ids import SessionId
from portico.doors.api.event_messages import (
    to_commands,
    to_options,
    to_permission,
    to_plan,
    to_question,
    to_sandbox,
    to_state,
    to_todos,
    to_usage,
)
from portico.doors.api.review_messages import to_review_mode
from portico.doors.http.callers import calling
from portico.sessions.content.attachments import AttachedBytes, AttachedFile, AttachmentSource
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.session_list import SessionListEntry
from portico.sessions.session_view import SessionView

MAX_PAGE = 1_000


def to_summary(listed: SessionListEntry) -> pb.SessionSummary:
    summary = listed.summary
    return pb.SessionSummary(
        session_id=summary.session_id,
        workspace=summary.workspace,
        agent=summary.agent,
        title=summary.title,
        state=to_state(summary.state),
        created_at=to_time(summary.created_at),
        updated_at=to_time(summary.updated_at),
        last_seq=summary.last_seq,
        reads_only=summary.reads_only,
        mode=to_review_mode(summary.mode),
        has_draft=listed.drafted,
        queued=listed.queued,
        is_new=summary.last_turn is None,
        waiting=listed.waiting,
        sandbox=to_sandbox(listed.sandbox),
        to_review=summary.to_review,
        pinned=listed.pinned,
        named=summary.title_from == "person",
    )


def to_components(found: Iterable[ComponentStatus]) -> list[pb.Component]:
    return [
        pb.Component(
            name=one.name,
            summary=one.summary,
            state=to_enum(pb.ComponentState, one.state),
            reason=one.reason,
            origin=one.origin,
            fixed=one.fixed,
        )
        for one in found
    ]


def to_detail(view: SessionView, draft: SessionDraft) -> pb.SessionDetail:
    waiting = len(view.permissions) + len(view.questions)
    listed = SessionListEntry(
        summary=view.summary,
        drafted=draft.drafted,
        queued=len(draft.queue),
        waiting=waiting,
        sandbox=view.sandbox,
        pinned=draft.pinned,
    )
    detail = pb.SessionDetail(
        summary=to_summary(listed),
        permissions=[to_permission(one) for one in view.permissions],
        questions=[to_question(one) for one in view.questions],
        desk=to_drafts(draft),
        prompt_capabilities=pb.PromptCapabilities(
            image=view.takes.image, audio=view.takes.audio, embedded_context=view.takes.embedded_context
        ),
        can_fork=view.can_fork,
        open_elsewhere=view.open_elsewhere,
    )
    for payload in view.standing:
        match payload:
            case events.CommandsUpdated(commands=commands):
                detail.commands = to_commands(commands)
            case events.ConfigUpdated(options=options):
                detail.options = to_options(options)
            case events.UsageUpdated():
                detail.usage = to_usage(payload)
            case events.PlanUpdated(entries=entries):
                detail.plan = to_plan(entries)
            case events.TodosUpdated(todos=todos):
                detail.todos = to_todos(todos)
            case _:
                raise TypeError(f"{payload.kind} is not a state of the session")
    return detail


def to_drafts(draft: SessionDraft) -> pb.Desk:
    return pb.Desk(
        draft=draft.draft,
        client_id=draft.client_id,
        queue=[to_queued(one) for one in draft.queue],
        revision=draft.revision,
    )


def to_queued(prompt: QueuedPrompt) -> pb.QueuedPrompt:
    return pb.QueuedPrompt(prompt_id=prompt.prompt_id, text=prompt.text, attachments=len(prompt.blocks))


def require_session_id(text: str) -> SessionId:
    if not text:
        raise InvalidInput("session_id is required.")
    return SessionId(text)


def page_size(asked: int, usual: int) -> int:
    return min(asked, MAX_PAGE) if asked > 0 else usual


def read_attachment(attachment: pb.Attachment, workspace: Path) -> AttachmentSource:
    """The attachment of a request. A path must be in the session's workspace; the file is read later."""
    source = attachment.source
    if source is None:
        raise InvalidInput(f"The attachment {attachment.name!r} has neither a path nor data.")
    if source.field == "path":
        try:
            path = (workspace / source.value).resolve()
            inside = path.is_relative_to(workspace.resolve())
        except (
            OSError,
            ValueError,
            RuntimeError,
        ) as error:  # RuntimeError: a symlink loop, before Python 3.13
            raise InvalidInput(f"{source.value!r} cannot be attached: {error}.") from error
        if not inside:
            raise InvalidInput(
                f"{source.value} is outside the session's workspace.", suggestion="Send its content as data."
            )
        return AttachedFile(path, workspace)
    return AttachedBytes(name=attachment.name, data=source.value, mime_type=attachment.mime_type)


def read_decision(said: pb.PermissionDecision) -> PermissionReply:
    """A permission decision. Without an option it denies; without a scope it applies once. InvalidInput for no rule."""
    scope: values.PermissionScope = read_enum(said.scope) or "once"
    rule = parse_rule(said.rule).text if said.rule else None
    return PermissionReply(
        option_id=said.option_id or None, by="person", scope=scope, rule=rule, person=calling().name
    )


def read_reply(reply: pb.QuestionReply) -> QuestionAnswer:
    action = read_enum(reply.action)
    if action is None:
        raise InvalidInput("action is required.", suggestion="Set it to accept, decline or cancel.")
    try:
        content = codecs.decode_json(reply.content_json or "{}")
        said = {"action": action, "content": content, "person": calling().name}
        return codecs.convert(said, QuestionAnswer)
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"content_json is not valid: {error}") from error


def read_todos(said: Iterable[events_pb.Todo]) -> list[values.TodoItem]:
    return [
        values.TodoItem(
            todo_id=one.todo_id or f"todo-{place}",
            content=one.content,
            status=read_enum(one.status) or "pending",
            priority=read_enum(one.priority) or "medium",
        )
        for place, one in enumerate(said, start=1)
    ]
