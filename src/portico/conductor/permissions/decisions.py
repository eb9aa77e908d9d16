"""Decisions that need no person: read-only sessions, rules, approvals and the agent's bypass."""

from typing import Literal

import msgspec

from portico.acp.extensions import DecisionSource
from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.grants import PermissionGrants
from portico.conductor.permissions.policy import PermissionPolicy
from portico.domain.secret_files import is_private


class PolicyDecision(msgspec.Struct, frozen=True):
    outcome: Literal["allowed", "denied"]
    source: DecisionSource
    rule: str | None = None

    @property
    def reason(self) -> str:
        """Why it was denied."""
        if self.source == "read_only":
            return "This session only reads; nothing is written and nothing is run in it."
        return f"denied by the rule {self.rule}"


class PolicyEvaluator:
    def __init__(self, policy: PermissionPolicy, remembered: PermissionGrants) -> None:
        self._policy = policy
        self._remembered = remembered

    def denial(self, deed: RequestedAction, *, reads_only: bool) -> PolicyDecision | None:
        """Why a request is denied whatever else holds; None if it is not."""
        if (rule := self._policy.denying_rule(deed)) is not None:
            return PolicyDecision("denied", "deny_rule", rule.text)
        return PolicyDecision("denied", "read_only") if reads_only and deed.acts else None

    def allowance(self, session_id: str, deed: RequestedAction, *, reads_only: bool) -> PolicyDecision | None:
        """What allows a request that is not denied; None leaves it to a person.

        In a session that only reads, a tool that may do anything is allowed by its name only.
        """
        if self.may_be_denied(deed):
            return None
        needs_name = reads_only and deed.kind == "other"
        approved = self._remembered.find_covering_rule(session_id, deed)
        if approved is not None and (":" in approved or not needs_name):
            return PolicyDecision("allowed", "approval", approved)
        for rule in self._policy.allow:
            if rule.covers(deed) and (rule.is_literal or not needs_name):
                return PolicyDecision("allowed", "allow_rule", rule.text)
        if self._policy.bypass and not needs_name and not deed.is_protected:
            return PolicyDecision("allowed", "bypass")
        return None

    def needs_person(self, deed: RequestedAction) -> bool:
        """Whether a person has to be asked about what the agent has the client do without asking."""
        return (deed.is_protected and not deed.stays_in_working_copy) or self.may_be_denied(deed)

    def needs_no_question(self, deed: RequestedAction) -> bool:
        """Whether a person need not be asked: the change is reviewed later, or a trusted tool only reads.

        Neither leaves a trace as a permission: the proposal or the tool call is the trace.
        """
        if deed.in_working_copy and deed.changes_files:
            return True
        if not deed.only_reads or deed.acts or deed.elsewhere or deed.leads_out or deed.too_large:
            return False
        names_secret = any(is_private(name.split("/")) for name in (*deed.paths, *deed.texts))
        return not names_secret and not self.may_be_denied(deed)

    def may_be_denied(self, deed: RequestedAction) -> bool:
        """Whether a denial may be meant for it."""
        return self._policy.possibly_denying_rule(deed) is not None
