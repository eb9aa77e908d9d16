"""Session as a client uses it, wherever it is open, and the session that is open in this process.

What is here is for a session that this process has; `joining` is for the other.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol

from portico.domain.events import Event
from portico.sessions.agent.login import AgentLogin
from portico.sessions.log.watch import ends_turn
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.service import SessionService
from portico.sessions.session import Session
from portico.sessions.turn import TurnPrompt


class ClientTurn(Protocol):
    """A turn that a command follows to its end."""

    @property
    def is_ours(self) -> bool:
        """Whether this command began it; else it goes on without us."""
        ...

    async def run(self) -> None:
        """See to it that it is begun, and stay with it. Raises what kept it from beginning."""
        ...

    def events(self, *, after_seq: int) -> AsyncGenerator[Event]:
        """What there is to be shown after `after_seq`, up to the end of the turn."""
        ...

    def stop(self, *, force: bool = False) -> None:
        """Ask the agent to stop; with `force`, end it at once."""
        ...


class ClientSession(Protocol):
    async def connect(self) -> None:
        """Start the agent before the first prompt."""
        ...

    def begin(self, prompt: TurnPrompt, *, wait: bool) -> ClientTurn:
        """A turn of ours. `wait` waits while another one is in the way."""
        ...

    def follow(self) -> ClientTurn:
        """The turn that somebody else has begun."""
        ...

    def watch(self, *, after_seq: int) -> AsyncGenerator[Event]:
        """Every event after `after_seq`, each once, in order, until the session is gone."""
        ...

    async def answer(self, request_id: str, decision: PermissionReply) -> None:
        """Answer a permission request. InvalidInput if it does not wait any more."""
        ...

    async def reply(self, request_id: str, reply: QuestionAnswer) -> None:
        """Answer a question of the agent. InvalidInput if it does not wait any more, or the answer does not fit."""
        ...

    async def set_option(self, name: str, value: str | bool) -> None: ...

    async def signing(self) -> AgentLogin | None:
        """How to sign in to the agent, if that can be done from here."""
        ...

    async def close(self) -> None:
        """Leave it."""
        ...


class LocalSession:
    """A session that is open in this process."""

    def __init__(self, service: SessionService, session: Session) -> None:
        self._service = service
        self._session = session

    async def connect(self) -> None:
        await self._session.connect()

    def begin(self, prompt: TurnPrompt, *, wait: bool) -> ClientTurn:
        return _LocalTurn(self._service, self._session, prompt, wait=wait)

    def follow(self) -> ClientTurn:
        return _LocalTurn(self._service, self._session, None, wait=False)

    def watch(self, *, after_seq: int) -> AsyncGenerator[Event]:
        return self._service.watch(self._session.id, after_seq=after_seq)

    async def answer(self, request_id: str, decision: PermissionReply) -> None:
        self._session.decide(request_id, decision)

    async def reply(self, request_id: str, reply: QuestionAnswer) -> None:
        self._session.answer(request_id, reply)

    async def set_option(self, name: str, value: str | bool) -> None:
        await self._session.set_option(name, value)

    async def signing(self) -> AgentLogin | None:
        return await self._session.login()

    async def close(self) -> None:
        """The host closes what is open in it."""


class _LocalTurn:
    """A turn that runs in this process. Without a prompt it is one that runs already."""

    def __init__(
        self, service: SessionService, session: Session, prompt: TurnPrompt | None, *, wait: bool
    ) -> None:
        self._service = service
        self._session = session
        self._prompt = prompt
        self._wait = wait

    @property
    def is_ours(self) -> bool:
        return self._prompt is not None

    async def run(self) -> None:
        if self._prompt is not None:
            await self._session.prompt(self._prompt, wait_for_tree=self._wait)

    def events(self, *, after_seq: int) -> AsyncGenerator[Event]:
        return until_turn_ends(self._service.watch(self._session.id, after_seq=after_seq))

    def stop(self, *, force: bool = False) -> None:
        self._session.stop(force=force)


async def until_turn_ends(events: AsyncGenerator[Event], *, beyond: int = 0) -> AsyncGenerator[Event]:
    """Events up to the end of the turn that has the seq `beyond`, or of the first that ends."""
    async with aclosing(events):
        async for event in events:
            yield event
            if event.seq > beyond and ends_turn(event):
                return
