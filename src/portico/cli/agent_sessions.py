"""`portico agents sessions`: the sessions that an agent keeps by itself, for `--agent-session`."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from portico.acp import _schema as acp
from portico.agents.process import LocalAgentLauncher
from portico.app.host import open_host
from portico.cli.arguments import require_folder
from portico.doors.terminal import labels
from portico.doors.terminal.output import plain_columns
from portico.doors.terminal.sanitizer import clean_line
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.sessions.agent.session_list import list_agent_sessions
from portico.sessions.ports import AgentSpec

_CLOSING_GRACE = 1.0


class ListedAgentSession(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


def print_agent_sessions(spec: AgentSpec, cwd: str | None, *, limit: int, api: bool) -> int:
    """List what the agent has, in one folder or in all."""
    folder = None if cwd is None else str(require_folder(cwd))
    found, now_ms = asyncio.run(_ask(spec, folder, limit, dict(os.environ)))
    if api:
        listed = [_listed(session) for session in found]
        print(msgspec.json.encode({"status": "ok", "sessions": listed, "count": len(listed)}).decode())
    elif found:
        print(_in_columns(found, now_ms), end="")
    else:
        print(f"{spec.name} has no sessions{'' if folder is None else ' in this folder'}.")
    return 0


async def _ask(
    spec: AgentSpec, folder: str | None, limit: int, environ: Mapping[str, str]
) -> tuple[list[acp.SessionInfo], int]:
    async with open_host(environ) as host:
        ports = msgspec.structs.replace(host.ports, agents=LocalAgentLauncher(environ))
        workspace = Path.cwd() if folder is None else Path(folder)
        link = await AgentConnection.open(
            ports, spec, AgentWorkspace(workspace), (), acp.ClientCapabilities()
        )
        try:
            return await list_agent_sessions(link, ports, cwd=folder, limit=limit), host.clock.now_ms()
        finally:
            await link.close(grace=_CLOSING_GRACE)


def _listed(session: acp.SessionInfo) -> ListedAgentSession:
    return ListedAgentSession(
        session_id=session.session_id, cwd=session.cwd, title=session.title, updated_at=session.updated_at
    )


def _in_columns(found: Sequence[acp.SessionInfo], now_ms: int) -> str:
    home = os.environ.get("HOME", "")
    rows = [
        (
            clean_line(session.session_id),
            _age(session.updated_at, now_ms),
            labels.short_path(session.cwd, home=home),
            clean_line(session.title or "") or "untitled",
        )
        for session in found
    ]
    return plain_columns(rows)


def _age(updated_at: str | None, now_ms: int) -> str:
    """The age of a session, or the agent's own text for it, or nothing."""
    if updated_at is None:
        return "-"
    try:
        then = datetime.fromisoformat(updated_at)
    except ValueError:
        return clean_line(updated_at)
    return labels.age(int(then.timestamp() * 1000), now_ms)
