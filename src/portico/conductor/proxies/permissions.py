"""The permission broker: decides what was decided beforehand, asks about the rest, remembers scopes.

The order is: denials, what a person approved for the session or for good, allowances, the agent's
bypass, the review that changes in a tree of the session's own are yet to meet, a person. It fails closed. Whatever
goes wrong on the way to a clear yes is a denial, and a denial is one of the agent's own options that reject, or
an error where it offers none.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Literal

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.acp.extensions import (
    DECIDED,
    FAULT,
    LEFT,
    PROPOSED,
    Decided,
    Left,
    Scope,
    Source,
    fault_notification,
)
from portico.acp.lenient import decode
from portico.conductor.approvals import Approvals
from portico.conductor.choices import Choices
from portico.conductor.deeds import Deed, deed_of
from portico.conductor.errands import ERRANDS, errand_of
from portico.conductor.message import Message, request
from portico.conductor.policy import Policy, Rule
from portico.conductor.proxies import permission_wire as wire
from portico.conductor.remembering import Remembered, wanted_rule
from portico.conductor.session_proxy import Folders, SessionProxy
from portico.conductor.suggesting import suggested_rule
from portico.conductor.tool_calls import ToldCalls
from portico.domain import codecs
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    ErrorObject,
    RequestId,
    RpcError,
    fault_of,
)

log = logging.getLogger(__name__)

_ASK = "session/request_permission"
_STOP = "session/cancel"
_OURS = frozenset({DECIDED, FAULT, PROPOSED})
_CHANGES = frozenset({"edit", "delete", "move"})


class _Decision(msgspec.Struct, frozen=True):
    outcome: Literal["allowed", "denied"]
    option_id: str | None
    source: Source
    rule: str | None = None


class _Question(msgspec.Struct, frozen=True, eq=False):
    """A request of the agent. `root` is the session that the client opened; a child of it may be asking."""

    message: Message
    session_id: str
    root: str
    call_id: str
    choices: Choices
    deed: Deed
    suggestion: Rule | None


class PermissionBroker(SessionProxy):
    name = "permissions"
    client_methods = SessionProxy.client_methods | {"initialize", _STOP, LEFT}
    agent_methods = frozenset({_ASK, "session/update", CANCEL_REQUEST}) | _OURS

    def __init__(
        self, *, agent: str, policy: Policy, approvals: Approvals, approved_as: str | None = None
    ) -> None:
        super().__init__()
        self._agent = agent
        self._approved_as = approved_as or agent
        self._policy = policy
        if policy.deny:
            self.agent_methods = PermissionBroker.agent_methods | ERRANDS
        self._remembered = Remembered(approvals)
        self._told = ToldCalls()
        self._client_knows_portico = False
        self._asked: dict[RequestId, _Question] = {}
        self._withdrawn: set[RequestId] = set()

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self._client_knows_portico = wire.knows_portico(message.params)
            self.place.spawn(self._deny_at_the_end(), "denying what is left open")
            self.place.send_right(message)
        elif message.method == LEFT:
            self._leave(message)
        elif message.method == _STOP:
            self._stop(message)
        else:
            super().from_client(message)

    def from_agent(self, message: Message) -> None:
        if message.method == "session/update":
            self._told.hear(message, self.folders)
            self.place.send_left(message)
        elif message.method == CANCEL_REQUEST:
            self._withdraw(message)
        elif message.method in _OURS:
            self._pass_over(message)
        elif message.method in ERRANDS:
            self._pass_on(message)
        elif message.is_request:
            self._take(message)

    def session_ended(self, session_id: str) -> None:
        for shown_id, question in list(self._asked.items()):
            if question.root == session_id:
                self._deny(self._asked.pop(shown_id))
                self.tell_client(CANCEL_REQUEST, wire.Cancel(shown_id))
        self._remembered.forget(session_id)
        self._told.forget(session_id)

    def _leave(self, message: Message) -> None:
        """The client has left a session: from now on nothing is decided in its name."""
        session_id = codecs.decode_json(message.params, Left).session_id
        if self.folders.pop(session_id, None) is not None:
            self.session_ended(session_id)

    def _stop(self, message: Message) -> None:
        """A turn is stopped, and so is what is asked in it: no agent waits for a yes, and none comes after that."""
        self.place.send_right(message)
        with suppress(msgspec.DecodeError):
            session_id = codecs.decode_json(message.params, acp.CancelNotification).session_id
            for shown_id, question in list(self._asked.items()):
                if question.root == session_id:
                    del self._asked[shown_id]
                    outcome = acp.CancelledPermissionOutcome()
                    self.answer_agent(question.message, acp.RequestPermissionResponse(outcome=outcome))

    def _pass_over(self, message: Message) -> None:
        """An agent speaks in Portico's own name: a decision that nobody made must not look like one."""
        detail = f"{message.method} is for Portico to say, not for {self._agent}"
        log.warning("passed over: %s", detail)
        self.refuse_agent(message, RpcError(METHOD_NOT_FOUND, detail))
        if self._client_knows_portico:
            self.tell_client(FAULT, fault_notification(fault_of("bad_params", detail, bytes(message.params))))

    def _pass_on(self, message: Message) -> None:
        """Let the client do what nothing denies. The agent may have asked for leave or not: a denial holds anyway."""
        errand = errand_of(message, self.place.next_id())
        root = None if errand is None else self._told.root_of(errand.session_id)
        if errand is None or root not in self.folders:
            self.place.send_left(message)
            return
        denial = self._policy.denying(self._deed(errand.call, self.folders[root]))
        if denial is None:
            self.place.send_left(message)
            return
        if self._client_knows_portico:
            told = Decided(
                session_id=errand.session_id,
                tool_call=Raw(msgspec.json.encode(errand.call)),
                options=Raw(b"[]"),
                outcome="denied",
                option_id=None,
                rule=denial.text,
                source="deny_rule",
            )
            self.tell_client(DECIDED, told)
        self.refuse_agent(message, RpcError(INVALID_PARAMS, f"denied by the rule {denial.text}"))

    def _deed(self, call: acp.ToolCallUpdate, folders: Folders) -> Deed:
        folder = None if folders.stands_for is None else folders.cwd
        deed = deed_of(call, agent=self._agent, workspace=folders.workspace, folder=folder)
        return msgspec.structs.replace(deed, approved_as=self._approved_as)

    def _take(self, message: Message) -> None:
        try:
            asked = decode(message.params, acp.RequestPermissionRequest)
        except msgspec.DecodeError as error:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, f"{_ASK}: {error}"))
            return
        root, choices = self._told.root_of(asked.session_id), Choices(asked.options)
        if root not in self.folders:
            log.warning("%s asked for a permission in a session that is not open", self._agent)
            self._reject(message, choices)
            return
        call = self._told.complete(asked.session_id, asked.tool_call)
        deed = self._deed(call, self.folders[root])
        suggestion = None if choices.allow_once is None else suggested_rule(deed)
        question = _Question(message, asked.session_id, root, call.tool_call_id, choices, deed, suggestion)
        decision = self._decide(question)
        if decision is None and choices.allow_once is not None and _is_reviewed(deed):
            self._select(message, choices.allow_once)
        elif decision is None:
            self._show(question)
        else:
            self._carry_out(question, decision)

    def _decide(self, question: _Question) -> _Decision | None:
        """What was decided beforehand; None leaves it to a person."""
        deed, once = question.deed, question.choices.allow_once
        if (denial := self._policy.denying(deed)) is not None:
            return _Decision("denied", question.choices.reject, "deny_rule", denial.text)
        if once is None or self._is_one_of_several(question):
            return None
        if (approved := self._remembered.covering(question.root, deed)) is not None:
            return _Decision("allowed", once, "approval", approved)
        if (allowance := self._policy.allowing(deed)) is not None:
            return _Decision("allowed", once, "allow_rule", allowance.text)
        return _Decision("allowed", once, "bypass") if self._policy.bypass else None

    def _is_one_of_several(self, question: _Question) -> bool:
        """Whether a client that hears of decisions is being asked about the same tool call already.

        It knows what was decided by the tool call, and would take this for the answer to the other question.
        """
        return self._client_knows_portico and any(
            other is not question and (other.root, other.call_id) == (question.root, question.call_id)
            for other in self._asked.values()
        )

    def _carry_out(self, question: _Question, decision: _Decision) -> None:
        """Tell the client what was decided without it, then the agent."""
        if self._is_one_of_several(question):
            detail = f"denied by the rule {decision.rule}, while another question about its tool call is open"
            fault = fault_of("bad_params", detail, bytes(question.message.params))
            self.tell_client(FAULT, fault_notification(fault))
        elif self._client_knows_portico:
            self._tell_decided(question, decision)
        if decision.outcome == "allowed" and decision.option_id is not None:
            self._select(question.message, decision.option_id)
        else:
            self._deny(question)

    def _tell_decided(self, question: _Question, decision: _Decision) -> None:
        parts = codecs.decode_json(question.message.params, wire.QuestionParts)
        told = Decided(
            session_id=question.session_id,
            tool_call=parts.tool_call,
            options=parts.options,
            outcome=decision.outcome,
            option_id=decision.option_id,
            rule=decision.rule,
            source=decision.source,
        )
        self.tell_client(DECIDED, told)

    def _show(self, question: _Question) -> None:
        """Show the question under an id of our own, so that no second answer to it means anything."""
        shown_id, params = self.place.next_id(), question.message.params
        if self._client_knows_portico:
            params = wire.with_scopes(params, question.suggestion)
        elif question.suggestion is not None and self._shows_our_options(question):
            params = wire.with_options(params, question.suggestion)
        self._asked[shown_id] = question
        self.forward_left(request(shown_id, _ASK, params), lambda answer: self._answered(shown_id, answer))

    def _answered(self, shown_id: RequestId, answer: Message) -> None:
        withdrawn = shown_id in self._withdrawn
        self._withdrawn.discard(shown_id)
        question = self._asked.pop(shown_id, None)
        if question is None:
            return  # settled meanwhile: the agent has its answer
        read = wire.read_answer(answer)
        if read is not None:
            if isinstance(read.outcome, acp.SelectedPermissionOutcome):
                self._take_choice(question, read.outcome.option_id, read)
            else:
                self.answer_agent(question.message, read.for_agent)
        elif withdrawn and isinstance(answer.error, ErrorObject) and answer.error.code == REQUEST_CANCELLED:
            self.refuse_agent(question.message, RpcError(REQUEST_CANCELLED, "the request was cancelled"))
        else:
            self._deny(question)

    def _take_choice(self, question: _Question, chosen: str, read: wire.Answer) -> None:
        scope: Scope = "once"
        ours, once = wire.OUR_OPTIONS.get(chosen), question.choices.allow_once
        if (meaning := question.choices.meaning(chosen)) is not None:
            self.answer_agent(question.message, read.for_agent)
            if meaning == "allow" and self._client_knows_portico:
                scope = read.scope
        elif ours is not None and once is not None and self._shows_our_options(question):
            self._select(question.message, once)
            scope = ours
        else:
            self._deny(question)
        if scope != "once" and question.suggestion is not None:
            rule = wanted_rule(read.rule, question.suggestion)
            if rule is not None:
                self._remember(question, rule, scope)

    def _shows_our_options(self, question: _Question) -> bool:
        """Not where the client has a better way, nor where another broker nearer to the agent shows its own."""
        taken = any(option in question.choices for option in wire.OUR_OPTIONS)
        return not self._client_knows_portico and question.suggestion is not None and not taken

    def _remember(self, question: _Question, rule: Rule, scope: Literal["session", "always"]) -> None:
        """Keep a rule. Other questions of the session that it answers are taken back from the client."""
        kept = self._remembered.remember(question.root, question.deed, rule, scope)
        if kept is None:
            return
        for shown_id, other in list(self._asked.items()):
            once = other.choices.allow_once
            if other.root != question.root or self._is_one_of_several(other):
                continue
            if once is not None and kept.covers(other.deed):
                del self._asked[shown_id]
                self._carry_out(other, _Decision("allowed", once, "approval", kept.unscoped))
                if not self._client_knows_portico:
                    self.tell_client(CANCEL_REQUEST, wire.Cancel(shown_id))

    def _withdraw(self, message: Message) -> None:
        """The agent takes a request back; a question of ours is known to the client by another id."""
        taken_back = wire.cancelled_id(message.params)
        for shown_id, question in self._asked.items():
            if question.message.id == taken_back:
                self._withdrawn.add(shown_id)
                self.tell_client(CANCEL_REQUEST, wire.Cancel(shown_id))
                return
        self.place.send_left(message)

    def _deny(self, question: _Question) -> None:
        self._reject(question.message, question.choices)

    def _reject(self, message: Message, choices: Choices) -> None:
        if choices.reject is not None:
            self._select(message, choices.reject)
        else:
            what = "permission denied; the request offered no option to reject"
            self.refuse_agent(message, RpcError(INTERNAL_ERROR, what))

    def _select(self, message: Message, option_id: str) -> None:
        outcome = acp.SelectedPermissionOutcome(option_id=option_id)
        self.answer_agent(message, acp.RequestPermissionResponse(outcome=outcome))

    async def _deny_at_the_end(self) -> None:
        """Belongs to the chain, which cancels it when an end is gone: nobody can answer any more."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            while self._asked:
                self._deny(self._asked.popitem()[1])


def _is_reviewed(deed: Deed) -> bool:
    """Whether the person will look at a change before it reaches a file, and so need not be asked about making it.

    It leaves no trace as a permission: the trace is the proposal.
    """
    return deed.in_own_folder and deed.kind in _CHANGES
