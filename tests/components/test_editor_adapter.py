"""The adapter serves what the editor lacks from this machine, in the folder of the session."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from portico.acp import _schema as acp
from portico.components.editor.adapter import EditorAdapter, missing_methods
from portico.editors.local import LocalEditorProvider
from tests.conductor.support import Ends, chain

NOTHING = acp.ClientCapabilities()
ONLY_READS = acp.ClientCapabilities(fs=acp.FileSystemCapabilities(read_text_file=True))
NO_TERMINALS = acp.ClientCapabilities(
    fs=acp.FileSystemCapabilities(read_text_file=True, write_text_file=True)
)
WAITING = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(600)"]


@asynccontextmanager
async def adapted(
    folder: Path, editor: acp.ClientCapabilities = NOTHING, **placed: Any
) -> AsyncIterator[Ends]:
    """A chain with the adapter, in which the session "s" is open."""
    adapter = EditorAdapter(missing_methods(editor), LocalEditorProvider({"PATH": "/usr/bin:/bin"}))
    async with chain(adapter) as ends:
        await ends.initialize()
        meta = {"_meta": {"portico": placed}} if placed else {}
        params = {"cwd": str(folder), "mcpServers": [], **meta}
        ends.client.send_json(id=1, method="session/new", params=params)
        opened = await ends.agent.receive()
        ends.agent.send_json(id=opened["id"], result={"sessionId": "s"})
        await ends.client.receive()
        yield ends


async def asked(ends: Ends, request_id: int, method: str, **params: Any) -> dict[str, Any]:
    ends.agent.send_json(id=request_id, method=method, params={"sessionId": "s", **params})
    return await ends.agent.receive()


async def test_files_are_read_and_written_in_the_workspace(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    async with adapted(tmp_path) as ends:
        written = await asked(ends, 1, "fs/write_text_file", path=str(path), content="one\ntwo\n")
        assert written["result"] == {}
        assert path.read_text() == "one\ntwo\n"
        read = await asked(ends, 2, "fs/read_text_file", path=str(path), line=2, limit=1)
        assert read["result"] == {"content": "two\n"}


async def test_what_is_outside_or_private_is_refused(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / ".env").write_text("KEY=1")
    async with adapted(workspace) as ends:
        for path in (tmp_path / "outside.txt", workspace / ".env", workspace / ".git" / "config"):
            refused = await asked(ends, 1, "fs/write_text_file", path=str(path), content="x")
            assert refused["error"]["code"] == -32602, refused
    assert not (tmp_path / "outside.txt").exists()


async def test_a_session_that_only_reads_writes_and_runs_nothing(tmp_path: Path) -> None:
    async with adapted(tmp_path, reads_only=True) as ends:
        refused = await asked(ends, 1, "fs/write_text_file", path=str(tmp_path / "x"), content="x")
        assert "read-only" in refused["error"]["message"]
        assert "read-only" in (await asked(ends, 2, "terminal/create", command="true"))["error"]["message"]
    assert not (tmp_path / "x").exists()


async def test_a_session_with_a_working_copy_works_there(tmp_path: Path) -> None:
    copy, workspace = tmp_path / "copy", tmp_path / "workspace"
    copy.mkdir()
    workspace.mkdir()
    async with adapted(copy, workspace=str(workspace), mode="proposal") as ends:
        assert "result" in await asked(ends, 1, "fs/write_text_file", path=str(copy / "x"), content="x")
        refused = await asked(ends, 2, "fs/write_text_file", path=str(workspace / "x"), content="x")
        assert "error" in refused
    assert (copy / "x").read_text() == "x"
    assert not (workspace / "x").exists()


async def test_what_the_editor_has_goes_to_the_editor(tmp_path: Path) -> None:
    async with adapted(tmp_path, ONLY_READS) as ends:
        ends.agent.send_json(id=1, method="fs/read_text_file", params={"sessionId": "s", "path": "/x"})
        assert (await ends.client.receive())["method"] == "fs/read_text_file"
        assert "result" in await asked(ends, 2, "fs/write_text_file", path=str(tmp_path / "x"), content="x")


async def test_a_command_runs_and_its_output_is_there(tmp_path: Path) -> None:
    async with adapted(tmp_path, NO_TERMINALS) as ends:
        created = await asked(ends, 1, "terminal/create", command="pwd; exit 3")
        terminal = created["result"]["terminalId"]
        ended = await asked(ends, 2, "terminal/wait_for_exit", terminalId=terminal)
        assert ended["result"]["exitCode"] == 3
        output = await asked(ends, 3, "terminal/output", terminalId=terminal)
        assert output["result"]["output"].strip() == str(tmp_path)
        assert (await asked(ends, 4, "terminal/release", terminalId=terminal))["result"] == {}


async def test_a_cancelled_wait_is_answered_and_the_command_goes_on(tmp_path: Path) -> None:
    async with adapted(tmp_path) as ends:
        created = await asked(ends, 1, "terminal/create", command=WAITING[0], args=WAITING[1:])
        terminal = created["result"]["terminalId"]
        params = {"sessionId": "s", "terminalId": terminal}
        ends.agent.send_json(id=2, method="terminal/wait_for_exit", params=params)
        ends.agent.send_json(method="$/cancel_request", params={"requestId": 2})
        assert (await ends.agent.receive())["error"]["code"] == -32800
        assert "result" in await asked(ends, 3, "terminal/kill", terminalId=terminal)
        assert "signal" in (await asked(ends, 4, "terminal/wait_for_exit", terminalId=terminal))["result"]


async def test_a_session_that_is_not_open_is_refused(tmp_path: Path) -> None:
    async with adapted(tmp_path) as ends:
        params = {"sessionId": "other", "path": str(tmp_path / "x"), "content": "x"}
        ends.agent.send_json(id=1, method="fs/write_text_file", params=params)
        assert "is not open" in (await ends.agent.receive())["error"]["message"]
        ends.agent.send_json(id=2, method="fs/write_text_file", params={"sessionId": "s"})
        assert (await ends.agent.receive())["error"]["code"] == -32602
