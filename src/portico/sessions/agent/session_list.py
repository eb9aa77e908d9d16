"""Lists the sessions that an agent keeps by itself, page by page."""

from portico.acp import _schema as acp
from portico.domain.errors import InvalidInput
from portico.processes.tasks import run_with_timeout
from portico.rpc.messages import ConnectionLost, RpcError
from portico.sessions.agent.connection import AgentConnection
from portico.sessions.ports import Ports


async def list_agent_sessions(
    connection: AgentConnection, ports: Ports, *, cwd: str | None, limit: int
) -> list[acp.SessionInfo]:
    """Sessions of the agent, of one folder or of all, in the agent's order."""
    if connection.info.agent_capabilities.session_capabilities.list is None:
        raise InvalidInput(
            f"The agent {connection.spec.name} does not list its sessions.",
            suggestion="List them in the agent itself; continue one with --agent-session ID.",
        )
    found: dict[str, acp.SessionInfo] = {}
    cursors: set[str] = set()
    request = acp.ListSessionsRequest(cwd=cwd)
    while True:
        page = await _page(connection, ports, request)
        found |= {session.session_id: session for session in page.sessions}
        cursor = page.next_cursor
        # An agent may return the same page forever.
        if cursor is None or cursor in cursors or max(len(found), len(cursors)) >= limit:
            return list(found.values())[:limit]
        cursors.add(cursor)
        request = acp.ListSessionsRequest(cwd=cwd, cursor=cursor)


async def _page(
    connection: AgentConnection, ports: Ports, request: acp.ListSessionsRequest
) -> acp.ListSessionsResponse:
    try:
        return await run_with_timeout(ports.clock, ports.limits.start, connection.end.list_sessions(request))
    except TimeoutError as error:
        raise connection.timed_out(f"did not list its sessions within {ports.limits.start:g} s") from error
    except (RpcError, ConnectionLost) as error:
        raise await connection.explain(error) from error
