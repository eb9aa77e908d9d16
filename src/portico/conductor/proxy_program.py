"""Proxies as a program of their own: a chain without an agent, on standard input and output."""

import asyncio

from msgspec import Raw

from portico.conductor.assembly import Assembly
from portico.conductor.chain import Chain
from portico.conductor.mcp_bridge.bridge import McpBridge
from portico.conductor.node import ProxyNode
from portico.conductor.proxy import Proxy
from portico.rpc.messages import INVALID_REQUEST, RpcError
from portico.rpc.stdio import standard_streams
from portico.rpc.streams import ByteStream


def run(*proxies: Proxy) -> None:
    """Serve proxies on standard input and output until the conductor closes them.

    Several proxies form one program, in the order from the client to the agent. `print` is safe: it goes to
    standard error.
    """
    asyncio.run(_run(proxies))


async def serve(stream: ByteStream, *proxies: Proxy) -> None:
    """Serve proxies on a byte stream, for example in a test."""

    async def assemble(_: Raw) -> Assembly:
        # The bridge serves agents that take no MCP servers over ACP; for others it does nothing.
        return Assembly([*map(ProxyNode, proxies), ProxyNode(McpBridge("stdio"))], None)

    await Chain(stream, _refuse_client, assemble_proxy=assemble).run()


async def _run(proxies: tuple[Proxy, ...]) -> None:
    await serve(await standard_streams(), *proxies)


async def _refuse_client(_: Raw) -> Assembly:
    raise RpcError(
        INVALID_REQUEST,
        'This program is a proxy, not an agent. Name it under "proxies" in Portico\'s settings, and start '
        "portico with --proxy NAME.",
    )
