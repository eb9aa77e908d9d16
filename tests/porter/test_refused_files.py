"""Porter says why a client refuses a file."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from portico.acp.agent import AgentSideConnection
from portico.acp.client import ClientSideConnection
from portico.domain.errors import InvalidInput
from portico.porter.files import ClientFiles, NoSuchFile
from portico.rpc.messages import Fault, RpcError
from portico.rpc.streams import memory_pair


class Deaf:
    """Listens to nothing."""

    def update(self, session_id: str, update: object) -> None: ...

    def unknown_update(self, session_id: str, raw: Raw) -> None: ...

    def notified(self, method: str, params: Raw) -> None: ...

    def fault(self, fault: Fault) -> None: ...

    async def ready(self) -> None: ...


@asynccontextmanager
async def files(refusal: RpcError) -> AsyncIterator[ClientFiles]:
    """The files of a client that refuses every one of them."""

    async def refuse(_: Any) -> Any:
        raise refusal

    near, far = memory_pair()
    agent = AgentSideConnection(near, name="client", serve={}, on_cancel=lambda _: None)
    client = ClientSideConnection(
        far, Deaf(), name="porter", serve={"fs/read_text_file": refuse, "fs/write_text_file": refuse}
    )
    running = [asyncio.create_task(agent.run()), asyncio.create_task(client.run())]
    try:
        yield ClientFiles(agent, "s1")
    finally:
        await agent.close()
        await asyncio.wait(running)


async def test_the_clients_reason_for_refusing_a_file_is_told(tmp_path: Path) -> None:
    there = tmp_path / "a.py"
    there.write_text("x")
    async with files(RpcError(-32603, "Internal error", {"details": "it is a secret"})) as refused:
        with pytest.raises(InvalidInput, match="cannot be read: Internal error: it is a secret"):
            await refused.read(there)
        with pytest.raises(InvalidInput, match="was not written: Internal error: it is a secret"):
            await refused.write(there, "y")
        with pytest.raises(NoSuchFile, match=r"does not exist\. The client said: .* it is a secret"):
            await refused.read(tmp_path / "b.py")
