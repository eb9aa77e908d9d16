"""Permission requests that wait for a person, and the answers sent to the agent.

A request that gets no answer is denied. A denial selects one of the agent's own reject options; `cancelled` is
sent only when the turn itself is being stopped.
"""

from typing import Literal

import msgspec

from portico.acp import _schema as acp
from portico.acp.extensions import ChosenScope, to_meta
from portico.domain.errors import InvalidInput
from portico.domain.events import PermissionRequested, PermissionResolved
from portico.domain.values import PermissionOption, PermissionScope
from portico.rpc.messages import INTERNAL_ERROR, RpcError
from portico.sessions.requests.pending_answers import PendingAnswers


class PermissionReply(msgspec.Struct, frozen=True, kw_only=True):
    """A decision: one of the agent's options, or None to deny with the reject option it offers."""

    option_id: str | None
    by: Literal["person", "policy", "nobody"]
    rule: str | None = None
    scope: PermissionScope = "once"
    person: str = ""


class PendingPermissions(PendingAnswers[PermissionRequested, PermissionResolved]):
    def __init__(self, asked: int) -> None:
        super().__init__("p", asked)

    def answer(self, request_id: str, decision: PermissionReply) -> None:
        """Answer a request. InvalidInput if it is not open, or has no such option."""
        found = self.find(request_id)
        if found is None:
            raise InvalidInput(f"No permission request {request_id} is waiting for an answer.")
        request, answer = found
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
                person=decision.person,
            )
        )

    def about(self, tool_id: str) -> str | None:
        """The id of the open request about a tool call, if there is one."""
        return next((request.request_id for request in self.open if request.tool_id == tool_id), None)

    def cancel_all(self) -> None:
        """Cancel every open request, because the turn is being stopped."""
        for request_id, (_, answer) in self._waiting.items():
            if not answer.done():
                answer.set_result(PermissionResolved(request_id=request_id, outcome="canceled", by="nobody"))


def rejecting_option(options: tuple[PermissionOption, ...]) -> PermissionOption | None:
    """The mildest reject option that the agent offers."""
    for kind in ("reject_once", "reject_always"):
        for option in options:
            if option.kind == kind:
                return option
    return None


def answer_to_agent(resolved: PermissionResolved) -> acp.RequestPermissionResponse:
    """The response for an outcome. RpcError for a denial if the agent offered no reject option."""
    if resolved.outcome == "canceled":
        return acp.RequestPermissionResponse(outcome=acp.CancelledPermissionOutcome())
    if resolved.option_id is None:
        raise RpcError(INTERNAL_ERROR, "permission denied; the request offered no option to reject")
    meta = None
    if resolved.scope not in (None, "once"):
        meta = to_meta(ChosenScope(resolved.scope, resolved.rule))
    outcome = acp.SelectedPermissionOutcome(option_id=resolved.option_id)
    return acp.RequestPermissionResponse(outcome=outcome, meta=meta)
