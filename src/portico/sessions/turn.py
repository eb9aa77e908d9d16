"""One turn, from the prompt to its end, raced against a stop, a timeout and a failing log.

However it ends, the log gets `turn_ended` and the next state in one commit, and the working tree is released.
"""

import asyncio
from contextlib import suppress

import msgspec
from msgspec import Raw

from portico.acp import _schema as acp
from portico.domain.content_blocks import readable_size
from portico.domain.errors import AgentCrashed, AgentTimedOut, InvalidInput, PorticoError
from portico.domain.events import AnyPayload, ErrorReported, PromptSubmitted, TurnEnded, UsageUpdated
from portico.domain.turns import TurnEvent, TurnState
from portico.domain.values import PromptReference
from portico.processes.tasks import cancel_and_wait, run_with_timeout
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.content.attachments import MAX_BYTES, fit_to_agent
from portico.sessions.internal_error import internal_error
from portico.sessions.runtime import SessionRuntime

_MAX_SENT = 30 * 1024 * 1024
"""Size of a prompt as JSON, which is sent in one line together with session data."""
_LONGEST_CHARACTER = 6


class TurnPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """Prompt of a turn: text, other content as ACP blocks, and options.

    `options` are set before the prompt is sent: `{"model": "big"}`, by id, category or name. `source` is the prompt
    file that the text was made from.
    """

    text: str
    blocks: tuple[Raw, ...] = ()
    options: dict[str, str | bool] = {}
    timeout: float | None = None
    prompt_id: str | None = None
    source: PromptReference | None = None

    def require_content(self) -> None:
        """InvalidInput if the prompt is empty or too large."""
        if not self.text.strip() and not self.blocks:
            raise InvalidInput("The prompt is empty.", suggestion="Describe the task, or try /help.")
        size = sum(len(bytes(block)) for block in self.blocks)
        if size + len(self.text) * _LONGEST_CHARACTER > _MAX_SENT:
            size += len(msgspec.json.encode(self.text))
        if size > _MAX_SENT:
            raise InvalidInput(
                f"The prompt and its attachments have {readable_size(size)}; the limit is {readable_size(_MAX_SENT)}.",
                suggestion="Save long content as a file in the workspace and mention it as @path, so that the agent can read "
                f"it. Files of up to {readable_size(MAX_BYTES)} can be attached.",
            )


class TurnEnding(msgspec.Struct, frozen=True):
    """The end of a turn and its reason."""

    event: TurnEvent
    stop_reason: str
    error: PorticoError | None = None


