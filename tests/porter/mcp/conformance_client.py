"""Porter's MCP client as a program, for the conformance tests: does what a turn does with a server at an address."""

import asyncio
import sys
from functools import partial
from pathlib import Path

from portico.acp import _schema as schema
from portico.mcp.client import McpClient
from portico.mcp.http_transport import McpHttpTransport
from portico.porter.mcp_program import PORTER
from portico.porter.mcp_requests import ServerRequests

ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}


async def accept(_words: str, _form: schema.ElicitationSchema) -> schema.CreateElicitationResponse:
    """A person who leaves every field as it is."""
    return schema.CreateElicitationResponse(action="accept", content={})


async def use(address: str) -> None:
    asked = ServerRequests((Path.cwd(),), can_ask=True)
    transport = McpHttpTransport("conformance", address, {}, asked)
    client = McpClient("conformance", transport, asked, PORTER)
    try:
        await client.begin()
        for tool in await client.tools():
            called = await client.call(
                tool.name, ARGUMENTS.get(tool.name, {}), partial(asked.calling, accept)
            )
            print(tool.name, called.content, called.is_error)
    finally:
        await client.close()


if __name__ == "__main__":
    asyncio.run(use(sys.argv[-1]))
