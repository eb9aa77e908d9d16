"""An agent made with the official Python SDK that does what its prompt says, and answers with what it was told.

A prompt is a JSON list of deeds: `["write", path, text]` writes a file through the client, and
`["call", server, tool, arguments]` calls a tool of an MCP server of the session.
"""

import asyncio
import json
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    run_agent,
    update_agent_message_text,
)
from acp.interfaces import Client
from acp.schema import AgentCapabilities, Implementation

from tests.peers.researching_agent import call_tool


class ToolCallingPeer:
    def __init__(self) -> None:
        self._client: Client | None = None
        self._sessions: dict[str, tuple[str, dict[str, Any]]] = {}

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="tool-calling-peer", version="1.0.0"),
        )

    async def new_session(
        self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> NewSessionResponse:
        session_id = f"session-{len(self._sessions)}"
        self._sessions[session_id] = (cwd, {server.name: server for server in mcp_servers or []})
        return NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        for deed in json.loads(prompt[-1].text):
            answer = await self._do(session_id, *deed)
            update = update_agent_message_text(f"{answer}\n")
            await self.client.session_update(session_id=session_id, update=update)
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        return

    async def _do(self, session_id: str, kind: str, *words: Any) -> str:
        cwd, servers = self._sessions[session_id]
        if kind == "call":
            server, tool, arguments = words
            return await call_tool(servers[server], tool, arguments)
        path, text = words
        try:
            await self.client.write_text_file(session_id=session_id, path=f"{cwd}/{path}", content=text)
        except RequestError as error:
            return f"not written: {error}"
        return "written"


if __name__ == "__main__":
    asyncio.run(run_agent(ToolCallingPeer()))  # type: ignore[arg-type]
