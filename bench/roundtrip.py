"""Round-trip time over a pipe, through each kind of connection to the same plain agent."""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Raw

from bench.children import agent_command, environment
from bench.dialogue import dialogue
from bench.report import Line, Section, ratio
from bench.samples import time_in_turns
from portico.processes.process_group import spawn
from portico.processes.tasks import cancel_and_wait
from portico.rpc.connection import RpcConnection, RpcReply
from portico.rpc.messages import METHOD_NOT_FOUND, Fault, RpcError
from portico.rpc.streams import PipeStream

ROUNDS = 7
REQUESTS = 500
WARM_UP = 50
METHOD, PARAMS = "echo", {"text": "a line of words as an agent may get them"}


def measure() -> Section:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        plain, portico, sdk = time_in_turns(
            {
                "plain": lambda: _plain(home),
                "portico": lambda: asyncio.run(_portico(home)),
                "sdk": lambda: asyncio.run(_sdk(home)),
            },
            ROUNDS,
        ).values()
    return Section(
        title="One request and its answer over a pipe",
        lines=(
            Line(what="plain loop: write, readline, json", samples=plain, unit="seconds"),
            Line(what="Portico's connection", samples=portico, unit="seconds"),
            Line(what="the Python SDK's connection", samples=sdk, unit="seconds"),
            ratio("Portico over plain", portico, plain),
            ratio("Portico over SDK", portico, sdk),
        ),
        notes=(
            "Portico's and the SDK's run in an event loop, the plain loop blocks; the agent blocks always.",
        ),
    )


def _plain(home: Path) -> float:
    with dialogue(agent_command("plain_agent"), environ=environment(home), cwd=home) as agent:
        for _ in range(WARM_UP):
            agent.ask(METHOD, PARAMS)
        started = time.perf_counter()
        for _ in range(REQUESTS):
            agent.ask(METHOD, PARAMS)
        return (time.perf_counter() - started) / REQUESTS


async def _portico(home: Path) -> float:
    group = await spawn(agent_command("plain_agent"), cwd=home, environ=environment(home))
    assert group.stdin is not None
    connection = RpcConnection(PipeStream(group.stdout, group.stdin), _Silent(), name="the plain agent")
    reading = asyncio.create_task(connection.run(), name="reading")
    try:
        return await _seconds_each(lambda: connection.request(METHOD, PARAMS))
    finally:
        await connection.close()
        await group.stop(0)
        await cancel_and_wait(reading)


async def _sdk(home: Path) -> float:
    from acp import spawn_stdio_connection

    command = agent_command("plain_agent")
    async with spawn_stdio_connection(_serve_nothing, *command, cwd=home) as (connection, _):
        return await _seconds_each(lambda: connection.send_request(METHOD, PARAMS))


async def _seconds_each(ask: Callable[[], Awaitable[Any]]) -> float:
    for _ in range(WARM_UP):
        await ask()
    started = time.perf_counter()
    for _ in range(REQUESTS):
        await ask()
    return (time.perf_counter() - started) / REQUESTS


async def _serve_nothing(_method: str, _params: Any, _is_notification: bool) -> None:
    return None


class _Silent:
    """The side of a connection that offers nothing and asks."""

    def notification(self, method: str, params: Raw) -> None:
        raise AssertionError(f"the plain agent sent {method}")

    async def request(self, method: str, params: Raw) -> RpcReply:
        raise RpcError(METHOD_NOT_FOUND, method)

    def fault(self, fault: Fault) -> None:
        raise AssertionError(fault.detail)

    async def ready(self) -> None:
        """Nothing holds the agent back."""
