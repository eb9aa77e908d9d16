"""The permission broker: decides what was decided beforehand, asks about the rest, remembers scopes.

The order is: denials, what a person approved for the session or for good, allowances, the agent's
bypass, a person. It fails closed. Whatever goes wrong on the way to a clear yes is a denial, and a
denial is one of the agent's own options that reject, or an error where it offers none.
"""

import asyncio
import logging
from typing import Literal

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.lenient import decode
from portico.conductor.approvals import Approvals
from portico.conductor.choices import Choices
from portico.conductor.deeds import Deed, deed_of
from portico.conductor.message import Message, failure, request
from portico.conductor.policy import Policy, Rule, covering, parse_rule
from portico.conductor.proxies import permission_wire as wire
from portico.conductor.session_proxy import SessionProxy
from portico.conductor.suggesting import suggested_rule
from portico.conductor.tool_calls import ToolCalls
from portico.domain.errors import InvalidInput, PorticoError
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    REQUEST_CANCELLED,
    ErrorObject,
    RequestId,
    RpcError,
)

log = logging.getLogger(__name__)

_ASK = "session/request_permission"
_NO_WAY_TO_REJECT = "permission denied; the request offered no option to reject"


class _Decision(msgspec.Struct, frozen=True):
    outcome: Literal["allowed", "denied"]
    option_id: str | None
    source: wire.Source
    rule: str | None = None


class _Question(msgspec.Struct, eq=False):
    """One request of the agent, from its arrival until the agent has its answer."""

    message: Message
    session_id: str
    choices: Choices
    deed: Deed
    suggestion: Rule | None
    withdrawn: bool = False


