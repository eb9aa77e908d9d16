"""Questions of the agent that wait for a person's answer.

An answer has to fit what was asked before it goes anywhere. A question that nobody answers is
declined, and one whose turn is stopped is canceled: no answer is ever made up.
"""

import asyncio
from collections.abc import Mapping
from typing import Literal

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import QuestionAsked
from portico.domain.values import QuestionValue
from portico.sessions.requests.field_validation import check_answers


class QuestionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer: the values of the fields, or that there is none. Its secrets stay in memory."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, QuestionValue] = {}
    by: Literal["person", "nobody"] = "person"


DECLINED = QuestionAnswer(action="decline")
NOBODY_THERE = QuestionAnswer(action="decline", by="nobody")
CANCELED = QuestionAnswer(action="cancel", by="nobody")


def check_reply(question: QuestionAsked, reply: QuestionAnswer) -> QuestionAnswer:
    """The answer if it fits the question. InvalidInput, in words for the person, if it does not."""
    if reply.action != "accept":
        return QuestionAnswer(action=reply.action, by=reply.by)
    check_answers(question.fields, reply.content)
    return reply


class PendingQuestions:
    """Those of a session that has `asked` at most so many before: an answer to one of them settles none of these."""

    def __init__(self, asked: int) -> None:
        self._waiting: dict[str, tuple[QuestionAsked, asyncio.Future[QuestionAnswer]]] = {}
        self._pages: dict[str, QuestionAsked] = {}
        self._asked = asked

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def open(self) -> tuple[QuestionAsked, ...]:
        """The questions that nobody has answered yet, oldest first."""
        return tuple(question for question, answer in self._waiting.values() if not answer.done())

    @property
    def answered(self) -> bool:
        """Whether an answer was given that whoever asked has not taken yet."""
        return any(answer.done() for _, answer in self._waiting.values())

    def next_id(self) -> str:
        self._asked += 1
        return f"q{self._asked}"

    def ask(self, question: QuestionAsked) -> "asyncio.Future[QuestionAnswer]":
        answer: asyncio.Future[QuestionAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[question.request_id] = (question, answer)
        if question.elicitation_id is not None:
            self._pages[question.elicitation_id] = question
        return answer

    def forget(self, request_id: str) -> None:
        self._waiting.pop(request_id, None)

    def reply(self, request_id: str, reply: QuestionAnswer) -> None:
        """Answer a question. InvalidInput if it is not waiting, or if the answer does not fit it."""
        question, answer = self._waiting.get(request_id, (None, None))
        if question is None or answer is None or answer.done():
            raise InvalidInput(f"No question {request_id} is waiting for an answer.")
        answer.set_result(check_reply(question, reply))

    def completed(self, elicitation_id: str) -> QuestionAsked | None:
        """The agent says that a page has done its work: the question that it belongs to, if there is one.

        Whoever has been through the page need not say so here as well.
        """
        question = self._pages.pop(elicitation_id, None)
        if question is not None:
            _, answer = self._waiting.get(question.request_id, (None, None))
            if answer is not None and not answer.done():
                answer.set_result(QuestionAnswer(action="accept"))
        return question

    def cancel_all(self) -> None:
        """The turn is being stopped: every open question ends unanswered."""
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_result(CANCELED)
