"""Permission requests that wait for a person, and the answers sent to the agent.

A question that gets no answer is a denial. A denial picks one of the agent's own reject
options; `cancelled` goes out only when the turn itself is being stopped.
"""

import asyncio
from typing import Literal

import msgspec

from portico.acp import _schema as acp
from portico.acp.extensions import ChosenScope, to_meta
from portico.domain.errors import InvalidInput
from portico.domain.events import PermissionRequested, PermissionResolved
from portico.domain.values import PermissionOption, PermissionScope
from portico.rpc.messages import INTERNAL_ERROR, RpcError


class PermissionReply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: one of the agent's options, or None to deny by whichever option it has for that."""

    option_id: str | None
    by: Literal["person", "policy", "nobody"]
    rule: str | None = None
    scope: PermissionScope = "once"


class PendingPermissions:
    """Those of a session that has `asked` at most so many before: an answer to one of them settles none of these."""

    def __init__(self, asked: int) -> None:
        self._waiting: dict[str, tuple[PermissionRequested, asyncio.Future[PermissionResolved]]] = {}
        self._asked = asked

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def open(self) -> tuple[PermissionRequested, ...]:
        """The questions that nobody has answered yet, oldest first."""
        return tuple(request for request, answer in self._waiting.values() if not answer.done())

    @property
    def answered(self) -> bool:
        """Whether an answer was given that whoever asked has not taken yet."""
        return any(answer.done() for _, answer in self._waiting.values())

    def next_id(self) -> str:
        self._asked += 1
        return f"p{self._asked}"

    def ask(self, request: PermissionRequested) -> "asyncio.Future[PermissionResolved]":
        answer: asyncio.Future[PermissionResolved] = asyncio.get_running_loop().create_future()
        self._waiting[request.request_id] = (request, answer)
        return answer

    def forget(self, request_id: str) -> None:
        self._waiting.pop(request_id, None)

    def answer(self, request_id: str, decision: PermissionReply) -> None:
        """Settle a question. InvalidInput if it is not waiting, or has no such option."""
        request, answer = self._waiting.get(request_id, (None, None))
        if request is None or answer is None or answer.done():
            raise InvalidInput(f"No permission request {request_id} is waiting for an answer.")
        if decision.option_id is None:
            chosen = rejecting_option(request.options)
        else:
            chosen = next((one for one in request.options if one.option_id == decision.option_id), None)
            if chosen is None:
                names = ", ".join(option.option_id for option in request.options)
                raise InvalidInput(
                    f"{decision.option_id!r} is not an option of {request_id}; it has {names}."
                )
        allowed = chosen is not None and chosen.kind.startswith("allow")
        answer.set_result(
            PermissionResolved(
                request_id=request_id,
                outcome="allowed" if allowed else "denied",
                by=decision.by,
                option_id=chosen.option_id if chosen else None,
                rule=decision.rule,
                scope=decision.scope if allowed and decision.scope in request.scopes else None,
            )
        )

    def about(self, tool_id: str) -> str | None:
        """The question that waits for an answer about a tool call, if one does."""
        for request_id, (request, answer) in self._waiting.items():
            if request.tool_id == tool_id and not answer.done():
                return request_id
        return None

    def cancel_all(self) -> None:
        """The turn is being stopped: every open question ends unanswered."""
        for request_id, (_, answer) in self._waiting.items():
            if not answer.done():
                answer.set_result(PermissionResolved(request_id=request_id, outcome="canceled", by="nobody"))


def rejecting_option(options: tuple[PermissionOption, ...]) -> PermissionOption | None:
    """The mildest way the agent offers to say no."""
    for kind in ("reject_once", "reject_always"):
        for option in options:
            if option.kind == kind:
                return option
    return None


def answer_to_agent(resolved: PermissionResolved) -> acp.RequestPermissionResponse:
    """What the protocol says for an outcome. An agent that offers no way to say no gets an error."""
    if resolved.outcome == "canceled":
        return acp.RequestPermissionResponse(outcome=acp.CancelledPermissionOutcome())
    if resolved.option_id is None:
        raise RpcError(INTERNAL_ERROR, "permission denied; the request offered no option to reject")
    meta = None
    if resolved.scope not in (None, "once"):
        meta = to_meta(ChosenScope(resolved.scope, resolved.rule))
    outcome = acp.SelectedPermissionOutcome(option_id=resolved.option_id)
    return acp.RequestPermissionResponse(outcome=outcome, meta=meta)
