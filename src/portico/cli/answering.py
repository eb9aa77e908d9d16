"""Who answers a permission request of a command: the rules, else the person at the terminal, else nobody."""

import sys
from collections.abc import Awaitable, Callable

from portico.domain.events import PermissionRequested
from portico.sessions.permissions import Decision
from portico.sessions.policy import Policy

Ask = Callable[[PermissionRequested], Awaitable[str | None]]

NOBODY = Decision(option_id=None, by="nobody")


class Answerer:
    """Fails closed: what no rule allows and nobody can be asked about is denied."""

    def __init__(self, policy: Policy, workspace: str, ask: Ask | None) -> None:
        self._policy = policy
        self._workspace = workspace
        self._ask = ask

    async def __call__(self, request: PermissionRequested) -> Decision:
        decision = self._policy.decide(request, self._workspace)
        if decision is not None:
            return decision
        if self._ask is None:
            return NOBODY
        return Decision(option_id=await self._ask(request), by="person")


def person_is_there() -> bool:
    """Whether a person sees what is asked and can type an answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()
