"""How a session finds its agent again: the agent's own memory first, ours last.

`session/resume`, else `session/load`, else a new session that is told what was said before.
"""

from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.domain.events import AgentSession, AttachedBy
from portico.rpc.messages import RpcError
from portico.sessions.link import AgentLink, Tenant


class Attached(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's session, what it can be set to, and whether it has to be told the past."""

    session: AgentSession
    config_options: list[acp.SessionConfigOption] = []
    modes: acp.SessionModeState | None = None
    failed_ways: tuple[str, ...] = ()

    def reached(self, way: AttachedBy, *, replayed: int = 0) -> "Attached":
        """The same, with how it was reached."""
        session = msgspec.structs.replace(self.session, attached_by=way, replayed_updates=replayed)
        return msgspec.structs.replace(self, session=session)


async def attach_new(link: AgentLink, tenant: Tenant, workspace: Path) -> Attached:
    request = acp.NewSessionRequest(cwd=str(workspace), mcp_servers=[])
    response = await link.new_session(tenant, request)
    return Attached(
        session=AgentSession(agent_session_id=response.session_id, attached_by="new"),
        config_options=response.config_options or [],
        modes=response.modes,
    )


async def attach_again(link: AgentLink, tenant: Tenant, workspace: Path, session_id: str) -> Attached | None:
    """Continue the agent's own session, or None if it cannot."""
    capabilities = link.info.agent_capabilities
    session = capabilities.session_capabilities
    failed: list[str] = []
    if session.resume is not None:
        try:
            resume = acp.ResumeSessionRequest(session_id=session_id, cwd=str(workspace), mcp_servers=[])
            resumed = await link.resume_session(tenant, resume)
            return Attached(
                session=AgentSession(agent_session_id=session_id, attached_by="resume"),
                config_options=resumed.config_options or [],
                modes=resumed.modes,
            )
        except RpcError as error:
            failed.append(f"session/resume: {error.message}")
    if capabilities.load_session:
        try:
            load = acp.LoadSessionRequest(session_id=session_id, cwd=str(workspace), mcp_servers=[])
            loaded = await link.load_session(tenant, load)
            return Attached(
                session=AgentSession(agent_session_id=session_id, attached_by="load"),
                config_options=loaded.config_options or [],
                modes=loaded.modes,
                failed_ways=tuple(failed),
            )
        except RpcError as error:
            failed.append(f"session/load: {error.message}")
    return None
