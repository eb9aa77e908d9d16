"""Hand-off of a session to another agent, in this process or on the server that has the session open."""

from collections.abc import Mapping
from pathlib import Path

from portico.agents.registry import AgentRegistry
from portico.app.host import Host, python_program
from portico.config.paths import config_folder
from portico.config.settings import load_settings
from portico.domain.reviews import ReviewMode
from portico.domain.session_summary import SessionSummary
from portico.sessions.leases import session_holder


async def hand_off_session(
    host: Host,
    source: SessionSummary,
    agent: str | None,
    environ: Mapping[str, str],
    *,
    mode: ReviewMode | None = None,
) -> SessionSummary:
    """The session in which an agent continues; None is the agent of the session itself.

    SessionBusy if another process has the session open.
    """
    session_id = source.session_id
    here = host.service.find_session(session_id) is not None
    if not here and await session_holder(host.store, session_id) is not None:
        # Late: it is slow to import, and most sessions are not open.
        from portico.client.remote_session import join_session

        joined = await join_session(host.service, host.ports, source, environ, only_own_turns=True)
        continuation = (await joined.served.hand_off(agent or source.agent, mode=mode)).id
    else:
        settings = load_settings(config_folder(environ), Path(source.workspace))
        registry = AgentRegistry(python=python_program(), environ=environ, custom=settings.agents)
        if agent is None:
            spec = registry.resume(source.agent, source.agent_command)
        else:
            spec = registry.resolve(agent)
        continuation = await host.service.hand_off(session_id, spec, mode=mode)
    return await host.service.show(continuation)