class PermissionBroker(SessionProxy):
    name = "permissions"
    client_methods = SessionProxy.client_methods | {"initialize"}
    agent_methods = frozenset({_ASK, "session/update", CANCEL_REQUEST})

    def __init__(self, *, agent: str, policy: Policy, approvals: Approvals) -> None:
        super().__init__()
        self._agent = agent
        self._policy = policy
        self._approvals = approvals
        self._client_knows_portico = False
        self._asked: dict[RequestId, _Question] = {}
        self._for_session: dict[str, list[Rule]] = {}
        self._calls: dict[str, ToolCalls] = {}
        self._parents: dict[str, str] = {}

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self._client_knows_portico = wire.knows_portico(message.params)
            self.place.spawn(self._deny_at_the_end(), "denying what is left open")
            self.place.send_right(message)
        else:
            super().from_client(message)

    def from_agent(self, message: Message) -> None:
        if message.method == "session/update":
            self._hear(message)
            self.place.send_left(message)
        elif message.method == CANCEL_REQUEST:
            self._withdraw(message)
        elif message.is_request:
            self._take(message)

    def session_ended(self, session_id: str) -> None:
        for shown_id, question in list(self._asked.items()):
            if self._family(question.session_id) == session_id:
                del self._asked[shown_id]
                self._deny(question)
                self.tell_client(CANCEL_REQUEST, {"requestId": shown_id})
        self._for_session.pop(session_id, None)
        self._calls = {known: calls for known, calls in self._calls.items() if self._family(known) != session_id}
        self._parents = {child: parent for child, parent in self._parents.items() if parent != session_id}

    def _take(self, message: Message) -> None:
        try:
            asked = decode(message.params, acp.RequestPermissionRequest)
        except msgspec.DecodeError as error:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, f"{_ASK}: {error}"))
            return
        session_id, choices = asked.session_id, Choices(asked.options)
        folders = self.folders.get(self._family(session_id))
        if folders is None:
            log.warning("%s asked for a permission in a session that is not open", self._agent)
            self._reject(message, choices)
            return
        call = self._calls[session_id].complete(asked.tool_call) if session_id in self._calls else asked.tool_call
        whole = msgspec.structs.replace(asked, tool_call=call)
        deed = deed_of(whole, agent=self._agent, workspace=folders.cwd)
        suggestion = suggested_rule(deed) if choices.allow_once is not None else None
        question = _Question(message, session_id, choices, deed, suggestion)
        decision = self._decide(question)
        if decision is None:
            self._ask(question)
        else:
            self._carry_out(question, decision)

    def _decide(self, question: _Question) -> _Decision | None:
        """What was decided beforehand; None leaves it to a person."""
        deed, once = question.deed, question.choices.allow_once
        if (denial := self._policy.denying(deed)) is not None:
            return _Decision("denied", question.choices.reject, "deny_rule", denial.text)
        if once is None:
            return None
        remembered = covering(self._for_session.get(self._family(question.session_id), ()), deed)
        if remembered is not None:
            return _Decision("allowed", once, "approval", remembered.unscoped)
        if (approval := self._approvals.use(deed)) is not None:
            return _Decision("allowed", once, "approval", approval.rule)
        if (allowance := self._policy.allowing(deed)) is not None:
            return _Decision("allowed", once, "allow_rule", allowance.text)
        return _Decision("allowed", once, "bypass") if self._policy.bypass else None

    def _carry_out(self, question: _Question, decision: _Decision) -> None:
        """Tell the client what was decided without it, then the agent."""
        if self._client_knows_portico:
            parts = msgspec.json.decode(question.message.params, type=wire.QuestionParts)
            told = wire.Decided(
                session_id=question.session_id,
                tool_call=parts.tool_call,
                options=parts.options,
                outcome=decision.outcome,
                option_id=decision.option_id,
                rule=decision.rule,
                source=decision.source,
            )
            self.tell_client(wire.DECIDED, told)
        if decision.option_id is None:
            self._deny(question)
        else:
            self._select(question.message, decision.option_id)

    def _ask(self, question: _Question) -> None:
        """Show the question under an id of our own, so that no second answer to it can reach the agent."""
        shown_id, params = self.place.next_id(), question.message.params
        if self._client_knows_portico:
            params = wire.with_scopes(params, question.suggestion)
        elif question.suggestion is not None and not _has_ours(question.choices):
            params = wire.with_options(params, question.suggestion)
        self._asked[shown_id] = question
        self.forward_left(request(shown_id, _ASK, params), lambda answer: self._answered(shown_id, answer))

    def _answered(self, shown_id: RequestId, answer: Message) -> None:
        question = self._asked.pop(shown_id, None)
        if question is None:
            return  # it was settled meanwhile
        if question.withdrawn and _is_cancelled(answer):
            self.refuse_agent(question.message, RpcError(REQUEST_CANCELLED, "the request was cancelled"))
            return
        read = wire.read_answer(answer)
        if read is None or not isinstance(answer.result, Raw):
            self._deny(question)
            return
        (response, for_how_long) = read
        outcome = response.outcome
        if isinstance(outcome, acp.CancelledPermissionOutcome):
            self.answer_agent(question.message, wire.without_scopes(answer.result))
            return
        scope, chosen = for_how_long.scope, outcome.option_id
        if chosen in (wire.FOR_SESSION, wire.FOR_GOOD) and chosen not in question.choices:
            self._take_ours(question, chosen)
        elif (meaning := question.choices.meaning(chosen)) is None:
            self._deny(question)
        else:
            self.answer_agent(question.message, wire.without_scopes(answer.result))
            if meaning == "allow" and scope != "once" and self._client_knows_portico:
                self._remember(question, scope, for_how_long.rule)

    def _take_ours(self, question: _Question, chosen: str) -> None:
        """One of the two options that the agent does not know of; it gets its own."""
        once = question.choices.allow_once
        if self._client_knows_portico or question.suggestion is None or once is None:
            self._deny(question)
            return
        self._select(question.message, once)
        self._remember(question, "always" if chosen == wire.FOR_GOOD else "session", None)

    def _remember(self, question: _Question, scope: wire.Scope, wanted: str | None) -> None:
        rule = question.suggestion
        if rule is None:
            return
        if wanted is not None:
            try:
                rule = parse_rule(wanted)
            except InvalidInput:
                log.warning("an answer was allowed once, because %r is not a permission rule", wanted)
                return
        if not rule.covers(question.deed):
            log.warning("an answer was allowed once, because %r does not cover it", rule.text)
            return
        rule = msgspec.structs.replace(rule, agent=self._agent)
        self._for_session.setdefault(self._family(question.session_id), []).append(rule)
        if scope == "always":
            try:
                self._approvals.add(rule, workspace=question.deed.workspace)
            except PorticoError as error:
                log.warning("an approval holds for this session only: %s", error.message)
        self._settle_what_is_covered(self._family(question.session_id), rule)

    def _settle_what_is_covered(self, session_id: str, rule: Rule) -> None:
        """Other questions of the session that the same answer answers are taken back from the client."""
        for shown_id, question in list(self._asked.items()):
            once = question.choices.allow_once
            if self._family(question.session_id) == session_id and once is not None and rule.covers(question.deed):
                del self._asked[shown_id]
                self._carry_out(question, _Decision("allowed", once, "approval", rule.unscoped))
                if not self._client_knows_portico:
                    self.tell_client(CANCEL_REQUEST, {"requestId": shown_id})

    def _withdraw(self, message: Message) -> None:
        """The agent takes a request back. The client knows it by our id, if it is one of ours."""
        try:
            wanted = msgspec.json.decode(message.params, type=_Cancel).request_id
        except msgspec.DecodeError:
            wanted = None
        for shown_id, question in self._asked.items():
            if question.message.id == wanted:
                question.withdrawn = True
                self.tell_client(CANCEL_REQUEST, {"requestId": shown_id})
                return
        self.place.send_left(message)
