"""What Portico says to itself over ACP, in methods of its own that begin with `_portico/`.

A client that is Portico announces it in `initialize`, under `_meta.portico` of its capabilities;
nobody else is sent any of these.
"""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from portico.acp import _schema as schema
from portico.domain import codecs
from portico.domain.errors import InvalidInput, ModelFailure
from portico.rpc.messages import INVALID_REQUEST, Fault, FaultKind, RpcError

VERSION = 1
FAULT = "_portico/fault"
DECIDED = "_portico/permission_decided"
LEFT = "_portico/session_left"
PROPOSED = "_portico/proposal_updated"
"""Its parameters are the event of that name, and `sessionId`."""

TODOS = "_portico/todos"
"""The person's list of things to do, for an agent that takes it."""

Scope = Literal["once", "session", "always"]
Source = Literal["deny_rule", "read_only", "approval", "allow_rule", "bypass"]


class PorticoCapabilities(msgspec.Struct, frozen=True):
    """`clientCapabilities._meta.portico`: that the client is Portico, and how it takes permissions."""

    permissions: int = 0


class AgentExtensions(msgspec.Struct, frozen=True):
    """`agentCapabilities._meta.portico`: which of our notifications the agent takes."""

    todos: int = 0


class Sorted(msgspec.Struct, frozen=True):
    """`_meta.portico` of a plan: so many of its last entries are the list of things to do, and no steps."""

    todos: Annotated[int, Meta(ge=0)] | None = None


class Open(msgspec.Struct, frozen=True):
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


class Decided(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The parameters of `_portico/permission_decided`; the question's parts are as the agent sent them."""

    session_id: str
    tool_call: Raw
    options: Raw
    outcome: Literal["allowed", "denied"]
    option_id: str | None
    rule: str | None
    source: Source


class Left(schema.Wire, frozen=True, kw_only=True):
    """The client has nothing more to do with a session, whether or not the agent can be told to close it."""

    session_id: str


class Offered(msgspec.Struct, frozen=True):
    """`_meta.portico` of a question to a client that knows Portico."""

    scopes: tuple[Scope, ...] = ("once",)
    rule: str | None = None


class Chosen(msgspec.Struct, frozen=True):
    """`_meta.portico` of such a client's answer."""

    scope: Scope = "once"
    rule: str | None = None


class Placed(msgspec.Struct, frozen=True):
    """`_meta.portico` of a request that opens a session: its name in Portico, and how it changes whose files.

    If the session's folder is not the `workspace`, it stands for it.
    """

    session: str = ""
    workspace: str = ""
    mode: str = "direct"
    reads_only: bool | UnsetType = UNSET
    """Left out unless the session must change nothing."""


class Failed(msgspec.Struct, frozen=True, omit_defaults=True):
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
    told = codecs.decode_json(params, FaultNotification)
    return Fault(told.kind, told.detail, told.sample, told.size)


def fault_notification(fault: Fault) -> FaultNotification:
    return FaultNotification(kind=fault.kind, detail=fault.detail, sample=fault.sample, size=fault.size)


def no_agent() -> RpcError:
    """The failure of a program that asks its client to initialize: it only sends back what it is sent."""
    told = Failed(
        code=InvalidInput.code,
        suggestion="Give the command of a program that speaks ACP. The known ones: portico agents list",
    )
    what = "The program answers with what it was sent, so it is not an ACP agent."
    return RpcError(INVALID_REQUEST, what, to_meta(told))


Mark = TypeVar("Mark", Offered, Chosen, Placed, Sorted, Open, AgentExtensions, PorticoCapabilities)


def from_meta(meta: dict[str, Any] | None, kind: type[Mark]) -> Mark:
    """What stands under `_meta.portico`; the default where there is nothing, or nothing that makes sense."""
    try:
        return codecs.convert((meta or {}).get("portico", {}), kind)
    except msgspec.ValidationError:
        return kind()


def placed_by(meta: Any) -> Placed:
    """Where a session is to work, by the `_meta` of the request that opens it, whatever that is."""
    return from_meta(meta if isinstance(meta, dict) else None, Placed)


def to_meta(
    value: Offered | Chosen | Placed | Failed | Sorted | Open | AgentExtensions | PorticoCapabilities,
) -> dict[str, Any]:
    return {"portico": msgspec.to_builtins(value)}
