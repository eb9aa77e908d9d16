"""Turn of a session that the user's server has open: one sent by this process, or one of another client.

What happens in a turn is in the log. Here is how one of ours begins, and how either kind is stopped.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from portico.client.session import until_turn_ends
from portico.domain.errors import PorticoError, ServerLost, SessionBusy
from portico.domain.events import Event
from portico.sessions.turn import TurnPrompt

if TYPE_CHECKING:
    from portico.server.remote_session import RemoteSession

_TRY_AGAIN_SECONDS = 0.25


class ObservedTurn:
    """A turn that another door has begun: seen here, and stopped by a person only."""

    is_ours = False

    def __init__(self, conversation: "RemoteSession") -> None:
        self._conversation = conversation

    async def run(self) -> None:
        """It runs."""

    def events(self, *, after_seq: int) -> AsyncGenerator[Event]:
        return until_turn_ends(self._conversation.watch(after_seq=after_seq))

    def stop(self, *, force: bool = False) -> None:
        self._conversation.stop(force=force)


class RemoteTurn:
    """A turn that the server runs for us."""

    is_ours = True

    def __init__(self, conversation: "RemoteSession", prompt: TurnPrompt, *, wait: bool) -> None:
        self._conversation = conversation
        self._prompt = prompt
        self._wait = wait
        self._began: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        while True:
            try:
                await self._send()
                return
            except SessionBusy as busy:
                if not self._wait or await self._stopped_within(_TRY_AGAIN_SECONDS):
                    raise await self._with_ways(busy) from busy

    async def events(self, *, after_seq: int) -> AsyncGenerator[Event]:
        conversation = self._conversation
        began = await asyncio.shield(self._began)
        if conversation.only_own_turns:
            yield await conversation.introduction()
            after_seq = began - 1
        events = until_turn_ends(conversation.watch(after_seq=after_seq), beyond=began)
        async with aclosing(events):
            async for event in events:
                yield event

    def stop(self, *, force: bool = False) -> None:
        self._stopping.set()
        if self._began.done():
            self._conversation.stop(force=force)

    async def _send(self) -> None:
        conversation, alarm = self._conversation, None
        before = await conversation.summary()
        if before.state.active and self._prompt.options:
            # Refused here, so that no option is set in the middle of the turn of others.
            raise SessionBusy(f"Session {before.session_id} is in the middle of a turn.")

        def heard(seq: int) -> None:
            nonlocal alarm
            conversation.wakeup.set()
            if not self._began.done():
                self._began.set_result(seq)
                if self._stopping.is_set():
                    self.stop()
                elif self._prompt.timeout is not None:
                    alarm = asyncio.get_running_loop().call_later(self._prompt.timeout, self.stop)

        try:
            await conversation.calls.invoke(conversation.session, self._prompt, heard)
            if not self._began.done():
                raise server_lost()
        except PorticoError as error:
            if not self._began.done():
                await self._look_for_prompt(before.last_seq, error, heard)
            elif not isinstance(error, ServerLost):
                # All else that happens to a turn that has begun is in the log: this is that the log fails.
                raise
        finally:
            if alarm is not None:
                alarm.cancel()

    async def _look_for_prompt(self, before: int, error: PorticoError, heard: Callable[[int], None]) -> None:
        """A server that is lost may have taken the prompt with its last breath."""
        if isinstance(error, ServerLost):
            prompt = await self._conversation.sent(self._prompt.text, after_seq=before)
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

    async def _with_ways(self, busy: SessionBusy) -> SessionBusy:
        """What the server says of a turn of this very session is for all doors; a command has more ways on."""
        if not (await self._conversation.summary()).state.active:
            return busy
        session_id = self._conversation.session_id
        return SessionBusy(
            busy.message,
            suggestion="Wait for it with --wait, stop it (it is seen with: portico chat --session "
            f"{session_id}), or go on beside it with: portico sessions fork {session_id}",
        )


def server_lost() -> ServerLost:
    return ServerLost(
        "Your server, which had the session open, has ended.",
        suggestion="Try again to go on here, or start it again with: portico serve",
    )
