"""Finding and starting Portico from the extension, and its messages if that fails, in a real VS Code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import say
from tests.browser.user_environment import House
from tests.support.program import PROGRAM
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT, Open
from tests.vscode.editor import CodeServer
from tests.vscode.workbench import OPEN_MS, Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(scope="module")
def wary(house: House, extensions: Path) -> Iterator[CodeServer]:
    """A VS Code that trusts no folder."""
    server = CodeServer(house.home / "wary", extensions, house.environ(), trusting=False)
    server.start()
    yield server
    server.end()


def folder_with_program(place: Path, program: str) -> Path:
    settings = place / ".vscode" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"portico.program": program}))
    return place


async def test_a_wrong_program_is_told_once_with_what_to_do_and_the_right_one_is_started_without_a_reload(
    open_window: Open, tmp_path: Path
) -> None:
    folder = folder_with_program(tmp_path / "broken", "/nowhere/portico")
    window = await open_window(folder)
    await window.show()
    told = await window.told("portico.program is /nowhere/portico")
    for remedy in ("Install", "Choose Program", "Show Log"):
        await expect(told.get_by_role("button", name=remedy)).to_be_visible()
    await expect(window.chat_frame.get_by_text("Portico is starting.")).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "broken.png")
    await expect(told).to_have_count(1)

    newer = tmp_path / "newer"
    newer.write_text("""#!/bin/sh\necho '{"name": "portico", "version": "9.9.0"}'\n""")
    newer.chmod(0o755)
    folder_with_program(folder, str(newer))
    told = await window.told("is Portico 9.9.0; this extension needs 0.1")
    for remedy in ("Install", "Choose Program", "Show Log"):
        await expect(told.get_by_role("button", name=remedy)).to_be_visible()

    folder_with_program(folder, str(PROGRAM))
    chat = window.chat()
    await expect(chat.prompt).to_be_editable(timeout=OPEN_MS)
    await chat.tell(say("Found after all."))
    await expect(chat.answers.last).to_contain_text("Found after all.")


async def test_a_folder_that_is_not_trusted_starts_nothing(
    open_window: Open, wary: CodeServer, tmp_path: Path
) -> None:
    program, started = tmp_path / "hostile", tmp_path / "started"
    program.write_text(f"#!/bin/sh\ntouch {started}\n")
    program.chmod(0o755)
    window = await open_window(folder_with_program(tmp_path / "foreign", str(program)), wary)
    await window.show()
    await window.told("does not run in untrusted folders")
    await window.unfold("Sessions")
    await expect(window.page.get_by_role("button", name="Manage Trust").first).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "untrusted.png")
    assert not started.exists()


async def test_what_one_looks_at_is_written_down_for_agents_in_the_terminal(
    window: Workbench, code_server: CodeServer, house: House
) -> None:
    await window.open_file("boats.py")
    await window.select_all()
    wanted = {"text": "first\nsecond\n", "startLine": 1, "endLine": 2}

    def is_written() -> bool:
        files = code_server.data.glob("User/workspaceStorage/*/*/editor-state-*.json")
        states = [json.loads(file.read_text()) for file in files]
        active = str(house.workspace / "boats.py")
        return any(one.get("activeFile") == active and one.get("selection") == wanted for one in states)

    wait_until(is_written, "the state file")
