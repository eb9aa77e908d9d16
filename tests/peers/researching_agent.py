"""An agent made with the official Python SDK that asks about a package, and does the research itself.

In a session with the server `portico-packages` it answers every prompt with what `package_query` says. In one with
`portico-research` it first tries what it must not do, then reads the package and returns its findings.

Usage: python researching_agent.py [one-session | two-questions | dies]

With `one-session` it refuses a second session. With `two-questions` it asks two things at once: the research of the
second ends only when it is stopped, and that of the first goes on from then. With `dies` it ends in its research.
"""

import asyncio
import json
import os
import sys
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
from acp.schema import AgentCapabilities, Implementation, PermissionOption, ToolCallLocation, ToolCallUpdate

QUESTION = {"ecosystem": "npm", "name": "thing", "question": "What does one() return?"}
ENDLESS = {**QUESTION, "question": "What never ends?"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "peer", "version": "1"}}


class ResearchingPeer:
    def __init__(self, *, one_session: bool, two_questions: bool) -> None:
        self._one_session = one_session
        self._two_questions = two_questions
        self._researching = asyncio.Event()
        self._second_ended = asyncio.Event()
        self._cancelled: dict[str, asyncio.Event] = {}
        self._client: Client | None = None
        self._sessions: dict[str, tuple[str, list[Any]]] = {}

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
            agent_info=Implementation(name="researching-peer", version="1.0.0"),
        )

    async def new_session(
        self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> NewSessionResponse:
        if self._one_session and self._sessions:
            raise RequestError.invalid_request({"details": "this agent holds one session"})
        session_id = f"session-{len(self._sessions)}"
        self._sessions[session_id] = (cwd, mcp_servers or [])
        return NewSessionResponse(session_id=session_id)

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        cwd, servers = self._sessions[session_id]
        by_name = {server.name: server for server in servers}
        if "portico-research" in by_name:
            if "dies" in sys.argv:
                os._exit(3)
            if self._two_questions:
                self._researching.set()
                if ENDLESS["question"] in prompt[0].text:
                    await self._cancelled.setdefault(session_id, asyncio.Event()).wait()
                    return PromptResponse(stop_reason="cancelled")
                await self._second_ended.wait()
            await self._research(session_id, cwd, by_name["portico-research"])
        elif self._two_questions:
            self._researching.clear()
            self._second_ended.clear()
            packages = by_name["portico-packages"]
            first = asyncio.create_task(call_tool(packages, "package_query", QUESTION))
            await self._researching.wait()
            second = await call_tool(packages, "package_query", ENDLESS)
            self._second_ended.set()
            await self._say(session_id, f"Second: {second}\n\nFirst: {await first}")
        else:
            await self._say(
                session_id, await call_tool(by_name["portico-packages"], "package_query", QUESTION)
            )
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled.setdefault(session_id, asyncio.Event()).set()

    async def _research(self, session_id: str, cwd: str, server: Any) -> None:
        tried = [
            await self._may(session_id, "edit", f"{cwd}/lib/code.js"),
            await self._may(session_id, "execute", f"{cwd}/lib/code.js"),
            await self._may(session_id, "read", f"{cwd}/../../secret.txt"),
            await self._may(session_id, "read", f"{cwd}/lib/code.js"),
        ]
        await self._say(session_id, "Searching.\n")
        found = await call_tool(server, "package_search", {"query": "one()"})
        findings = f"permissions: {' '.join(tried)}; {found.splitlines()[-1]}"
        await call_tool(server, "return_findings", {"findings": findings})

    async def _may(self, session_id: str, kind: Any, path: str) -> str:
        options = [
            PermissionOption(option_id="always", name="Always", kind="allow_always"),
            PermissionOption(option_id="once", name="Once", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        tool_call = ToolCallUpdate(
            tool_call_id=kind, kind=kind, title=kind, locations=[ToolCallLocation(path=path)]
        )
        answer = await self.client.request_permission(
            session_id=session_id, tool_call=tool_call, options=options
        )
        return str(getattr(answer.outcome, "option_id", answer.outcome.outcome))

    async def _say(self, session_id: str, text: str) -> None:
        await self.client.session_update(session_id=session_id, update=update_agent_message_text(text))


async def call_tool(server: Any, name: str, arguments: dict[str, Any]) -> str:
    """Start the program of a server, call one tool, and end it."""
    program = await asyncio.create_subprocess_exec(
        server.command,
        *server.args,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, **{one.name: one.value for one in server.env}},
    )
    assert program.stdin is not None
    assert program.stdout is not None
    answer: dict[str, Any] = {}
    for number, method, params in (
        (1, "initialize", HELLO),
        (2, "tools/call", {"name": name, "arguments": arguments}),
    ):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        program.stdin.write(json.dumps(request).encode() + b"\n")
        while answer.get("id") != number:
            answer = json.loads(await program.stdout.readline())
    program.stdin.close()
    await program.wait()
    return "\n".join(part["text"] for part in answer["result"]["content"])


if __name__ == "__main__":
    peer = ResearchingPeer(one_session="one-session" in sys.argv, two_questions="two-questions" in sys.argv)
    asyncio.run(run_agent(peer))  # type: ignore[arg-type]
