"""Everything that is sent to a server is what the specification says, by the types that are generated from it."""

import json
from pathlib import Path
from typing import Any

import cattrs
import pytest

from portico.domain.windows import CodeLookup
from tests.editors.language_servers.official_types import check_official
from tests.editors.language_servers.support import scripted, workspace


async def test_a_whole_conversation_fits_the_official_types(tmp_path: Path, own_home: Path) -> None:
    log = tmp_path / "log"
    providers = [
        "textDocument/typeDefinition", "textDocument/implementation", "textDocument/hover",
        "textDocument/prepareCallHierarchy", "workspace/symbol", "workspace/didChangeWatchedFiles",
    ]  # fmt: skip
    settings = scripted(
        {"settings": {"words": {"level": 3}}, "initializationOptions": {"fast": True}},
        log=str(log),
        register=providers,
        pull=True,
    )
    async with workspace(tmp_path / "w", own_home, **settings) as here:
        here.write("a.txt", "def thing\nBAD thing\n")
        here.write("b.txt", "x\n")
        place = CodeLookup(kind="definition", path=str(here.folder / "a.txt"), line=1, column=5)
        await here.ask("symbols", "a.txt")
        for kind in ("definition", "type_definition", "implementations", "references", "hover", "callers"):
            await here.ask(kind, "a.txt", line=1, column=5)
        await here.ask("symbols", query="thing")
        assert len(await here.problems("a.txt")) == 1
        here.write("b.txt", "y\n")
        here.write("a.txt", "def thing\nBAD BAD thing\n")
        assert len(await here.problems("a.txt")) == 2
        (here.folder / "b.txt").unlink()
        await here.servers.rename(here.tree, place, "other")
        await here.servers.act(here.tree, place, "Make it good")
    messages = [json.loads(line) for line in log.read_bytes().splitlines()]
    methods = {message["method"] for message in messages if "method" in message}
    assert methods >= {
        "initialize", "initialized", "shutdown", "exit", "textDocument/didOpen", "textDocument/didChange",
        "textDocument/didClose", "textDocument/didSave", "workspace/didChangeWatchedFiles", "textDocument/rename",
        "textDocument/codeAction", "textDocument/diagnostic", "workspace/didChangeConfiguration",
    }  # fmt: skip
    for message in messages:
        if "method" in message:
            check_official(message)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {"position": {"line": 0}}},
        {
            "jsonrpc": "2.0",
            "method": "textDocument/didClose",
            "params": {"textDocument": {"url": "file:///a"}},
        },
    ],
)
def test_a_message_that_does_not_fit_is_noticed(message: dict[str, Any]) -> None:
    with pytest.raises((cattrs.BaseValidationError, AssertionError, KeyError, TypeError)):
        check_official(message)
