"""Session that the user's server has open: requests go to the server, events are read from the shared log.

The log is shared, so events are read from it, whoever writes them. The server is asked to prove
itself each time before anything is said to it. When it is gone in the middle of a turn, the log
is told so, as by any host that starts; the turn then ends here like every other.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress

from portico.app.host import Host
from portico.client.session import ClientTurn
from portico.config.paths import state_folder
from portico.domain.errors import PorticoError, ServerLost, SessionBusy, SessionNotFound
from portico.domain.events import AnyPayload, Event, PromptSubmitted, SessionStarted
from portico.domain.ids import SessionId
from portico.domain.session_summary import SessionSummary
from portico.doors.api.client import ServerAddress, ServerCalls
from portico.processes.tasks import cancel_and_wait
from portico.server.discovery import NoServer, RunningServer, ServerState, UnprovenServer, find_server
from portico.server.remote_turn import ObservedTurn, RemoteTurn, server_lost
from portico.server.state_files import ServerFiles
from portico.sessions.agent.login import AgentLogin
from portico.sessions.leases import session_holder
from portico.sessions.log.watch import LOOK_SECONDS, PAGE, PAGE_BYTES
from portico.sessions.requests.permissions import PermissionReply
from portico.sessions.requests.questions import QuestionAnswer
from portico.sessions.turn import TurnPrompt

_COME_BACK_SECONDS = 1.0


async def join_session(
    host: Host, session: SessionSummary, environ: Mapping[str, str], *, only_own_turns: bool
) -> "RemoteSession":
    """The session in the server that has it open. SessionBusy, with a way on, if that is another program.

    With `only_own_turns`, what others do in between is not shown.
    """
    files = ServerFiles(state_folder(environ))
    match await asyncio.to_thread(find_server, files):
        case RunningServer():
            calls = ServerCalls(lambda: _address(files))
            if not await calls.is_elsewhere(session.session_id):
                return RemoteSession(host, session, calls, only_own_turns=only_own_turns)
        case UnprovenServer():
            raise _busy(
                session.session_id, "Your server is just starting or stopping: try again in a moment."
            )
        case NoServer():
            pass
    raise _busy(
        session.session_id,
        "Close it there, wait for that with --wait, or start a new session. A session that your server has open "
        "(portico serve) can be used from several places at once.",
    )


class RemoteSession:
    def __init__(
        self, host: Host, session: SessionSummary, calls: ServerCalls, *, only_own_turns: bool
    ) -> None:
        self.session = session
        self.calls = calls
        self.only_own_turns = only_own_turns
        self.wakeup = asyncio.Event()
        """Set by whoever knows that there is something new in the log."""
        self._host = host
        self._attending: asyncio.Task[None] | None = None
        self._saying: set[asyncio.Task[None]] = set()

    @property
    def session_id(self) -> SessionId:
        return self.session.session_id

    async def connect(self) -> None:
        """Be known to the server as one who is there; it starts the agent, or has done so."""
        if self._attending is None:
            self._attending = asyncio.create_task(self._attend(), name=f"attending {self.session_id}")

    def begin(self, prompt: TurnPrompt, *, wait: bool) -> ClientTurn:
        return RemoteTurn(self, prompt, wait=wait)

    def follow(self) -> ClientTurn:
        return ObservedTurn(self)

    async def watch(self, *, after_seq: int) -> AsyncGenerator[Event]:
        store = self._host.store
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
            if summary.state.active and session_holder(store, self.session_id) is None:
                await self._host.service.recover()
                continue
            await self._pause(LOOK_SECONDS)

    async def answer(self, request_id: str, decision: PermissionReply) -> None:
        if decision.by == "person":  # when nobody is here, there may be somebody at another door
            with suppress(ServerLost):  # the log says what became of the turn
                await self.calls.answer(self.session_id, request_id, decision)

    async def reply(self, request_id: str, reply: QuestionAnswer) -> None:
        if reply.by == "person":
            with suppress(ServerLost):
                await self.calls.reply(self.session_id, request_id, reply)

    async def set_option(self, name: str, value: str | bool) -> None:
        await self.calls.set_option(self.session_id, name, value)

    async def signing(self) -> AgentLogin | None:
        """The agent asks whoever signs in, and it can ask the server only."""
        return None

    async def close(self) -> None:
        await cancel_and_wait(*self._saying, *filter(None, [self._attending]))

    def stop(self, *, force: bool) -> None:
        """Have the turn that is under way stopped. A server that is gone has stopped it."""

        async def stop() -> None:
            try:
                await self.calls.stop_turn(self.session_id, force=force)
            except PorticoError:
                self.wakeup.set()

        task = asyncio.create_task(stop(), name=f"stopping the turn of {self.session_id}")
        self._saying.add(task)
        task.add_done_callback(self._saying.discard)

    async def summary(self) -> SessionSummary:
        return await self._host.service.show(self.session_id)

    async def entry(self) -> int:
        """The seq after which somebody who comes now should see everything: a turn under way is seen whole."""
        summary = await self.summary()
        if not summary.state.active:
            return summary.last_seq
        return (await self._latest(PromptSubmitted)).seq - 1

    async def introduction(self) -> Event:
        """The event that says which session this is, and with whom."""
        return await self._latest(SessionStarted)

    async def sent(self, text: str, *, after_seq: int) -> Event | None:
        """The prompt with this text, if it is in the log."""
        events = await self._host.store.read(self.session_id, after_seq=after_seq, limit=PAGE)
        return next(
            (one for one in events if isinstance(one.payload, PromptSubmitted) and one.payload.text == text),
            None,
        )

    async def _attend(self) -> None:
        while True:
            with suppress(PorticoError):
                last_seq = (await self.summary()).last_seq
                await self.calls.watch(self.session_id, last_seq, self.wakeup.set)
            await self._host.clock.sleep(_COME_BACK_SECONDS)

    async def _latest(self, kind: type[AnyPayload]) -> Event:
        before: int | None = None
        while page := await self._host.store.tail(self.session_id, before_seq=before, limit=PAGE):
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


async def _address(files: ServerFiles) -> ServerAddress:
    found: ServerState = await asyncio.to_thread(find_server, files)
    if not isinstance(found, RunningServer):
        raise server_lost()
    return ServerAddress(url=found.record.url, token=found.token)


def _busy(session_id: SessionId, suggestion: str) -> SessionBusy:
    return SessionBusy(f"Session {session_id} is open in another Portico process.", suggestion=suggestion)
