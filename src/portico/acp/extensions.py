"""Portico's own ACP extensions: `_portico/` methods and the values under `_meta.portico`.

A client that is Portico announces it in `initialize`, under `_meta.portico` of its capabilities;
no other client is sent any of these.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.domain.errors import InvalidInput, ModelFailure
from portico.domain.values import PermissionRisk
from portico.rpc.messages import INVALID_REQUEST, Fault, FaultKind, RpcError

VERSION = 1
FAULT = "_portico/fault"
PERMISSION_DECIDED = "_portico/permission_decided"
SESSION_LEFT = "_portico/session_left"
PROPOSAL_UPDATED = "_portico/proposal_updated"
"""Its parameters are the event of that name, and `sessionId`."""

PROPOSE_CHANGES = "_portico/propose_changes"
"""Asks the chain to keep changes as a proposal, whatever the review mode. For Porter, which is told that it may."""

TODOS = "_portico/todos"
"""The person's list of things to do, for an agent that takes it."""

STOP_TOOL = "_portico/stop_tool"
"""Asks the chain to end one tool call that it has marked as stoppable. The turn continues."""

Scope = Literal["once", "session", "always"]
DecisionSource = Literal["deny_rule", "read_only", "approval", "allow_rule", "bypass"]


class PorticoCapabilities(msgspec.Struct, frozen=True, omit_defaults=True):
    """`clientCapabilities._meta.portico`: that the client is Portico, and how it takes permissions."""

    permissions: int = 0
    broker: int = 0
    """Added by the permission broker, for Porter."""
    proposals: int = 0
    """Added by the proxy that answers `_portico/propose_changes`, for Porter."""


class AgentExtensions(msgspec.Struct, frozen=True):
    """`agentCapabilities._meta.portico`: which of our notifications the agent takes."""

    todos: int = 0


class PlanMeta(msgspec.Struct, frozen=True):
    """`_meta.portico` of a plan: the number of its last entries that are todos, not steps."""

    todos: Annotated[int, Meta(ge=0)] | None = None


class ServerMeta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`_meta.portico` of an MCP server that Portico offers, or that the user's settings name."""

    trusted: bool = False
    """Whether what the server says about its own tools counts."""


class ToolCallMeta(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`_meta.portico` of a tool call."""

    read_only: bool = False
    """Whether the tool only reads, by the word of a server that is trusted."""
    stoppable: bool = False
    """Whether `_portico/stop_tool` ends it."""


class OptionMeta(msgspec.Struct, frozen=True):
    """`_meta.portico` of an option that takes other values than those that it lists."""

    open: bool = False


class WrittenTodo(schema.Wire, frozen=True, kw_only=True):
    content: str
    status: schema.PlanEntryStatus = "pending"
    priority: schema.PlanEntryPriority = "medium"


class WrittenTodos(schema.Wire, frozen=True, kw_only=True):
    """The parameters of `_portico/todos`: the whole list."""

    session_id: str
    todos: list[WrittenTodo]


class PermissionDecided(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The parameters of `_portico/permission_decided`; the question's parts are as the agent sent them."""

    session_id: str
    tool_call: Raw
    options: Raw
    outcome: Literal["allowed", "denied"]
    option_id: str | None
    rule: str | None
    source: DecisionSource


class SessionLeft(schema.Wire, frozen=True, kw_only=True):
    """The client has nothing more to do with a session, whether or not the agent can be told to close it."""

    session_id: str


class StoppedTool(schema.Wire, frozen=True, kw_only=True):
    """The parameters of `_portico/stop_tool`."""

    session_id: str
    tool_call_id: str


class KeptProposal(schema.Wire, frozen=True, kw_only=True):
    """The answer to `_portico/propose_changes`. An editor's person may have decided on it by then."""

    proposal_id: str
    status: Literal["open", "applied", "discarded"]
    warnings: tuple[str, ...] = ()


class OfferedScopes(msgspec.Struct, frozen=True):
    """`_meta.portico` of a question to a client that knows Portico."""

    scopes: tuple[Scope, ...] = ("once",)
    rule: str | None = None
    wider: str | None = None
    risks: tuple[PermissionRisk, ...] = ()


class ChosenScope(msgspec.Struct, frozen=True):
    """`_meta.portico` of such a client's answer."""

    scope: Scope = "once"
    rule: str | None = None


class SessionPlacement(msgspec.Struct, frozen=True):
    """`_meta.portico` of a request that opens a session: its name in Portico, and how it changes whose files.

    If the session's folder is not the `workspace`, it stands for it.
    """

    session: str = ""
    workspace: str = ""
    mode: str = "direct"
    reads_only: bool | UnsetType = UNSET
    """Left out unless the session must change nothing."""


class FailureMeta(msgspec.Struct, frozen=True, omit_defaults=True):
    """`portico` in the data of an error answer: which failure it is, for a client that is Portico."""

    code: str = ""
    suggestion: str | None = None
    model_failure: ModelFailure | None = None


class FaultNotification(schema.Wire, frozen=True, kw_only=True):
    """Something malformed that the agent sent and the conductor passed over."""

    kind: FaultKind
    detail: str
    sample: str
    size: int


def fault_from(params: Raw) -> Fault:
    fault = codecs.decode_json(params, FaultNotification)
    return Fault(fault.kind, fault.detail, fault.sample, fault.size)


def fault_notification(fault: Fault) -> FaultNotification:
    return FaultNotification(kind=fault.kind, detail=fault.detail, sample=fault.sample, size=fault.size)


def not_an_agent() -> RpcError:
    """The failure of a program that asks its client to initialize: it only sends back what it is sent."""
    failure = FailureMeta(
        code=InvalidInput.code,
        suggestion="Give the command of a program that speaks ACP. The known ones: portico agents list",
    )
    what = "The program answers with what it was sent, so it is not an ACP agent."
    return RpcError(INVALID_REQUEST, what, to_meta(failure))


ExtensionMeta = TypeVar(
    "ExtensionMeta",
    OfferedScopes,
    ChosenScope,
    SessionPlacement,
    PlanMeta,
    OptionMeta,
    ServerMeta,
    ToolCallMeta,
    AgentExtensions,
    PorticoCapabilities,
)


def from_meta(meta: dict[str, Any] | None, kind: type[ExtensionMeta]) -> ExtensionMeta:
    """The value under `_meta.portico`; the default if it is missing or invalid."""
    try:
        return codecs.convert((meta or {}).get("portico", {}), kind)
    except msgspec.ValidationError:
        return kind()


def placement_in(meta: Any) -> SessionPlacement:
    """The folder of a session, from the `_meta` of the request that opens it."""
    return from_meta(meta if isinstance(meta, dict) else None, SessionPlacement)


def to_meta(
    value: OfferedScopes
    | ChosenScope
    | SessionPlacement
    | FailureMeta
    | PlanMeta
    | OptionMeta
    | ServerMeta
    | ToolCallMeta
    | AgentExtensions
    | PorticoCapabilities,
) -> dict[str, Any]:
    return {"portico": msgspec.to_builtins(value)}
