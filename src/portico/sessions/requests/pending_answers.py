"""Requests of one kind that wait for the person's answer, by request id."""

import asyncio
from typing import Generic, Protocol, TypeVar


class Request(Protocol):
    """A request of an agent to the person."""

    @property
    def request_id(self) -> str: ...


RequestT = TypeVar("RequestT", bound=Request)
AnswerT = TypeVar("AnswerT")


class PendingAnswers(Generic[RequestT, AnswerT]):
    """Ids start after `asked`, so that an answer to a request of an earlier process settles none of these."""

    def __init__(self, prefix: str, asked: int) -> None:
        self._prefix = prefix
        self._asked = asked
        self._waiting: dict[str, tuple[RequestT, asyncio.Future[AnswerT]]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def open(self) -> tuple[RequestT, ...]:
        """The unanswered requests, oldest first."""
        return tuple(request for request, answer in self._waiting.values() if not answer.done())

    @property
    def has_answers(self) -> bool:
        """Whether an answer was given that has not reached the agent yet."""
        return any(answer.done() for _, answer in self._waiting.values())

    def next_id(self) -> str:
        self._asked += 1
        return f"{self._prefix}{self._asked}"

    def add(self, request: RequestT) -> "asyncio.Future[AnswerT]":
        """Wait for an answer to this request."""
        answer: asyncio.Future[AnswerT] = asyncio.get_running_loop().create_future()
        self._waiting[request.request_id] = (request, answer)
        return answer

    def remove(self, request_id: str) -> None:
        self._waiting.pop(request_id, None)

    def find(self, request_id: str) -> "tuple[RequestT, asyncio.Future[AnswerT]] | None":
        """An unanswered request, and the future of its answer."""
        request, answer = self._waiting.get(request_id, (None, None))
        return None if request is None or answer is None or answer.done() else (request, answer)
