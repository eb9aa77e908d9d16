"""A program that sends back what it is sent is told to be no agent, whichever way it is reached."""

from pathlib import Path

import msgspec
import pytest

from portico.acp import _schema as acp
from portico.domain.errors import InvalidInput
from portico.rpc.streams import ByteStream
from portico.sessions.agent.connection import AgentConnection, AgentWorkspace
from portico.testing.memory_agent import MemoryAgentLauncher
from tests.conductor.support import HELLO, chain
from tests.sessions.support import SPEC, FakeAgent, world


async def echo(stream: ByteStream) -> None:
    while data := await stream.read():
        stream.write(data)


async def nothing(agent: FakeAgent, request: acp.PromptRequest) -> None: ...


async def test_a_host_calls_it_no_agent(tmp_path: Path) -> None:
    async with world(nothing, tmp_path) as host:
        ports = msgspec.structs.replace(host.ports, agents=MemoryAgentLauncher(echo))
        with pytest.raises(InvalidInput, match="not an ACP agent") as failure:
            await AgentConnection.open(ports, SPEC, AgentWorkspace(tmp_path), (), acp.ClientCapabilities())
        assert "portico agents list" in (failure.value.suggestion or "")


async def test_a_chain_answers_initialize_with_it_and_asks_the_client_nothing() -> None:
    async with chain() as ends:
        ends.client.send(HELLO)
        ends.agent.send(await ends.agent.line())
        answer = await ends.client.receive()
    assert answer["id"] == 0
    assert "not an ACP agent" in answer["error"]["message"]
