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

        A session that only reads lets nothing wide allow a tool that may do anything.
        """
        if self.is_in_doubt(deed):
            return None
        narrowly = deed.is_protected or (reads_only and deed.kind == "other")
        rule = self._remembered.covering(session_id, deed)
        if rule is not None:
            return Decision("allowed", "approval", rule)
        for allowed in self._policy.allow:
            if allowed.covers(deed) and not (narrowly and allowed.pattern is None):
                return Decision("allowed", "allow_rule", allowed.text)
        return Decision("allowed", "bypass") if self._policy.bypass and not narrowly else None

    def is_for_person(self, deed: Deed) -> bool:
        """Whether a person has to be asked about what the agent has the client do without asking."""
        return (deed.is_protected and not deed.in_own_folder) or self.is_in_doubt(deed)

    def is_in_doubt(self, deed: Deed) -> bool:
        """Whether a denial may be meant for it."""
        return self._policy.doubting(deed) is not None
