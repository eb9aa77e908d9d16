"""Events of a session: immutable, typed facts, numbered by `seq` without gaps.

A payload is one frozen struct per kind. The store keeps its JSON, in camelCase, and every door shows it. Values
of agents that Portico does not need to understand stay as the JSON they came in (`msgspec.Raw`).
"""

from typing import ClassVar, Literal, get_args

import msgspec
from msgspec import UNSET, Raw, UnsetType

from portico.domain.errors import ErrorCode, ErrorDetails
from portico.domain.ids import SessionId, TurnId
from portico.domain.problems import FileProblems
from portico.domain.reviews import CheckpointMoment, ProposalOrigin, ProposalStatus, ProposedFile, ReviewMode
from portico.domain.timestamps import format_time
from portico.domain.turns import TurnState
from portico.domain.values import (
    AgentCommand,
    AgentSession,
    ConfigOption,
    ForkedFrom,
    Location,
    PermissionOption,
    PermissionRisk,
    PermissionScope,
    PlanEntry,
    PromptReference,
    QuestionField,
    QuestionValue,
    TerminalOutput,
    TextGrowth,
    TodoItem,
    ToolKind,
    ToolPart,
    ToolStatus,
    Value,
)


class Payload(Value, frozen=True):
    kind: ClassVar[str]


class SessionStarted(Payload, frozen=True):
    """A door opened the session: the first event, and again each time it is continued.

    In a session that `reads_only`, writes and commands are refused, and no other session is waited for. One
    that `adopts` a conversation was the agent's own before; one with `forked_from` is a copy of that session.
    """

    kind = "session_started"
    workspace: str
    agent: str
    continued: bool
    mode: ReviewMode
    portico_version: str
    agent_command: tuple[str, ...] = ()
    reads_only: bool = False
    adopts: str | None = None
    forked_from: ForkedFrom | None = None


class StateChanged(Payload, frozen=True):
    kind = "state_changed"
    state: TurnState
    previous: TurnState
    reason: str | None = None
    agent_session: AgentSession | None = None


class PromptSubmitted(Payload, frozen=True):
    """A prompt that a person sent. `prompt_id` is set if it waited in the queue, `prompt` if it is from a file."""

    kind = "prompt_submitted"
    text: str
    blocks: tuple[Raw, ...] = ()
    prompt_id: str | None = None
    prompt: PromptReference | None = None


class TextDelta(Payload, frozen=True):
    kind = "text_delta"
    text: str
    message_id: str | None = None
    block: Raw | UnsetType = UNSET


class Thinking(Payload, frozen=True):
    kind = "thinking"
    text: str
    message_id: str | None = None
    block: Raw | UnsetType = UNSET


class ToolStarted(Payload, frozen=True):
    kind = "tool_started"
    tool_id: str
    title: str
    tool_kind: ToolKind
    status: ToolStatus
    name: str | None = None
    content: tuple[ToolPart, ...] = ()
    locations: tuple[Location, ...] = ()
    input: Raw | UnsetType = UNSET
    output: Raw | UnsetType = UNSET
    read_only: bool = False
    stoppable: bool = False


class ToolUpdated(Payload, frozen=True):
    """A change to a tool call. Fields that are absent did not change; content that only `grown` is not told again."""

    kind = "tool_updated"
    tool_id: str
    title: str | None = None
    tool_kind: ToolKind | None = None
    status: ToolStatus | None = None
    content: tuple[ToolPart, ...] | None = None
    locations: tuple[Location, ...] | None = None
    input: Raw | UnsetType = UNSET
    output: Raw | UnsetType = UNSET
    grown: TextGrowth | None = None
    terminal: TerminalOutput | None = None
    problems: tuple[FileProblems, ...] | None = None
    """All problems that the call has added and removed so far; it may come after the call has ended."""


class ToolCompleted(Payload, frozen=True):
    kind = "tool_completed"
    tool_id: str
    success: bool
    duration_ms: int
    title: str | None = None
    tool_kind: ToolKind | None = None
    content: tuple[ToolPart, ...] | None = None
    locations: tuple[Location, ...] | None = None
    input: Raw | UnsetType = UNSET
    output: Raw | UnsetType = UNSET


class PlanUpdated(Payload, frozen=True):
    """All steps that are planned now; `raw` is what the agent sent, if it says more than they do."""

    kind = "plan_updated"
    entries: tuple[PlanEntry, ...]
    raw: Raw | UnsetType = UNSET


class TodosUpdated(Payload, frozen=True):
    """The whole list, as it is now."""

    kind = "todos_updated"
    todos: tuple[TodoItem, ...]


class PermissionRequested(Payload, frozen=True):
    """A question with the agent's own options.

    `scopes` says how long an allowance may be kept, `rule` what it covers then, and `wider_rule` what more it could.
    """

    kind = "permission_requested"
    request_id: str
    tool_id: str
    title: str
    options: tuple[PermissionOption, ...]
    tool_kind: ToolKind
    content: tuple[ToolPart, ...] = ()
    locations: tuple[Location, ...] = ()
    input: Raw | UnsetType = UNSET
    scopes: tuple[PermissionScope, ...] = ()
    rule: str | None = None
    wider_rule: str | None = None
    risks: tuple[PermissionRisk, ...] = ()


class PermissionResolved(Payload, frozen=True):
    """The end of a permission request; `nobody` if no person could be asked. `person` names another device than the server."""

    kind = "permission_resolved"
    request_id: str
    outcome: Literal["allowed", "denied", "canceled"]
    by: Literal["person", "policy", "nobody"]
    option_id: str | None = None
    rule: str | None = None
    scope: PermissionScope | None = None
    person: str = ""


