"""Rules that a person granted for a session or for good, and one-time grants that are still unused."""

import logging
from typing import Literal

import msgspec

from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.approvals import Approvals
from portico.conductor.permissions.policy import PermissionRule, find_covering_rule, parse_rule
from portico.domain.errors import InvalidInput, PorticoError

_MOST = 64


class OneTimeGrants:
    def __init__(self) -> None:
        self._unused: dict[str, list[RequestedAction]] = {}

    def add(self, session_id: str, deed: RequestedAction) -> None:
        unused = self._unused.setdefault(session_id, [])
        unused.append(deed)
        del unused[:-_MOST]

    def use(self, session_id: str, deed: RequestedAction) -> bool:
        """Whether this was granted; the grant is used up then."""
        unused = self._unused.get(session_id, [])
        found = next((grant for grant in unused if _includes(grant, deed)), None)
        if found is not None:
            unused.remove(found)
        return found is not None

    def forget(self, session_id: str) -> None:
        self._unused.pop(session_id, None)


def _includes(grant: RequestedAction, deed: RequestedAction) -> bool:
    same_commands = {one.text for one in grant.commands} == {one.text for one in deed.commands}
    return same_commands and set(grant.paths).issuperset(deed.paths)


log = logging.getLogger(__name__)


class PermissionGrants:
    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._for_session: dict[str, list[PermissionRule]] = {}

    def find_covering_rule(self, session_id: str, deed: RequestedAction) -> str | None:
        """The rule that a person approved and that covers the deed, as it is written."""
        rule = find_covering_rule(self._for_session.get(session_id, ()), deed)
        if rule is not None:
            return rule.unscoped
        approval = self._approvals.use(deed)
        return None if approval is None else approval.rule

    def remember(
        self,
        session_id: str,
        deed: RequestedAction,
        rule: PermissionRule,
        scope: Literal["session", "always"],
    ) -> PermissionRule | None:
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


def rule_to_keep(text: str | None, suggestion: PermissionRule) -> PermissionRule | None:
    """The rule that a client asked to keep, or the suggested one; None if what it asked for is no rule."""
    if text is None:
        return suggestion
    try:
        return parse_rule(text)
    except InvalidInput:
        log.warning("an answer was taken for once, because %r is not a permission rule", text)
        return None
