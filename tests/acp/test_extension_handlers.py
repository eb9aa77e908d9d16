"""Extension methods of either side, and the registry of their handlers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw

from portico.acp.agent import AgentSideConnection
from portico.acp.client import ClientSideConnection
from portico.acp.extension_handlers import ExtensionHandlers
from portico.domain.errors import InvalidInput
from portico.rpc.messages import METHOD_NOT_FOUND, Fault, RpcError
from portico.rpc.streams import memory_pair


class Listener:
    def update(self, session_id: str, update: Any) -> None: ...
    def unknown_update(self, session_id: str, raw: Raw) -> None: ...
    def notified(self, method: str, params: Raw) -> None: ...
    def fault(self, fault: Fault) -> None: ...
    async def ready(self) -> None: ...


async def echo(params: Raw) -> Raw:
    return params


@asynccontextmanager
async def both_sides(
    client: ExtensionHandlers, agent: ExtensionHandlers
) -> AsyncIterator[tuple[ClientSideConnection, AgentSideConnection]]:
    near, far = memory_pair()
    left = ClientSideConnection(near, Listener(), name="agent", serve={}, extensions=client)
    right = AgentSideConnection(far, name="client", serve={}, on_cancel=lambda _: None, extensions=agent)
    running = [asyncio.create_task(left.run()), asyncio.create_task(right.run())]
    try:
        async with asyncio.timeout(20):
            yield left, right
    finally:
        await left.close()
        await right.close()
        await asyncio.gather(*running, return_exceptions=True)


async def test_either_side_calls_the_handlers_of_the_other() -> None:
    client, agent = ExtensionHandlers(), ExtensionHandlers()
    heard: list[bytes] = []
    client.on_request("_one/echo", echo)
    agent.on_request("_two/echo", echo)
    agent.on_notification("_two/note", lambda params: heard.append(bytes(params)))
    async with both_sides(client, agent) as (left, right):
        left.notify_extension("_two/note", {"n": 1})
        left.notify_extension("_two/nobody", {"n": 2})
        left.notify_extension("_two/note", {"n": 3})
        assert bytes(await left.call_extension("_two/echo", {"a": [1]})) == b'{"a":[1]}'
        assert bytes(await right.call_extension("_one/echo", {"b": 2})) == b'{"b":2}'
        assert heard == [b'{"n":1}', b'{"n":3}']
        with pytest.raises(RpcError) as refused:
            await left.call_extension("_one/echo", {})
        assert refused.value.code == METHOD_NOT_FOUND


def test_a_handler_is_for_one_extension_and_has_no_second() -> None:
    handlers = ExtensionHandlers()
    with pytest.raises(InvalidInput, match="session/prompt"):
        handlers.on_request("session/prompt", echo)
    handlers.on_request("_vendor/method", echo)
    with pytest.raises(ValueError, match="_vendor/method"):
        handlers.on_request("_vendor/method", echo)