class QuestionAsked(Payload, frozen=True):
    """The agent wants to know something: in fields of a form, or by way of a page in a browser."""

    kind = "question_asked"
    request_id: str
    message: str
    mode: Literal["form", "url"]
    title: str | None = None
    description: str | None = None
    fields: tuple[QuestionField, ...] = ()
    url: str | None = None
    elicitation_id: str | None = None
    tool_id: str | None = None


class QuestionAnswered(Payload, frozen=True):
    """The end of a question: accepted, declined (also if no person was there) or canceled with its turn.

    `withheld` names the secret fields that were answered; `content` has the others.
    """

    kind = "question_answered"
    request_id: str
    action: Literal["accept", "decline", "cancel"]
    by: Literal["person", "nobody"]
    content: dict[str, QuestionValue] = msgspec.field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    person: str = ""


class UsageUpdated(Payload, frozen=True):
    kind = "usage_updated"
    used: int | None = None
    size: int | None = None
    cost: float | None = None
    currency: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class CommandsUpdated(Payload, frozen=True):
    kind = "commands_updated"
    commands: tuple[AgentCommand, ...]


class ConfigUpdated(Payload, frozen=True):
    """The agent's options and their values. `chosen` has the ids of the options that a person has set."""

    kind = "config_updated"
    options: tuple[ConfigOption, ...]
    chosen: tuple[str, ...] = ()


class ComponentsUpdated(Payload, frozen=True):
    """The components that the session switches on and off from now on, whatever the settings say."""

    kind = "components_updated"
    on: tuple[str, ...] = ()
    off: tuple[str, ...] = ()


class TitleUpdated(Payload, frozen=True):
    kind = "title_updated"
    title: str
    by_person: bool = False


class Notice(Payload, frozen=True):
    """Something worth telling that stops nothing; `raw` is what the agent sent, if anything.

    `details` may have many lines and says more than `text`. A `code` names the situation for programs;
    then `paths` are the files it is about, restoring `checkpoint_id` puts them back, and `other_session_id` is
    the session it refers to.
    """

    kind = "notice"
    level: Literal["info", "warning", "error"]
    text: str
    details: str | None = None
    source: Literal["portico", "agent"] = "portico"
    count: int = 1
    raw: Raw | UnsetType = UNSET
    code: str | None = None
    paths: tuple[str, ...] = ()
    checkpoint_id: str | None = None
    other_session_id: str | None = None


class ErrorReported(Payload, frozen=True):
    kind = "error"
    code: ErrorCode
    message: str
    recoverable: bool
    details: ErrorDetails = ErrorDetails()


class TurnEnded(Payload, frozen=True):
    """The end of a turn. The `state_changed` that follows stands in the same commit."""

    kind = "turn_ended"
    state: TurnState
    stop_reason: str
    duration_ms: int
    tools_used: int


class ProposalUpdated(Payload, frozen=True):
    """The full state of a proposal; `unlisted` counts files not named, `can_undo` tells of the last apply."""

    kind = "proposal_updated"
    proposal_id: str
    revision: int
    status: ProposalStatus
    origin: ProposalOrigin
    files: tuple[ProposedFile, ...] = ()
    unlisted: int = 0
    can_undo: bool = False


class CheckpointCreated(Payload, frozen=True):
    """The working tree was kept as it is. `left_out` counts files that are too large or too many to keep."""

    kind = "checkpoint_created"
    checkpoint_id: str
    label: str
    moment: CheckpointMoment
    left_out: int = 0


class CheckpointRestored(Payload, frozen=True):
    """The working tree is as it was then; the state before is kept, and the person's changes since are in the proposal."""

    kind = "checkpoint_restored"
    checkpoint_id: str
    kept_checkpoint_id: str
    files: int
    proposal_id: str | None = None


class EditorRequested(Payload, frozen=True):
    """An attached editor was asked to do something for the session. No text of a file stands here."""

    kind = "editor_requested"
    request_id: str
    editor: str
    title: str
    paths: tuple[str, ...] = ()


class EditorReplied(Payload, frozen=True):
    """The result of an editor request; `message` says why it failed."""

    kind = "editor_replied"
    request_id: str
    done: bool
    message: str | None = None


AnyPayload = (
    SessionStarted
    | StateChanged
    | PromptSubmitted
    | TextDelta
    | Thinking
    | ToolStarted
    | ToolUpdated
    | ToolCompleted
    | PlanUpdated
    | TodosUpdated
    | PermissionRequested
    | PermissionResolved
    | QuestionAsked
    | QuestionAnswered
    | UsageUpdated
    | CommandsUpdated
    | ConfigUpdated
    | ComponentsUpdated
    | TitleUpdated
    | ProposalUpdated
    | CheckpointCreated
    | CheckpointRestored
    | EditorRequested
    | EditorReplied
    | Notice
    | ErrorReported
    | TurnEnded
)

# The last event of each of these kinds says how things stand, whatever came before it.
STATE_PAYLOADS = (PlanUpdated, TodosUpdated, UsageUpdated, CommandsUpdated, ConfigUpdated)

PAYLOADS: dict[str, type[AnyPayload]] = {payload.kind: payload for payload in get_args(AnyPayload)}


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One fact in a session. `at` is UTC, in milliseconds since 1970."""

    session_id: SessionId
    seq: int
    turn_id: TurnId | None
    at: int
    payload: AnyPayload

    @property
    def kind(self) -> str:
        return self.payload.kind

    @property
    def timestamp(self) -> str:
        return format_time(self.at)
