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
        """Reason for the denial."""
        if self.source == "read_only":
            return "This session is read-only: it writes no files and runs no commands."
        return f"denied by the rule {self.rule}"


class PolicyEvaluator:
    def __init__(self, policy: PermissionPolicy, remembered: PermissionGrants) -> None:
        self._policy = policy
        self._remembered = remembered

    def denial(self, action: RequestedAction, *, reads_only: bool) -> PolicyDecision | None:
        """The denial of an action, which nothing overrides; None if it is not denied."""
        if (rule := self._policy.denying_rule(action)) is not None:
            return PolicyDecision("denied", "deny_rule", rule.text)
        return PolicyDecision("denied", "read_only") if reads_only and action.acts else None

    def allowance(
        self, session_id: str, action: RequestedAction, *, reads_only: bool
    ) -> PolicyDecision | None:
        """The allowance of an action that is not denied; None leaves it to a person.

        In a session that only reads, a tool that may do anything is allowed by its name only.
        """
        if self.may_be_denied(action):
            return None
        needs_name = reads_only and action.kind == "other"
        approved = self._remembered.find_covering_rule(session_id, action)
        if approved is not None and (":" in approved or not needs_name):
            return PolicyDecision("allowed", "approval", approved)
        for rule in self._policy.allow:
            if rule.covers(action) and (rule.is_literal or not needs_name):
                return PolicyDecision("allowed", "allow_rule", rule.text)
        if self._policy.bypass and not needs_name and not action.is_protected:
            return PolicyDecision("allowed", "bypass")
        return None

    def needs_person(self, action: RequestedAction) -> bool:
        """Whether a person has to be asked about a client request, which asks for no permission itself."""
        return (action.is_protected and not action.stays_in_working_copy) or self.may_be_denied(action)

    def needs_no_question(self, action: RequestedAction) -> bool:
        """Whether a person need not be asked: the change is reviewed later, or a trusted tool only reads.

        Neither is recorded as a permission: the proposal or the tool call is the record.
        """
        if action.in_working_copy and action.changes_files:
            return True
        if not action.only_reads or action.acts or action.elsewhere or action.leads_out or action.too_large:
            return False
        names_secret = any(is_private(name.split("/")) for name in (*action.paths, *action.texts))
        return not names_secret and not self.may_be_denied(action)

    def may_be_denied(self, action: RequestedAction) -> bool:
        """Whether a deny rule may apply."""
        return self._policy.possibly_denying_rule(action) is not None
