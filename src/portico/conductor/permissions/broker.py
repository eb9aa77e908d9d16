"""The permission broker: a proxy that decides permission requests by policy and asks the client about the
rest.

The first that applies decides: a deny rule, a read-only session, a grant for the session or a permanent one, an allow
rule, the agent's bypass, the later review of changes in a working copy, a trusted tool that only reads, and last a
person. If a deny rule might apply, the person is asked at once. The broker fails closed: any failure on the way to
a clear yes is a denial. A denial selects one of the agent's own reject options, or is an error if it offers none.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Any, Literal

import msgspec

from portico.acp import _schema as acp
from portico.acp.extensions import (
    FAULT,
    PERMISSION_DECIDED,
    PROPOSAL_UPDATED,
    SESSION_LEFT,
    Scope,
    SessionLeft,
    ToolCallMeta,
    fault_notification,
    from_meta,
)
from portico.acp.lenient_decoder import decode
from portico.conductor.permissions import wire_format as wire
from portico.conductor.permissions.action import RequestedAction, requested_action
from portico.conductor.permissions.approvals import Approvals
from portico.conductor.permissions.client_requests import (
    ACTION_METHODS,
    CLIENT_REQUEST_METHODS,
    READ_METHODS,
    read_client_request,
)
from portico.conductor.permissions.decisions import PolicyDecision, PolicyEvaluator
from portico.conductor.permissions.grants import OneTimeGrants, PermissionGrants, SessionGrants, rule_to_keep
from portico.conductor.permissions.policy import PermissionPolicy, PermissionRule
from portico.conductor.permissions.request import (
    BrokeredRequest,
    PermissionOptions,
    decision_notification,
    request_for_client_method,
    request_from_agent,
)
from portico.conductor.permissions.suggested_rule import suggested_rule
from portico.conductor.permissions.tool_calls import UPDATE_KINDS, ToolCallTracker
from portico.conductor.session_folders import SessionFolders, SessionFoldersProxy
from portico.domain import codecs
from portico.rpc.messages import (
    CANCEL_REQUEST,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    CancelParams,
    ErrorObject,
    Message,
    RequestId,
    RpcError,
    cancelled_request_id,
    make_fault,
    request,
)

log = logging.getLogger(__name__)

_ASK = "session/request_permission"
_STOP = "session/cancel"
_OURS = frozenset({PERMISSION_DECIDED, FAULT, PROPOSAL_UPDATED})


class PermissionBroker(SessionFoldersProxy):
    name = "permissions"
    client_methods = SessionFoldersProxy.client_methods | {"initialize", _STOP, SESSION_LEFT}
    agent_methods = frozenset({_ASK, "session/update", CANCEL_REQUEST}) | _OURS | ACTION_METHODS
    update_kinds = UPDATE_KINDS

    def __init__(
        self,
        *,
        agent: str,
        policy: PermissionPolicy,
        approvals: Approvals,
        session_grants: SessionGrants | None = None,
        approved_as: str | None = None,
        trusts_read_only: bool = False,
    ) -> None:
        """`trusts_read_only` if the agent is Porter, which marks tools of trusted servers that only read."""
        super().__init__()
        self._agent = agent
        self._trusts_read_only = trusts_read_only
        self._approved_as = approved_as or agent
        if policy.deny:
            self.agent_methods = PermissionBroker.agent_methods | READ_METHODS
        self._remembered = PermissionGrants(approvals, session_grants or SessionGrants())
        self._decisions = PolicyEvaluator(policy, self._remembered)
        self._grants = OneTimeGrants()
        self._tool_calls = ToolCallTracker()
        self._client_knows_portico = False
        self._asked: dict[RequestId, BrokeredRequest] = {}
        self._withdrawn: set[RequestId] = set()

    def from_client(self, message: Message) -> None:
        if message.method == "initialize":
            self._client_knows_portico = wire.knows_portico(message.params)
            self.node.spawn(self._deny_at_the_end(), "denying what is left open")
            if self._trusts_read_only:
                message = message.with_params(wire.with_capability(message.params, "broker"))
            self.node.send_right(message)
        elif message.method == SESSION_LEFT:
            self._leave(message)
        elif message.method == _STOP:
            self._stop(message)
        else:
            super().from_client(message)

    def from_agent(self, message: Message) -> None:
        if message.method == "session/update":
            self._tool_calls.record(message, self.folders)
            self.node.send_left(message)
        elif message.method == CANCEL_REQUEST:
            self._withdraw(message)
        elif message.method in _OURS:
            self._pass_over(message)
        elif message.method in CLIENT_REQUEST_METHODS:
            self._handle_client_request(message)
        elif message.is_request:
            self._take(message)

    def session_opened(self, session_id: str) -> None:
        self._remembered.session_opened(session_id, self.folders[session_id])

    def session_ended(self, session_id: str) -> None:
        for shown_id, question in list(self._asked.items()):
            if question.root == session_id:
                self._deny(self._asked.pop(shown_id))
                self.tell_client(CANCEL_REQUEST, CancelParams(shown_id))
        self._remembered.forget(session_id)
        self._grants.forget(session_id)
        self._tool_calls.forget(session_id)

    def _leave(self, message: Message) -> None:
        """Forget a session that the client has left: nothing is decided in its name any more."""
        with suppress(msgspec.DecodeError):
            session_id = codecs.decode_json(message.params, SessionLeft).session_id
            if self.folders.pop(session_id, None) is not None:
                self.session_ended(session_id)

    def _stop(self, message: Message) -> None:
        """Cancel the open permission requests of a turn that is stopped."""
        self.node.send_right(message)
        with suppress(msgspec.DecodeError):
            session_id = codecs.decode_json(message.params, acp.CancelNotification).session_id
            for shown_id, question in list(self._asked.items()):
                if question.root == session_id:
                    del self._asked[shown_id]
                    outcome = acp.CancelledPermissionOutcome()
                    self._answer(question, acp.RequestPermissionResponse(outcome=outcome))

    def _pass_over(self, message: Message) -> None:
        """Refuse a message that only Portico may send, so that an agent cannot forge a decision."""
        detail = f"{message.method} may be sent by Portico only, not by {self._agent}"
        log.warning("passed over: %s", detail)
        self.refuse_agent(message, RpcError(METHOD_NOT_FOUND, detail))
        if self._client_knows_portico:
            self.tell_client(
                FAULT, fault_notification(make_fault("bad_params", detail, bytes(message.params)))
            )

    def _handle_client_request(self, message: Message) -> None:
        """Pass a request on to the client unless it is denied; ask a person first if it is protected or in doubt."""
        requested = read_client_request(message, self.node.next_id())
        root = None if requested is None else self._session_of(requested.session_id)
        if requested is None and message.method in ACTION_METHODS and self.folders:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, f"{message.method}: invalid parameters"))
            return
        if requested is None or root is None:
            self.node.send_left(message)
            return
        reads_only = self.folders[root].reads_only
        action = self._action_of(requested.call, self.folders[root])
        denial = self._decisions.denial(action, reads_only=reads_only)
        if denial is None and (
            message.method in READ_METHODS
            or not self._decisions.needs_person(action)
            or (self._client_knows_portico and action.is_git_internal)  # It refuses that by itself.
            or self._grants.use(root, action)
            or self._decisions.allowance(root, action, reads_only=reads_only) is not None
        ):
            self.node.send_left(message)
            return
        question = request_for_client_method(message, requested.call, action, root, self._suggestion(action))
        if denial is None:
            self._show(question)
        else:
            self._carry_out(question, denial)

    def _session_of(self, session_id: str) -> str | None:
        """The open session that a client request belongs to; the strictest one if its session is not open."""
        root = self._tool_calls.root_of(session_id)
        if root in self.folders:
            return root
        return min(self.folders, key=lambda one: not self.folders[one].reads_only, default=None)

    def _action_of(self, call: acp.ToolCallUpdate, folders: SessionFolders) -> RequestedAction:
        folder = None if folders.copy_of is None else folders.cwd
        action = requested_action(call, agent=self._agent, workspace=folders.workspace, folder=folder)
        only_reads = self._trusts_read_only and from_meta(call.meta, ToolCallMeta).read_only
        return msgspec.structs.replace(action, approved_as=self._approved_as, only_reads=only_reads)

    def _suggestion(self, action: RequestedAction) -> PermissionRule | None:
        """The rule to offer; None if a deny rule might apply, because no allow rule would help then."""
        return None if self._decisions.may_be_denied(action) else suggested_rule(action)

    def _take(self, message: Message) -> None:
        try:
            asked = decode(message.params, acp.RequestPermissionRequest)
        except msgspec.DecodeError as error:
            self.refuse_agent(message, RpcError(INVALID_PARAMS, f"{_ASK}: {error}"))
            return
        root = self._tool_calls.root_of(asked.session_id)
        if root not in self.folders:
            log.warning("%s asked for a permission in a session that is not open", self._agent)
            self._reject(message, PermissionOptions(asked.options))
            return
        call = self._tool_calls.complete(asked.session_id, asked.tool_call)
        action = self._action_of(call, self.folders[root])
        once = PermissionOptions(asked.options).allow_once
        suggestion = None if once is None else self._suggestion(action)
        question = request_from_agent(message, asked, action, root, suggestion)
        decision = self._decide(question)
        if decision is None and once is not None and self._decisions.needs_no_question(action):
            self._select(message, once)
        elif decision is None:
            self._show(question)
        else:
            self._carry_out(question, decision)

    def _decide(self, question: BrokeredRequest) -> PolicyDecision | None:
        """The decision of rules and approvals; None leaves it to a person."""
        action, reads_only = question.action, self.folders[question.root].reads_only
        if (denial := self._decisions.denial(action, reads_only=reads_only)) is not None:
            return denial
        if question.choices.allow_once is None or self._is_one_of_several(question):
            return None
        return self._decisions.allowance(question.root, action, reads_only=reads_only)

    def _is_one_of_several(self, question: BrokeredRequest) -> bool:
        """Whether a client that hears of decisions is being asked about the same tool call already.

        It knows what was decided by the tool call, and would take this for the answer to the other question.
        """
        return self._client_knows_portico and any(
            other is not question and (other.root, other.call_id) == (question.root, question.call_id)
            for other in self._asked.values()
        )

    def _carry_out(self, question: BrokeredRequest, decision: PolicyDecision) -> None:
        """Tell the client what was decided without it, then the agent."""
        if self._is_one_of_several(question):
            detail = f"{decision.reason}, while another question about its tool call is open"
            fault = make_fault("bad_params", detail, bytes(question.message.params))
            self.tell_client(FAULT, fault_notification(fault))
        elif self._client_knows_portico:
            self.tell_client(PERMISSION_DECIDED, decision_notification(question, decision))
        if decision.outcome == "allowed" and question.choices.allow_once is not None:
            self._allow(question, question.choices.allow_once)
        elif question.is_client_request:
            self.refuse_agent(question.message, RpcError(INVALID_PARAMS, decision.reason))
        else:
            self._deny(question)

    def _show(self, question: BrokeredRequest) -> None:
        """Ask the client under an id of our own, so that a second answer has no effect."""
        shown_id, params = self.node.next_id(), question.params
        if self._client_knows_portico:
            params = wire.with_scopes(params, question.suggestion, question.action)
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
                self._answer(question, read.for_agent)
        elif withdrawn and isinstance(answer.error, ErrorObject) and answer.error.code == REQUEST_CANCELLED:
            self.refuse_agent(question.message, RpcError(REQUEST_CANCELLED, "the request was cancelled"))
        else:
            self._deny(question)

    def _take_choice(self, question: BrokeredRequest, chosen: str, read: wire.PermissionAnswer) -> None:
        scope: Scope = "once"
        ours, once = wire.PORTICO_OPTIONS.get(chosen), question.choices.allow_once
        if (meaning := question.choices.meaning(chosen)) is not None:
            if meaning == "allow":
                self._grant(question)
            self._answer(question, read.for_agent, allows=meaning == "allow")
            if meaning == "allow" and self._client_knows_portico:
                scope = read.scope
        elif ours is not None and once is not None and self._shows_our_options(question):
            self._allow(question, once)
            scope = ours
        else:
            self._deny(question)
        if scope != "once" and question.suggestion is not None:
            rule = rule_to_keep(read.rule, question.suggestion)
            if rule is not None:
                self._remember(question, rule, scope)

    def _shows_our_options(self, question: BrokeredRequest) -> bool:
        """Whether to add Portico's options: not if the client knows scopes, nor if another broker added its own."""
        taken = any(option in question.choices for option in wire.PORTICO_OPTIONS)
        return not self._client_knows_portico and question.suggestion is not None and not taken

    def _remember(
        self, question: BrokeredRequest, rule: PermissionRule, scope: Literal["session", "always"]
    ) -> None:
        """Keep a rule, and withdraw the session's other open requests that it covers."""
        kept = self._remembered.remember(question.root, question.action, rule, scope)
        if kept is None:
            return
        for shown_id, other in list(self._asked.items()):
            once = other.choices.allow_once
            if other.root != question.root or self._is_one_of_several(other):
                continue
            if self._decisions.may_be_denied(other.action):
                continue
            if once is not None and kept.covers(other.action):
                del self._asked[shown_id]
                self._carry_out(other, PolicyDecision("allowed", "approval", kept.unscoped))
                if not self._client_knows_portico:
                    self.tell_client(CANCEL_REQUEST, CancelParams(shown_id))

    def _withdraw(self, message: Message) -> None:
        """Pass on that the agent cancels a request, under the id that the client knows it by."""
        taken_back = cancelled_request_id(message.params)
        for shown_id, question in self._asked.items():
            if question.message.id == taken_back:
                self._withdrawn.add(shown_id)
                self.tell_client(CANCEL_REQUEST, CancelParams(shown_id))
                return
        self.node.send_left(message)

    def _allow(self, question: BrokeredRequest, option_id: str) -> None:
        self._grant(question)
        outcome = acp.SelectedPermissionOutcome(option_id=option_id)
        self._answer(question, acp.RequestPermissionResponse(outcome=outcome), allows=True)

    def _grant(self, question: BrokeredRequest) -> None:
        """Remember that it was allowed, if the agent will send a client request that would be asked about again."""
        if not question.is_client_request and self._decisions.needs_person(question.action):
            self._grants.add(question.root, question.action)

    def _answer(self, question: BrokeredRequest, answer: Any, *, allows: bool = False) -> None:
        """Answer the agent. A client request that is allowed is passed on to the client, which answers it."""
        if not question.is_client_request:
            self.answer_agent(question.message, answer)
        elif allows:
            self.node.send_left(question.message)
        else:
            self.refuse_agent(question.message, RpcError(INVALID_PARAMS, "the person did not allow it"))

    def _deny(self, question: BrokeredRequest) -> None:
        if question.is_client_request:
            self._answer(question, None)
        else:
            self._reject(question.message, question.choices)

    def _reject(self, message: Message, choices: PermissionOptions) -> None:
        if choices.reject is not None:
            self._select(message, choices.reject)
        else:
            what = "permission denied; the request offered no option to reject"
            self.refuse_agent(message, RpcError(INTERNAL_ERROR, what))

    def _select(self, message: Message, option_id: str) -> None:
        outcome = acp.SelectedPermissionOutcome(option_id=option_id)
        self.answer_agent(message, acp.RequestPermissionResponse(outcome=outcome))

    async def _deny_at_the_end(self) -> None:
        """Deny what is still open when the chain ends: it cancels this task once a client or agent is gone."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            while self._asked:
                self._deny(self._asked.popitem()[1])
