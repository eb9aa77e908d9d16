"""Session that the user's server has open, as `exec` and `chat` use it.

Requests go to the server; events are read from the log, which both share. If the server ends in the middle of a
turn, the log is recovered as by any host that starts, and the turn ends here like any other.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress

from portico.client.client_session import ClientTurn
from portico.client.discovery import NoServer, RunningServer, UnprovenServer, find_server
from portico.client.remote_turn import ObservedTurn, RemoteTurn, server_lost
from portico.client.server_calls import ServerAddress, ServerCalls
from portico.client.session import Session
from portico.config.paths import state_folder
from portico.config.server_files import ServerFiles
from portico.domain.components import ComponentStatus
from portico.domain.errors import PorticoError, ServerLost, SessionBusy, SessionNotFound
from portico.domain.events import AnyPayload, Event, PromptSubmitted, SessionStarted
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.domain.values import TodoItem
from portico.processes.tasks import cancel_and_wait
from portico.sessions.agent.login import AgentLogin
from portico.sessions.leases import session_holder
from portico.sessions.log.watch import LOOK_SECONDS, PAGE, PAGE_BYTES
from portico.sessions.ports import Ports
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.service import SessionService
from portico.sessions.turn import TurnPrompt

_RECONNECT_SECONDS = 1.0


async def join_session(
    service: SessionService,
    ports: Ports,
    summary: SessionSummary,
    environ: Mapping[str, str],
    *,
    only_own_turns: bool,
) -> "RemoteSession":
    """The session on the server that has it open. SessionBusy if another process has it.

    With `only_own_turns`, turns of other clients are not shown.
    """
    files = ServerFiles(state_folder(environ))
    match await asyncio.to_thread(find_server, files):
        case RunningServer():
            served = Session(ServerCalls(lambda: _find_address(files)), summary)
            if not await served.is_open_elsewhere():
                return RemoteSession(service, ports, served, only_own_turns=only_own_turns)
        case UnprovenServer():
            raise SessionBusy.open_elsewhere(
                summary.session_id, suggestion="The server is starting or stopping. Try again in a moment."
            )
        case NoServer():
            pass
    raise SessionBusy.open_elsewhere(
        summary.session_id,
        suggestion="Close it there, wait for that with --wait, or start a new session. A session that your server has open "
        "(portico serve) can be used from several places at once.",
    )


class RemoteSession:
    """Implements `ClientSession` with a session of the server and the shared log."""

    def __init__(
        self, service: SessionService, ports: Ports, served: Session, *, only_own_turns: bool
    ) -> None:
        self.served = served
        self.only_own_turns = only_own_turns
        self.wakeup = asyncio.Event()
        """Set when the log may have new events."""
        self._service = service
        self._ports = ports
        self._attendance: asyncio.Task[None] | None = None
        self._stops: set[asyncio.Task[None]] = set()

    @property
    def session_id(self) -> SessionId:
        return self.served.id

    async def connect(self) -> None:
        """Watch the session on the server, which starts the agent."""
        if self._attendance is None:
            self._attendance = asyncio.create_task(self._attend(), name=f"attending {self.session_id}")

    def begin(self, prompt: TurnPrompt, *, wait: bool) -> ClientTurn:
        return RemoteTurn(self, prompt, wait=wait)

    def follow(self) -> ClientTurn:
        return ObservedTurn(self)

    async def watch(self, *, after_seq: int) -> AsyncGenerator[Event]:
        store = self._ports.store
        while True:
            self.wakeup.clear()
            page = await store.read(self.session_id, after_seq=after_seq, limit=PAGE, max_bytes=PAGE_BYTES)
            for event in page:
                yield event
                after_seq = event.seq
            if page:
                continue
            summary = await store.summary(self.session_id)
            if summary is None:
                return
            if summary.state.active and await session_holder(store, self.session_id) is None:
                await self._service.recover()
                continue
            await self._pause(LOOK_SECONDS)

    async def decide(self, request_id: str, decision: PermissionReply) -> None:
        if decision.by == "person":  # without a person here, another client may still have one
            with suppress(ServerLost):  # the log says how the turn ended
                await self.served.decide(request_id, decision.option_id, scope=decision.scope)

    async def answer(self, request_id: str, answer: QuestionAnswer) -> None:
        if answer.by == "person":
            with suppress(ServerLost):
                await self.served.answer(request_id, answer.content, action=answer.action)

    async def stop_tool(self, tool_id: str) -> None:
        with suppress(ServerLost):
            await self.served.stop_tool(tool_id)

    async def set_option(self, name: str, value: str | bool) -> None:
        await self.served.set_option(name, value)

    async def write_todos(self, todos: Sequence[TodoItem]) -> None:
        await self.served.write_todos(todos)

    async def components(self) -> Sequence[ComponentStatus]:
        return await self.served.components()

    async def switch_component(self, name: str, *, on: bool) -> None:
        await self.served.switch_components(**{"on" if on else "off": [name]})

    async def login(self) -> AgentLogin | None:
        """None: the agent can ask only the process that started it."""
        return None

    async def close(self) -> None:
        await cancel_and_wait(*self._stops, *filter(None, [self._attendance]))

    def stop(self, *, force: bool) -> None:
        """Stop the running turn. A server that has ended has stopped it already."""

        async def stop() -> None:
            try:
                await self.served.stop(force=force)
            except PorticoError:
                self.wakeup.set()

        task = asyncio.create_task(stop(), name=f"stopping the turn of {self.session_id}")
        self._stops.add(task)
        task.add_done_callback(self._stops.discard)

    async def summary(self) -> SessionSummary:
        return await self._service.show(self.session_id)

    async def joining_seq(self) -> int:
        """The seq after which a new client sees everything: before the prompt of a running turn."""
        summary = await self.summary()
        if not summary.state.active:
            return summary.last_seq
        return (await self._latest(PromptSubmitted)).seq - 1

    async def introduction(self) -> Event:
        """The latest `session_started`."""
        return await self._latest(SessionStarted)

    async def find_prompt(self, text: str, *, after_seq: int) -> Event | None:
        """The prompt with this text, if it is in the log."""
        events = await self._ports.store.read(self.session_id, after_seq=after_seq, limit=PAGE)
        return next(
            (one for one in events if isinstance(one.payload, PromptSubmitted) and one.payload.text == text),
            None,
        )

    async def _attend(self) -> None:
        while True:
            with suppress(PorticoError):
                last_seq = (await self.summary()).last_seq
                async with aclosing(self.served.watch(after_seq=last_seq)) as events:
                    async for _ in events:
                        self.wakeup.set()
            await self._ports.clock.sleep(_RECONNECT_SECONDS)

    async def _latest(self, kind: type[AnyPayload]) -> Event:
        before: int | None = None
        while page := await self._ports.store.tail(self.session_id, before_seq=before, limit=PAGE):
            for event in reversed(page):
                if isinstance(event.payload, kind):
                    return event
            before = page[0].seq
        raise SessionNotFound(f"Session {self.session_id} was deleted.")

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self.wakeup.wait()
        except TimeoutError:
            return


async def _find_address(files: ServerFiles) -> ServerAddress:
    found = await asyncio.to_thread(find_server, files)
    if not isinstance(found, RunningServer):
        raise server_lost()
    return ServerAddress(url=found.record.url, token=found.token)
