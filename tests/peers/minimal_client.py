"""A client made with the official Python SDK that has neither files nor terminals.

It starts an agent, sends it one prompt, allows all that is asked, and prints one JSON line: what it was told, with
the error if there was one.

Usage: python minimal_client.py FOLDER PROMPT PROGRAM ARGUMENTS…
"""

import asyncio
import json
import os
import sys
from typing import Any

from acp import PROTOCOL_VERSION, RequestError, RequestPermissionResponse, spawn_agent_process, text_block
from acp.schema import AllowedOutcome, ClientCapabilities


class MinimalClient:
    """Has the two methods that every client has."""

    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.asked = 0

    def on_connect(self, _: Any) -> None:
        return

    async def request_permission(self, options: list[Any], **_: Any) -> RequestPermissionResponse:
        self.asked += 1
        allowed = next(one for one in options if one.kind == "allow_once")
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=allowed.option_id)
        )

    async def session_update(self, update: Any, **_: Any) -> None:
        self.updates.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))


async def main(folder: str, prompt: str, program: str, *arguments: str) -> None:
    client, error, stopped = MinimalClient(), None, None
    itself: Any = client
    async with spawn_agent_process(itself, program, *arguments, env=dict(os.environ), cwd=folder) as (
        agent,
        _,
    ):
        met = await agent.initialize(
            protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities()
        )
        session = await agent.new_session(cwd=folder, mcp_servers=[])
        try:
            answer = await agent.prompt(session_id=session.session_id, prompt=[text_block(prompt)])
            stopped = answer.stop_reason
        except RequestError as failure:
            error = str(failure)
    capabilities: Any = met.agent_capabilities
    told = {
        "capabilities": capabilities.model_dump(mode="json", by_alias=True, exclude_none=True),
        "stopped": stopped,
        "error": error,
        "asked": client.asked,
        "updates": client.updates,
    }
    print(json.dumps(told))


asyncio.run(main(*sys.argv[1:]))