class Turn:
    """A turn that runs once. `stop` may be called at any time, also before the agent has started."""

    def __init__(self, session: SessionRuntime, prompt: TurnPrompt | None) -> None:
        self._session = session
        self._prompt = prompt
        self._stopping = asyncio.Event()
        self._forced = asyncio.Event()
        self._over = False

    def stop(self, *, force: bool = False) -> None:
        """Ask the agent to stop; with `force`, end it at once."""
        self._stopping.set()
        if force:
            self._forced.set()

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    @property
    def ending(self) -> bool:
        """Whether it is being stopped, or has only its end left to write."""
        return self.stopping or self._over

    async def run(self) -> TurnEnded:
        """Run the turn to its end. Raises StoreFailed if the log cannot be written."""
        session, clock = self._session, self._session.ports.clock
        before = session.status
        session.begin_turn()
        started = clock.monotonic()
        opening: list[AnyPayload] = []
        try:
            if self._prompt is None:
                opening = [session.move(TurnEvent.RESUME)]
            else:
                asked = PromptSubmitted(
                    text=self._prompt.text,
                    blocks=self._prompt.blocks,
                    prompt_id=self._prompt.prompt_id,
                    prompt=self._prompt.source,
                )
                opening = [asked, session.move(TurnEvent.PROMPT)]
            await session.journal.commit(*opening)
        except BaseException as error:
            if await asyncio.shield(session.journal.withdraw(opening)):
                session.status = before
                session.journal.turn_id = None
                raise
            if not isinstance(error, PorticoError):
                await asyncio.shield(self._abandon(started))
                raise
            session.journal.failed.clear()
        try:
            ending = await self._race()
        except asyncio.CancelledError:
            await asyncio.shield(self._abandon(started))
            raise
        return await self._finish(ending, started)

    async def _race(self) -> TurnEnding:
        session = self._session
        work = asyncio.create_task(self._work(), name=f"turn of {session.id}")
        stop = asyncio.create_task(self._stopping.wait(), name="waiting for a stop")
        broken = asyncio.create_task(session.journal.failed.wait(), name="waiting for a broken log")
        silent = asyncio.create_task(self._silence(), name="waiting for silence")
        late = asyncio.create_task(self._deadline(), name="waiting for the deadline")
        watchers = (stop, broken, silent, late)
        try:
            await asyncio.wait((work, *watchers), return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if stop.done():
                await self._wind_down(work)
                return TurnEnding(TurnEvent.USER_STOP, "cancelled")
            if broken.done():
                await self._wind_down(work)
                return TurnEnding(TurnEvent.ERROR, "error", session.journal.failure)
            failure = silent.result() if silent.done() else late.result()
            await self._wind_down(work)
            return TurnEnding(TurnEvent.ERROR, "timeout", failure)
        finally:
            await cancel_and_wait(work, *watchers)
            await session.requests.end()

    async def _work(self) -> TurnEnding:
        session = self._session
        label = "" if self._prompt is None else self._prompt.text
        try:
            # Before the agent starts, which may write at once; and again after it, if it runs without a sandbox.
            confined = await session.will_be_confined()
            await session.review.note_files(label, confined=confined)
            async with session.connect_lock:
                await session.connect()
                await session.review.note_files(label, confined=confined and session.is_confined)
                await run_with_timeout(
                    session.ports.clock, session.ports.limits.start, session.attachment.open()
                )
            await session.review.begin_turn(label)
            if self._prompt is None:
                return TurnEnding(TurnEvent.TURN_ENDED, "resumed")
            try:
                return await self._ask(self._prompt)
            except RpcError as error:
                if not await run_with_timeout(
                    session.ports.clock, session.ports.limits.start, session.attachment.reopen(error)
                ):
                    raise
            return await self._ask(self._prompt)
        except TimeoutError:
            what = f"did not open a session within {session.ports.limits.start:g} s"
            return TurnEnding(TurnEvent.ERROR, "timeout", await self._give_up(what))
        except (RpcError, ConnectionLost) as error:
            if session.connection is None:
                return TurnEnding(TurnEvent.USER_STOP, "cancelled")
            failure = await session.connection.explain(error)
            event = TurnEvent.PROCESS_LOST if isinstance(failure, AgentCrashed) else TurnEvent.ERROR
            return TurnEnding(event, "error", failure)
        except AgentCrashed as error:
            return TurnEnding(TurnEvent.PROCESS_LOST, "error", error)
        except PorticoError as error:
            return TurnEnding(TurnEvent.ERROR, "error", error)
        except Exception as error:  # noqa: BLE001 - the turn fails and says why; the session continues
            return TurnEnding(TurnEvent.ERROR, "error", internal_error(error, f"a turn of {session.id}"))

    async def _ask(self, prompt: TurnPrompt) -> TurnEnding:
        """Set the options of the prompt, and send it."""
        for name, value in prompt.options.items():
            await self._session.set_option(name, value)
        if self.stopping:
            # The cancel came before the prompt: an agent would run a prompt that follows it.
            return TurnEnding(TurnEvent.USER_STOP, "cancelled")
        return await self._converse(prompt)

    async def _converse(self, prompt: TurnPrompt) -> TurnEnding:
        session = self._session
        if session.connection is None or session.agent_session_id is None:
            raise ConnectionLost("the agent is gone")
        takes = session.connection.info.agent_capabilities.prompt_capabilities
        attached = fit_to_agent(prompt.blocks, takes, f"The agent {session.spec.name}")
        for notice in attached.notices:
            session.journal.record(notice)
        words = [acp.TextContent(text=prompt.text)] if prompt.text else []
        blocks = session.attachment.with_history([*words, *attached.blocks], takes)
        response = await session.connection.end.prompt(
            acp.PromptRequest(session_id=session.agent_session_id, prompt=blocks)
        )
        session.attachment.prompt_accepted()
        if response.usage is not None:
            usage = response.usage
            session.journal.record(
                UsageUpdated(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
            )
        if response.stop_reason == "cancelled":
            return TurnEnding(TurnEvent.USER_STOP, "cancelled")
        return TurnEnding(TurnEvent.TURN_ENDED, response.stop_reason)

    async def _wind_down(self, work: "asyncio.Task[TurnEnding]") -> None:
        """Cancel the turn at the agent and wait for the grace time; then end the agent with everything it started."""
        session = self._session
        session.requests.stop()
        if session.agent_alive and session.connection is not None and session.agent_session_id is not None:
            with suppress(ConnectionLost):
                session.connection.end.cancel(session.agent_session_id)
            forced = asyncio.create_task(self._forced.wait(), name="waiting for force")
            grace = asyncio.create_task(
                session.ports.clock.sleep(session.ports.limits.stop_grace), name="grace time"
            )
            await asyncio.wait((work, forced, grace), return_when=asyncio.FIRST_COMPLETED)
            await cancel_and_wait(forced, grace)
        if work.done():
            if session.terminals is not None:
                await session.terminals.close()
            return
        await cancel_and_wait(work)
        await session.end_agent()

    async def _silence(self) -> PorticoError:
        """Returns once the agent has been silent for too long. Time in which it waits for the person does not count."""
        session, limit = self._session, self._session.ports.limits.idle
        while True:
            if session.status.state is TurnState.AWAITING:
                session.last_heard = session.ports.clock.monotonic()
            remaining = session.last_heard + limit - session.ports.clock.monotonic()
            if remaining <= 0:
                break
            await session.ports.clock.sleep(remaining)
        what = f"has been silent for {limit:g} s"
        return (
            session.connection.timed_out(what) if session.connection else AgentTimedOut(f"The agent {what}.")
        )

    async def _deadline(self) -> PorticoError:
        """Returns once the turn has taken longer than its timeout."""
        seconds = self._prompt.timeout if self._prompt else None
        if seconds is None:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        await self._session.ports.clock.sleep(seconds)
        return AgentTimedOut(
            f"The turn was stopped after {seconds:g} s.", suggestion="Allow more time with --timeout."
        )

    async def _give_up(self, what: str) -> PorticoError:
        session = self._session
        failure = (
            session.connection.timed_out(what) if session.connection else AgentTimedOut(f"The agent {what}.")
        )
        await session.end_agent()
        return failure

    async def _abandon(self, started: float) -> None:
        """Stop the agent and record an interruption, because the caller was cancelled."""
        session = self._session
        if session.connection is not None and session.agent_session_id is not None:
            with suppress(ConnectionLost):
                session.connection.end.cancel(session.agent_session_id)
        # With the usual grace time, in which an agent can save its session to be resumed.
        await session.disconnect()
        await self._finish(TurnEnding(TurnEvent.PROCESS_LOST, "interrupted"), started)

    async def _finish(self, ending: TurnEnding, started: float) -> TurnEnded:
        session = self._session
        self._over = True
        if ending.event is TurnEvent.PROCESS_LOST:
            await session.disconnect(grace=0)
        session.settle()
        await session.review.end_turn()
        closing: list[AnyPayload] = []
        if ending.error is not None:
            error = ending.error
            closing.append(
                ErrorReported(
                    code=error.code,
                    message=error.message,
                    recoverable=error.recoverable,
                    details=error.details,
                )
            )
        moved = session.move(ending.event, reason=ending.error.message if ending.error else None)
        ended = TurnEnded(
            state=session.status.state,
            stop_reason=ending.stop_reason,
            duration_ms=round((session.ports.clock.monotonic() - started) * 1000),
            tools_used=session.tools.count,
        )
        try:
            await session.journal.commit(*closing, ended, moved)
        finally:
            session.journal.turn_id = None
        return ended
