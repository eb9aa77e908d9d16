"""Decides what was decided beforehand: by a read-only session, a rule, an approval, or the agent's bypass."""

from typing import Literal

import msgspec

from portico.acp.extensions import Source
from portico.conductor.deeds import Deed
from portico.conductor.policy import Policy
from portico.conductor.remembering import Remembered


class Decision(msgspec.Struct, frozen=True):
    outcome: Literal["allowed", "denied"]
    source: Source
    rule: str | None = None


class Decisions:
    def __init__(self, policy: Policy, remembered: Remembered) -> None:
        self._policy = policy
        self._remembered = remembered

    def denial(self, deed: Deed, *, reads_only: bool) -> Decision | None:
        """Why a request is denied whatever else holds; None if it is not."""
        if (rule := self._policy.denying(deed)) is not None:
            return Decision("denied", "deny_rule", rule.text)
        return Decision("denied", "read_only") if reads_only and deed.acts else None

    def allowance(self, session_id: str, deed: Deed, *, reads_only: bool) -> Decision | None:
        """What allows a request that is not denied; None leaves it to a person.

        In a session that only reads, a tool that may do anything is allowed by its name only.
        """
        if self.is_in_doubt(deed):
            return None
        needs_name = reads_only and deed.kind == "other"
        approved = self._remembered.covering(session_id, deed)
        if approved is not None and (":" in approved or not needs_name):
            return Decision("allowed", "approval", approved)
        for rule in self._policy.allow:
            if rule.covers(deed) and not (needs_name and rule.pattern is None):
                return Decision("allowed", "allow_rule", rule.text)
        if self._policy.bypass and not needs_name and not deed.is_protected:
            return Decision("allowed", "bypass")
        return None

    def is_for_person(self, deed: Deed) -> bool:
        """Whether a person has to be asked about what the agent has the client do without asking."""
        return (deed.is_protected and not deed.stays_in_folder) or self.is_in_doubt(deed)

    def is_in_doubt(self, deed: Deed) -> bool:
        """Whether a denial may be meant for it."""
        return self._policy.doubting(deed) is not None
