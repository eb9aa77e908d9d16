"""Questions of the agent that wait for a person's answer.

An answer is checked against the fields of its question. Without a person the question is declined, and with its
turn it is canceled: no answer is ever made up.
"""

import asyncio
from collections.abc import Mapping
from typing import Literal

import msgspec

from portico.domain.errors import InvalidInput
from portico.domain.events import QuestionAsked
from portico.domain.values import QuestionValue
from portico.sessions.requests.field_validation import check_answers
from portico.sessions.requests.pending_answers import PendingAnswers


class QuestionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Values of the fields, or a refusal. Secrets among them stay in memory."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, QuestionValue] = {}
    by: Literal["person", "nobody"] = "person"
    person: str = ""


DECLINED = QuestionAnswer(action="decline")
DECLINED_UNATTENDED = QuestionAnswer(action="decline", by="nobody")
CANCELED = QuestionAnswer(action="cancel", by="nobody")


def check_answer(question: QuestionAsked, answer: QuestionAnswer) -> QuestionAnswer:
    """The answer, if it fits the question. InvalidInput if it does not."""
    if answer.action != "accept":
        return QuestionAnswer(action=answer.action, by=answer.by)
    check_answers(question.fields, answer.content)
    return answer


class PendingQuestions(PendingAnswers[QuestionAsked, QuestionAnswer]):
    def __init__(self, asked: int) -> None:
        super().__init__("q", asked)
        self._pages: dict[str, QuestionAsked] = {}

    def add(self, question: QuestionAsked) -> "asyncio.Future[QuestionAnswer]":
        if question.elicitation_id is not None:
            self._pages[question.elicitation_id] = question
        return super().add(question)

    def answer(self, request_id: str, answer: QuestionAnswer) -> None:
        """Answer a question. InvalidInput if it is not open, or if the answer does not fit it."""
        found = self.find(request_id)
        if found is None:
            raise InvalidInput(f"No question {request_id} is waiting for an answer.")
        question, future = found
        future.set_result(check_answer(question, answer))

    def complete_page(self, elicitation_id: str) -> QuestionAsked | None:
        """Accept the question whose web page the agent reports as completed; None if there is none."""
        question = self._pages.pop(elicitation_id, None)
        if question is not None and (found := self.find(question.request_id)) is not None:
            found[1].set_result(QuestionAnswer(action="accept"))
        return question

    def cancel_all(self) -> None:
        """Cancel every open question, because the turn is being stopped."""
        for _, answer in self._waiting.values():
            if not answer.done():
                answer.set_result(CANCELED)
