"""Answers permission requests and questions that no rule has answered: asks the person, else denies.

Permission rules are applied by the permission broker in the chain; only what they leave open comes here.
"""

import sys
from typing import Protocol

from portico.domain.events import PermissionRequested, QuestionAsked
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import DECLINED_UNATTENDED, QuestionAnswer

DENIED_UNATTENDED = PermissionReply(option_id=None, by="nobody")
DENIED_UNANSWERED = PermissionReply(option_id=None, by="person")


class Person(Protocol):
    """The person at the terminal."""

    async def decide(self, request: PermissionRequested) -> PermissionReply | None:
        """Decide on a permission request; None without a decision."""
        ...

    async def reply(self, question: QuestionAsked) -> QuestionAnswer:
        """Answer a question of the agent."""
        ...


class Approver:
    """Fails closed: without a person, requests are denied and questions declined."""

    def __init__(self, person: Person | None) -> None:
        self._person = person

    async def decide(self, request: PermissionRequested) -> PermissionReply:
        if self._person is None:
            return DENIED_UNATTENDED
        return await self._person.decide(request) or DENIED_UNANSWERED

    async def reply(self, question: QuestionAsked) -> QuestionAnswer:
        return DECLINED_UNATTENDED if self._person is None else await self._person.reply(question)


def is_interactive() -> bool:
    """Whether a person can see a question and type an answer."""
    return sys.stdin.isatty() and sys.stderr.isatty()
