"""Session that is open in this process, as `exec` and `chat` use it."""

from collections.abc import AsyncGenerator, Sequence

from portico.client.client_session import ClientTurn, until_turn_ends
from portico.domain.components import ComponentStatus, SessionComponents
from portico.domain.events import Event
from portico.domain.values import TodoItem
from portico.sessions.agent.login import AgentLogin
from portico.sessions.open_session import OpenSession
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.service import SessionService
from portico.sessions.turn import TurnPrompt


class LocalSession:
    """A session that is open in this process."""

    def __init__(self, service: SessionService, session: OpenSession) -> None:
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

    async def decide(self, request_id: str, decision: PermissionReply) -> None:
        self._session.decide(request_id, decision)

    async def answer(self, request_id: str, answer: QuestionAnswer) -> None:
        self._session.answer(request_id, answer)

    async def stop_tool(self, tool_id: str) -> None:
        self._session.stop_tool(tool_id)

    async def set_option(self, name: str, value: str | bool) -> None:
        await self._session.set_option(name, value)

    async def write_todos(self, todos: Sequence[TodoItem]) -> None:
        await self._session.write_todos(todos)

    async def components(self) -> Sequence[ComponentStatus]:
        return await self._service.components(self._session.id)

    async def switch_component(self, name: str, *, on: bool) -> None:
        await self._session.switch_components(SessionComponents().switched(on, name))

    async def login(self) -> AgentLogin | None:
        return await self._session.login()

    async def close(self) -> None:
        """Nothing to do: the host closes its sessions."""


class _LocalTurn:
    """A turn that runs in this process; without a prompt, one that is already running."""

    def __init__(
        self, service: SessionService, session: OpenSession, prompt: TurnPrompt | None, *, wait: bool
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
