"""Who answers what no rule has answered: the person at the terminal, else nobody.

Rules are the business of the permission broker in the chain; only what it leaves open comes here.
"""

import sys
from collections.abc import Awaitable, Callable

from portico.domain.events import PermissionRequested
from portico.sessions.permissions import Decision

Ask = Callable[[PermissionRequested], Awaitable[Decision | None]]

NOBODY = Decision(option_id=None, by="nobody")
NO_ANSWER = Decision(option_id=None, by="person")


class Answerer:
    """Fails closed: what nobody can be asked about is denied."""

    def __init__(self, ask: Ask | None) -> None:
        self._ask = ask

    async def __call__(self, request: PermissionRequested) -> Decision:
        if self._ask is None:
            return NOBODY
        return await self._ask(request) or NO_ANSWER


def person_is_there() -> bool:
    """Whether a person sees what is asked and can type an answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()
