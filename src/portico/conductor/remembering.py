"""What a person allowed beyond one time: for a session, in memory; for good, with the approvals."""

import logging
from typing import Literal

import msgspec

from portico.conductor.approvals import Approvals
from portico.conductor.deeds import Deed
from portico.conductor.policy import Rule, covering, parse_rule
from portico.domain.errors import InvalidInput, PorticoError

log = logging.getLogger(__name__)


class Remembered:
    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._for_session: dict[str, list[Rule]] = {}

    def covering(self, session_id: str, deed: Deed) -> str | None:
        """The rule that a person approved and that covers the deed, as it is written."""
        rule = covering(self._for_session.get(session_id, ()), deed)
        if rule is not None:
            return rule.unscoped
        approval = self._approvals.use(deed)
        return None if approval is None else approval.rule

    def remember(
        self, session_id: str, deed: Deed, rule: Rule, scope: Literal["session", "always"]
    ) -> Rule | None:
        """Keep a rule for the deed's agent; None, and nothing is kept, if it does not cover the deed."""
        if not rule.covers(deed):
            log.warning("an answer was taken for once, because %r does not cover it", rule.text)
            return None
        kept = msgspec.structs.replace(rule, agent=deed.agent)
        if scope == "always":
            try:
                approved = msgspec.structs.replace(kept, agent=deed.approved_as or deed.agent)
                self._approvals.add(approved, workspace=deed.workspace)
            except PorticoError as error:
                log.warning("an approval holds for this session only: %s", error.message)
            else:
                # Only there, so that taking it back takes it back here too.
                return kept
        rules = self._for_session.setdefault(session_id, [])
        if kept not in rules:
            rules.append(kept)
        return kept

    def forget(self, session_id: str) -> None:
        self._for_session.pop(session_id, None)


def wanted_rule(text: str | None, suggestion: Rule) -> Rule | None:
    """The rule that a client asked to keep, or the suggested one; None if what it asked for is no rule."""
    if text is None:
        return suggestion
    try:
        return parse_rule(text)
    except InvalidInput:
        log.warning("an answer was taken for once, because %r is not a permission rule", text)
        return None
