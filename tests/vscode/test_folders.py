"""A window with several folders, in a real VS Code: each session works in the one that the person picks."""

import json
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named, say
from tests.browser.user_environment import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT, Open
from tests.vscode.editor import CodeServer
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def open_both(open_window: Open, house: House, other: Path) -> Workbench:
    """A window with two folders. VS Code that could not read in time which ones shows none, until it is loaded again."""
    file = other.with_suffix(".code-workspace")
    file.write_text(json.dumps({"folders": [{"path": str(house.workspace)}, {"path": str(other)}]}))
    window = await open_window(file)
    roots = window.page.get_by_role("tree", name="Files Explorer").locator("[aria-level='1']")

    async def attempt() -> None:
        try:
            await window.leave_chat()
            await expect(roots).to_have_text([house.workspace.name, other.name], timeout=ATTEMPT_MS)
        except AssertionError:
            await window.page.reload()
            await window.loaded()
            raise

    await persist(attempt)
    return window


async def begin_in(window: Workbench, chat: Chat, folder: str, *, offered: list[str]) -> str:
    """A new session in a folder that is picked; which ones are offered, in which order. The session's name."""
    before = await chat.session_id()
    rows = window.picker.locator(".monaco-list-row .label-name:visible")

    async def attempt() -> None:
        await window.command("Portico: New Session")
        await expect(rows).to_have_text(offered, timeout=ATTEMPT_MS)

    await persist(attempt)
    await window.pick(folder)
    await expect(window.chat_frame.locator(f"#tab-{before}[aria-selected=true]")).to_have_count(0)
    await chat.ready()
    return await chat.session_id()


async def follow(window: Workbench, chat: Chat, words: str, *, shows: str) -> None:
    """A link of an answer to a file, and what is in that."""
    await chat.log.locator(".prose-path").get_by_text(words).click()
    await expect(window.editor.locator(".view-lines")).to_contain_text(shows)


async def close_editors(window: Workbench) -> None:
    async def attempt() -> None:
        await window.command("View: Close All Editors")
        await expect(window.page.locator(".tabs-container .tab")).to_have_count(0, timeout=ATTEMPT_MS)

    await persist(attempt)


async def add_file(window: Workbench, chat: Chat, name: str) -> None:
    """The one in the editor, and by which name it comes into the draft."""

    async def attempt() -> None:
        await chat.prompt.fill("")
        await window.command("Portico: Add File to Chat")
        await expect(chat.prompt).to_have_value(f"@{name} ", timeout=ATTEMPT_MS)

    await persist(attempt)


async def test_sessions_begin_in_the_folder_that_is_picked_and_are_listed_by_folder(
    open_window: Open, code_server: CodeServer, house: House
) -> None:
    docks = house.home / "docks"
    docks.mkdir(exist_ok=True)
    (docks / "cranes.py").write_text("first\n")
    window = await open_both(open_window, house, docks)
    chat = await window.open_chat()
    await chat.tell(say(f"See [the cranes]({docks}/cranes.py)."))
    await follow(window, chat, "the cranes", shows="first")
    session = await begin_in(window, chat, "harbour", offered=["docks", "harbour"])
    assert house.session(session)["summary"]["workspace"] == str(house.workspace)
    await chat.tell(named("Dredging"), say("Deep."))
    await close_editors(window)
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


async def test_what_a_session_names_is_a_file_of_its_own_folder(open_window: Open, house: House) -> None:
    quays = house.home / "quays"
    quays.mkdir(exist_ok=True)
    (quays / "boats.py").write_text("moored\nat the quays\n")
    assert (house.workspace / "boats.py").read_text() == "first\nsecond\n"
    window = await open_both(open_window, house, quays)
    chat = await window.open_chat()
    session = await begin_in(window, chat, "quays", offered=["harbour", "quays"])
    places = [{"path": "boats.py", "line": 2}]
    read = {"title": "Read the boats", "kind": "read", "locations": places}
    answer = f"They are in [the list](boats.py:1), beside [the notes]({house.workspace}/notes.txt)."
    await chat.tell({"tool": read}, say(answer))

    # The folder that was picked last is another one than that of the session in front.
    await begin_in(window, chat, "harbour", offered=["quays", "harbour"])
    await window.chat_frame.locator(f"#tab-{session}").click()
    await follow(window, chat, "the list", shows="at the quays")
    await chat.fold("Read the boats").click()
    await chat.log.get_by_role("list", name="Files").get_by_role("button", name="boats.py:2").click()
    await expect(window.status_bar.get_by_text("Ln 2, Col 1")).to_be_visible()
    await expect(window.editor.locator(".view-lines")).to_contain_text("at the quays")
    await expect(window.page.locator(".tabs-container .tab")).to_have_count(1)

    await add_file(window, chat, "boats.py")
    await follow(window, chat, "the notes", shows="second")
    await add_file(window, chat, f"{house.workspace}/notes.txt")
    await window.page.screenshot(path=OUTPUT / "folder-of-the-session.png")
