"""Starts the agent outside of turns, calls it with a timeout, and restarts it after a crash.

A restarted agent opens its session before the next prompt. One that keeps crashing is not restarted again until it
is needed.
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from portico.domain.errors import AgentCrashed, PorticoError
from portico.domain.events import Notice
from portico.processes.tasks import run_with_timeout
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.runtime import SessionRuntime

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)


async def start_agent(
    session: SessionRuntime, attach: Callable[[], Coroutine[Any, Any, None]] | None = None
) -> None:
    """Start the agent and open its session outside of a turn. Raises PorticoError if that fails."""
    async with session.connect_lock:
        await _reach(session, attach or session.attachment.open)


async def _reach(session: SessionRuntime, attach: Callable[[], Coroutine[Any, Any, None]]) -> None:
    limit = session.ports.limits.start
    try:
        await session.connect()
        await run_with_timeout(session.ports.clock, limit, attach())
    except TimeoutError as error:
        if session.connection is None:
            raise
        failure: PorticoError = session.connection.timed_out(f"did not open a session within {limit:g} s")
        await session.end_agent()
        raise failure from error
    except (RpcError, ConnectionLost) as error:
        failure = AgentCrashed("The agent is gone.")
        if session.connection is not None:
            failure = await session.connection.explain(error)
        await session.disconnect(grace=0)
        raise failure from error


Answer = TypeVar("Answer")


async def call_agent(session: SessionRuntime, work: Coroutine[Any, Any, Answer], what: str) -> Answer:
    """Make one call to the agent with a timeout. Raises PorticoError if it fails."""
    limit = session.ports.limits.start
    try:
        return await run_with_timeout(session.ports.clock, limit, work)
    except (TimeoutError, RpcError, ConnectionLost) as error:
        if session.connection is None:
            raise AgentCrashed("The agent is gone.") from error
        if isinstance(error, TimeoutError):
            raise session.connection.timed_out(f"did not {what} within {limit:g} s") from error
        raise await session.connection.explain(error) from error


async def restart_agent(session: SessionRuntime) -> None:
    """Restart a lost agent, with a longer pause before each attempt."""
    failure = ""
    for pause in PAUSES:
        await session.ports.clock.sleep(pause)
        try:
            await start_agent(session)
        except PorticoError as error:
            failure = error.message
            continue
        session.journal.record(
            Notice(level="info", text=f"The agent {session.spec.name} was restarted and is ready.")
        )
        return
    text = f"The agent {session.spec.name} could not be restarted. {failure}"
    session.journal.record(Notice(level="warning", text=text))
