"""A permission request as the broker handles it: the agent's options, the requested action and the suggested
rule.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.extensions import PermissionDecided
from portico.conductor.permissions import wire_format as wire
from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.decisions import PolicyDecision
from portico.conductor.permissions.policy import PermissionRule
from portico.domain import codecs
from portico.rpc.messages import Message

OptionMeaning = Literal["allow", "reject"]


class PermissionOptions:
    def __init__(self, options: Sequence[acp.PermissionOption]) -> None:
        self._kinds: dict[str, set[str]] = {}
        for option in options:
            self._kinds.setdefault(option.option_id, set()).add(option.kind)

    def __contains__(self, option_id: object) -> bool:
        return option_id in self._kinds

    def meaning(self, option_id: str) -> OptionMeaning | None:
        """The meaning of an option; None if it is not offered or ambiguous."""
        kinds = self._kinds.get(option_id, set())
        if _all_begin_with("allow", kinds):
            return "allow"
        return "reject" if _all_begin_with("reject", kinds) else None

    @property
    def allow_once(self) -> str | None:
        """The option that allows this one time and surely no more."""
        return next((option for option, kinds in self._kinds.items() if kinds == {"allow_once"}), None)

    @property
    def reject(self) -> str | None:
        """The mildest way the agent offers to say no."""
        for mild in ("reject_once", "reject_always"):
            for option, kinds in self._kinds.items():
                if mild in kinds and _all_begin_with("reject", kinds):
                    return option
        return None


def _all_begin_with(meaning: OptionMeaning, kinds: Iterable[str]) -> bool:
    found = list(kinds)
    return bool(found) and all(kind.startswith(meaning) for kind in found)


_ALLOW = acp.PermissionOption(option_id="allow", name="Allow", kind="allow_once")
_DENY = acp.PermissionOption(option_id="deny", name="Deny", kind="reject_once")


class BrokeredRequest(msgspec.Struct, frozen=True, eq=False):
    """A permission request, or a client request that a person has to be asked about (`is_client_request`).

    `root` is the session that the client opened; the request may come from a child of it.
    """

    message: Message
    params: Raw
    session_id: str
    root: str
    call_id: str
    choices: PermissionOptions
    action: RequestedAction
    suggestion: PermissionRule | None = None
    is_client_request: bool = False


def request_from_agent(
    message: Message,
    asked: acp.RequestPermissionRequest,
    action: RequestedAction,
    root: str,
    suggestion: PermissionRule | None,
) -> BrokeredRequest:
    return BrokeredRequest(
        message=message,
        params=message.params,
        session_id=asked.session_id,
        root=root,
        call_id=asked.tool_call.tool_call_id,
        choices=PermissionOptions(asked.options),
        action=action,
        suggestion=suggestion,
    )


def request_for_client_method(
    message: Message,
    call: acp.ToolCallUpdate,
    action: RequestedAction,
    root: str,
    suggestion: PermissionRule | None,
) -> BrokeredRequest:
    asked = acp.RequestPermissionRequest(session_id=root, tool_call=call, options=[_ALLOW, _DENY])
    question = request_from_agent(message, asked, action, root, suggestion)
    return msgspec.structs.replace(question, params=Raw(msgspec.json.encode(asked)), is_client_request=True)


def decision_notification(question: BrokeredRequest, decision: PolicyDecision) -> PermissionDecided:
    """The notification of a decision for a client that knows Portico. A client request has no options."""
    parts = codecs.decode_json(question.params, wire.RequestParts)
    choices = question.choices
    chosen = choices.allow_once if decision.outcome == "allowed" else choices.reject
    return PermissionDecided(
        session_id=question.session_id,
        tool_call=parts.tool_call,
        options=Raw(b"[]") if question.is_client_request else parts.options,
        outcome=decision.outcome,
        option_id=None if question.is_client_request else chosen,
        rule=decision.rule,
        source=decision.source,
    )
