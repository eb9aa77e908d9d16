"""Porter's MCP client as a program, for the conformance tests: does what a turn does with a server at an address."""

import asyncio
import sys

from portico.porter.mcp.client import McpClient
from portico.porter.mcp.http import HttpChannel

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}


async def use(address: str) -> None:
    client = McpClient("conformance", HttpChannel("conformance", address, {}))
    try:
        await client.begin()
        for tool in await client.tools():
            called = await client.call(tool.name, ARGUMENTS.get(tool.name, {}))
            print(tool.name, called.content, called.is_error)
    finally:
        await client.close()


if __name__ == "__main__":
    asyncio.run(use(sys.argv[-1]))
