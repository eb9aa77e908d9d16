"""A window with several folders, in a real VS Code: each session works in the one that the person picks."""

import json

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named, say
from tests.browser.house import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT, Open
from tests.vscode.editor import CodeServer
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def begin_in(window: Workbench, chat: Chat, folder: str, *, offered: list[str]) -> str:
    """A new session in a folder that is picked; which ones are offered, in which order. The session's name."""
    before = await chat.session_id()
    await window.command("Portico: New Session")
    rows = window.picker.locator(".monaco-list-row .label-name")
    await expect(rows).to_have_text(offered)
    await window.pick(folder)
    await expect(window.chat_frame.locator(f"#tab-{before}[aria-selected=true]")).to_have_count(0)
    await chat.ready()
    return await chat.session_id()


async def test_sessions_begin_in_the_folder_that_is_picked_and_are_listed_by_folder(
    open_window: Open, code_server: CodeServer, house: House
) -> None:
    docks = house.home / "docks"
    docks.mkdir()
    (docks / "cranes.py").write_text("first\n")
    file = house.home / "port.code-workspace"
    file.write_text(json.dumps({"folders": [{"path": str(house.workspace)}, {"path": str(docks)}]}))
    window = await open_window(file)
    chat = await window.open_chat()
    await window.open_file("cranes.py")
    session = await begin_in(window, chat, "harbour", offered=["docks", "harbour"])
    assert house.session(session)["summary"]["workspace"] == str(house.workspace)
    await chat.tell(named("Dredging"), say("Deep."))
    await window.command("View: Close All Editors")
    await expect(window.page.locator(".tabs-container .tab")).to_have_count(0)
    session = await begin_in(window, chat, "docks", offered=["harbour", "docks"])
    assert house.session(session)["summary"]["workspace"] == str(docks)
    await chat.tell(named("Greasing"), say("Smooth."))

    await window.unfold("Sessions")
    entries = window.entries("Sessions")
    for folder, title in (("docks", "Greasing"), ("harbour", "Dredging")):
        # Folders stand at the first level, and sessions below them.
        await expect(
            entries.and_(window.page.locator("[aria-level='1']")).filter(has_text=folder)
        ).to_be_visible()
        await expect(
            entries.and_(window.page.locator("[aria-level='2']")).filter(has_text=title)
        ).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "folders.png")

    def are_written() -> bool:
        files = code_server.data.glob("User/workspaceStorage/*/*/editor-state-*.json")
        folders = [json.loads(file.read_text())["workspaceFolders"] for file in files]
        return [str(house.workspace), str(docks)] in folders

    wait_until(are_written, "a state file with both folders")
