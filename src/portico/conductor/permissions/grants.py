"""Rules that a person granted for a session or permanently, and one-time grants that are still unused."""

import logging
from typing import Literal

import msgspec

from portico.conductor.permissions.action import RequestedAction
from portico.conductor.permissions.approvals import Approvals
from portico.conductor.permissions.policy import PermissionRule, find_covering_rule, parse_rule
from portico.conductor.session_folders import SessionFolders
from portico.domain.errors import InvalidInput, PorticoError

_MOST = 64


class OneTimeGrants:
    def __init__(self) -> None:
        self._unused: dict[str, list[RequestedAction]] = {}

    def add(self, session_id: str, action: RequestedAction) -> None:
        unused = self._unused.setdefault(session_id, [])
        unused.append(action)
        del unused[:-_MOST]

    def use(self, session_id: str, action: RequestedAction) -> bool:
        """Whether this was granted. The grant is used up."""
        unused = self._unused.get(session_id, [])
        found = next((grant for grant in unused if _includes(grant, action)), None)
        if found is not None:
            unused.remove(found)
        return found is not None

    def forget(self, session_id: str) -> None:
        self._unused.pop(session_id, None)


def _includes(grant: RequestedAction, action: RequestedAction) -> bool:
    same_commands = {one.text for one in grant.commands} == {one.text for one in action.commands}
    return same_commands and set(grant.paths).issuperset(action.paths)


log = logging.getLogger(__name__)


class SessionGrants:
    """Rules that were granted for Portico's own sessions, in memory, for all chains of a process.

    A session outlives its chains: one that is idle releases its agent, and an agent that crashed gets a new chain.
    """

    def __init__(self) -> None:
        self._rules: dict[tuple[str, str], list[PermissionRule]] = {}

    def rules(self, session: str, folder: str) -> list[PermissionRule]:
        """The rules of a session while it works in this folder, to read and to add to."""
        return self._rules.setdefault((session, folder), [])


class PermissionGrants:
    """The grants that one chain goes by. Rules for a session of an ACP editor end with it or with the chain."""

    def __init__(self, approvals: Approvals, session_grants: SessionGrants) -> None:
        self._approvals = approvals
        self._session_grants = session_grants
        self._for_session: dict[str, list[PermissionRule]] = {}

    def session_opened(self, session_id: str, folders: SessionFolders) -> None:
        """Go by the rules that were granted for Portico's session, which the agent has opened as `session_id`."""
        if folders.session:
            self._for_session[session_id] = self._session_grants.rules(folders.session, folders.cwd)

    def find_covering_rule(self, session_id: str, action: RequestedAction) -> str | None:
        """The text of a rule that a person approved and that covers the action."""
        rule = find_covering_rule(self._for_session.get(session_id, ()), action)
        if rule is not None:
            return rule.unscoped
        approval = self._approvals.use(action)
        return None if approval is None else approval.rule

    def remember(
        self,
        session_id: str,
        action: RequestedAction,
        rule: PermissionRule,
        scope: Literal["session", "always"],
    ) -> PermissionRule | None:
        """Keep a rule for the action's agent; None if it does not cover the action, and then nothing is kept."""
        if not rule.covers(action):
            log.warning("an answer was taken for once, because %r does not cover it", rule.text)
            return None
        kept = msgspec.structs.replace(rule, agent=action.agent)
        if scope == "always":
            try:
                approved = msgspec.structs.replace(kept, agent=action.approved_as or action.agent)
                self._approvals.add(approved, workspace=action.workspace)
            except PorticoError as error:
                log.warning("an approval holds for this session only: %s", error.message)
            else:
                # Kept there only, so that revoking it takes effect here too.
                return kept
        rules = self._for_session.setdefault(session_id, [])
        if kept not in rules:
            rules.append(kept)
        return kept

    def forget(self, session_id: str) -> None:
        self._for_session.pop(session_id, None)


def rule_to_keep(text: str | None, suggestion: PermissionRule) -> PermissionRule | None:
    """The rule that a client asked to keep, or the suggested one; None if its text is not a valid rule."""
    if text is None:
        return suggestion
    try:
        return parse_rule(text)
    except InvalidInput:
        log.warning("an answer was taken for once, because %r is not a permission rule", text)
        return None
