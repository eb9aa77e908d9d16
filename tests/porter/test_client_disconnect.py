"""A client that disconnects while a command runs: nothing is left running."""

import asyncio
import gc
import os
import sys
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.porter.agent import Porter
from portico.rpc.connection import RpcConnection
from portico.rpc.streams import memory_pair
from tests.porter.client import DEADLINE, Client, lives
from tests.porter.loop.scripted import Say, ScriptedModel, call, calls
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX command")

STUBBORN = "trap : TERM; echo $$ > pid; echo begun; while true; do sleep 0.02; echo on; done"


async def vanish(state: Path, folder: Path, prompt: str) -> None:
    """The client goes while the command runs, and Porter is ended while it ends the turn."""
    model = ScriptedModel([calls(call("run", command=STUBBORN)), Say("Done.")])
    near, far = memory_pair()
    client = Client(near, files=False, terminals=False)
    porter = Porter(far, state=state, environ=dict(os.environ), setup_of=model.setup())
    serving = asyncio.create_task(porter.run())
    listening = asyncio.create_task(client.end.run())
    async with asyncio.timeout(DEADLINE):
        await client.end.initialize(
            schema.InitializeRequest(protocol_version=1, client_capabilities=client.capabilities)
        )
        session = await client.open(folder)
        turn = asyncio.create_task(client.prompt(session, prompt))
        await client.until(lambda: bool(client.calls) and "begun" in client.shown(client.calls[0]))
        await near.close()
        (running,) = (one for one in asyncio.all_tasks() if one.get_name().startswith("turn in "))
        while not running.cancelling():  # noqa: ASYNC110 - a task gives no other sign of it
            await asyncio.sleep(0)
        serving.cancel()
        await asyncio.gather(serving, listening, turn, return_exceptions=True)


@pytest.mark.parametrize("prompt", ["go", f'/run sh -c "{STUBBORN}"'], ids=["by a model", "by a command"])
async def test_a_client_that_vanishes_while_a_command_runs_leaves_no_complaint_and_no_process(
    state: Path, folder: Path, prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing may keep the connection alive: it has to be collected here.
    monkeypatch.setattr("portico.acp.connection.RpcConnection", RpcConnection)
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(str(context)))
    await asyncio.create_task(vanish(state, folder, prompt))
    await asyncio.sleep(0)
    # An exception that was never retrieved is reported when it is collected.
    gc.collect()
    assert complaints == []
    pid = int((folder / "pid").read_text())
    wait_until(lambda: not lives(pid), "the end of the command")
