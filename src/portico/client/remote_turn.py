"""Turn of a session that the user's server has open: sent by this process, or by another client."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from portico.client.client_session import until_turn_ends
from portico.domain.errors import PorticoError, ServerLost, SessionBusy
from portico.domain.events import Event
from portico.sessions.turn import TurnPrompt

if TYPE_CHECKING:
    from portico.client.remote_session import RemoteSession

_TRY_AGAIN_SECONDS = 0.25


class ObservedTurn:
    """A turn of another client, which only a person may stop."""

    is_ours = False

    def __init__(self, session: "RemoteSession") -> None:
        self._session = session

    async def run(self) -> None:
        """Nothing to do: it is running."""

    def events(self, *, after_seq: int) -> AsyncGenerator[Event]:
        return until_turn_ends(self._session.watch(after_seq=after_seq))

    def stop(self, *, force: bool = False) -> None:
        self._session.stop(force=force)


class RemoteTurn:
    """A turn that the server runs for this process."""

    is_ours = True

    def __init__(self, session: "RemoteSession", prompt: TurnPrompt, *, wait: bool) -> None:
        self._session = session
        self._prompt = prompt
        self._wait = wait
        self._started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        while True:
            try:
                await self._send()
                return
            except SessionBusy as busy:
                if not self._wait or await self._stopped_within(_TRY_AGAIN_SECONDS):
                    raise await self._with_suggestion(busy) from busy

    async def events(self, *, after_seq: int) -> AsyncGenerator[Event]:
        session = self._session
        started = await asyncio.shield(self._started)
        if session.only_own_turns:
            yield await session.introduction()
            after_seq = started - 1
        events = until_turn_ends(session.watch(after_seq=after_seq), beyond=started)
        async with aclosing(events):
            async for event in events:
                yield event

    def stop(self, *, force: bool = False) -> None:
        self._stopping.set()
        if self._started.done():
            self._session.stop(force=force)

    async def _send(self) -> None:
        session, timer = self._session, None
        before = await session.summary()
        if before.state.active and self._prompt.options:
            # Refused here, so that no option is set in the middle of another turn.
            raise SessionBusy.in_turn(before.session_id)

        def heard(seq: int) -> None:
            nonlocal timer
            session.wakeup.set()
            if not self._started.done():
                self._started.set_result(seq)
                if self._stopping.is_set():
                    self.stop()
                elif self._prompt.timeout is not None:
                    timer = asyncio.get_running_loop().call_later(self._prompt.timeout, self.stop)

        try:
            async with aclosing(session.served.prompt(self._prompt)) as events:
                async for event in events:
                    heard(event.seq)
            if not self._started.done():
                raise server_lost()
        except PorticoError as error:
            if not self._started.done():
                await self._look_for_prompt(before.last_seq, error, heard)
            elif not isinstance(error, ServerLost):
                # Everything else about a turn that has started is in the log: the log itself has failed.
                raise
        finally:
            if timer is not None:
                timer.cancel()

    async def _look_for_prompt(self, before: int, error: PorticoError, heard: Callable[[int], None]) -> None:
        """Look for the prompt in the log, where a server that has ended may have put it."""
        if isinstance(error, ServerLost):
            prompt = await self._session.find_prompt(self._prompt.text, after_seq=before)
            if prompt is not None:
                heard(prompt.seq)
                return
        raise error

    async def _stopped_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._stopping.wait()
        except TimeoutError:
            return False

    async def _with_suggestion(self, busy: SessionBusy) -> SessionBusy:
        """The error with what a command can do about it, if this very session has a turn running."""
        if not (await self._session.summary()).state.active:
            return busy
        session_id = self._session.session_id
        return SessionBusy(
            busy.message,
            suggestion="Wait for it with --wait, stop it in portico chat --session "
            f"{session_id}, or continue a copy: portico sessions fork {session_id}",
        )


def server_lost() -> ServerLost:
    return ServerLost(
        "The server that had the session open has stopped.",
        suggestion="Try again to continue here, or restart it with: portico serve",
    )
