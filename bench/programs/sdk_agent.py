"""An agent made with the official Python SDK that says every prompt back."""

import asyncio
from typing import Any, cast

import acp


class EchoAgent:
    def __init__(self) -> None:
        self._client: acp.Client | None = None

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, **_: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="echo")

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> acp.PromptResponse:
        assert self._client is not None
        for block in prompt:
            await self._client.session_update(session_id, acp.update_agent_message(block))
        return acp.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    # The SDK's protocol class asks for every method there is, but it calls only those that exist.
    asyncio.run(acp.run_agent(cast(acp.Agent, EchoAgent())))
