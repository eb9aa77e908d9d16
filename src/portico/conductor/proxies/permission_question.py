"""A question that the permission broker has for a client: an agent's request for permission, or an errand of it."""

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.extensions import Decided
from portico.conductor.choices import Choices
from portico.conductor.decisions import Decision
from portico.conductor.deeds import Deed
from portico.conductor.message import Message
from portico.conductor.policy import Rule
from portico.conductor.proxies import permission_wire as wire
from portico.domain import codecs

_ALLOW = acp.PermissionOption(option_id="allow", name="Allow", kind="allow_once")
_DENY = acp.PermissionOption(option_id="deny", name="Deny", kind="reject_once")


class Question(msgspec.Struct, frozen=True, eq=False):
    """`root` is the session that the client opened; a child of it may be asking.

    An errand asks for no permission: the client is asked whether to do it.
    """

    message: Message
    params: Raw
    session_id: str
    root: str
    call_id: str
    choices: Choices
    deed: Deed
    suggestion: Rule | None = None
    is_errand: bool = False


def question_of(
    message: Message, asked: acp.RequestPermissionRequest, deed: Deed, root: str, suggestion: Rule | None
) -> Question:
    return Question(
        message=message,
        params=message.params,
        session_id=asked.session_id,
        root=root,
        call_id=asked.tool_call.tool_call_id,
        choices=Choices(asked.options),
        deed=deed,
        suggestion=suggestion,
    )


def errand_question(
    message: Message, call: acp.ToolCallUpdate, deed: Deed, root: str, suggestion: Rule | None
) -> Question:
    asked = acp.RequestPermissionRequest(session_id=root, tool_call=call, options=[_ALLOW, _DENY])
    question = question_of(message, asked, deed, root, suggestion)
    return msgspec.structs.replace(question, params=Raw(msgspec.json.encode(asked)), is_errand=True)


def decided(question: Question, decision: Decision) -> Decided:
    """What a client that knows Portico is told of a decision. An errand has no options."""
    parts = codecs.decode_json(question.params, wire.QuestionParts)
    choices = question.choices
    chosen = choices.allow_once if decision.outcome == "allowed" else choices.reject
    return Decided(
        session_id=question.session_id,
        tool_call=parts.tool_call,
        options=Raw(b"[]") if question.is_errand else parts.options,
        outcome=decision.outcome,
        option_id=None if question.is_errand else chosen,
        rule=decision.rule,
        source=decision.source,
    )
