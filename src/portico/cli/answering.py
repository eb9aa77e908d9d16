"""Who answers what no rule has answered: the person at the terminal, else nobody.

Rules are the business of the permission broker in the chain; only what it leaves open comes here.
"""

import sys
from typing import Protocol

from portico.domain.events import PermissionRequested, QuestionAsked
from portico.sessions.permissions import Decision
from portico.sessions.questions import NOBODY_THERE, Reply

NOBODY = Decision(option_id=None, by="nobody")
NO_ANSWER = Decision(option_id=None, by="person")


class Person(Protocol):
    """Somebody who can be asked."""

    async def decide(self, request: PermissionRequested) -> Decision | None:
        """Whether the agent may; None when they would not say."""
        ...

    async def reply(self, question: QuestionAsked) -> Reply:
        """What the agent wants to know."""
        ...


class Answerer:
    """Fails closed: what nobody can be asked about is denied, or declined."""

    def __init__(self, person: Person | None) -> None:
        self._person = person

    async def decide(self, request: PermissionRequested) -> Decision:
        if self._person is None:
            return NOBODY
        return await self._person.decide(request) or NO_ANSWER

    async def reply(self, question: QuestionAsked) -> Reply:
        return NOBODY_THERE if self._person is None else await self._person.reply(question)


def person_is_there() -> bool:
    """Whether a person sees what is asked and can type an answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()
