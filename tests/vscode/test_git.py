"""Work on a branch or in a worktree, where a real VS Code shows such things."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named
from tests.browser.user_environment import House
from tests.vscode.conftest import OUTPUT, Open
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")
NEVER_BY_ITSELF = {"git.autorefresh": False, "git.autofetch": False}
"""Anything shown then was shown on request."""


def repository(folder: Path) -> Path:
    settings = folder / ".vscode" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(NEVER_BY_ITSELF))
    (folder / "log.txt").write_text("first\n")
    for words in (
        ("init", "--quiet", "--initial-branch", "main"),
        ("add", "."),
        ("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "First"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    return folder


async def begin(window: Workbench, chat: Chat, command: str) -> None:
    before = await chat.session_id()
    await window.command(command)
    await expect(window.chat_frame.locator(f"#tab-{before}[aria-selected=true]")).to_have_count(0)
    await chat.ready()


async def test_the_scm_view_shows_what_a_branch_session_has_changed_as_soon_as_its_turn_is_over(
    open_window: Open, house: House
) -> None:
    window = await open_window(repository(house.home / "lighthouse"))
    await window.command("Source Control: Focus on Changes View")
    changes = window.page.get_by_role("tree", name="Source Control Management").get_by_role("treeitem")
    await expect(window.status_bar.get_by_text("main", exact=True)).to_be_visible()
    chat = await window.open_chat()
    await begin(window, chat, "Portico: Start on a Branch")
    await chat.tell(named("Paint"), {"write": {"path": "log.txt", "content": "first\nsecond\n"}})
    await expect(window.status_bar.get_by_text("portico/")).to_have_count(1)
    await window.command("Source Control: Focus on Changes View")
    await expect(changes.filter(has_text="log.txt")).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "branch.png")
    await window.command("Portico: Add Git Changes to Chat")
    await expect(chat.prompt).to_have_value(
        re.compile(r"Git changes:\n\n```diff\ndiff --git a/log.txt .*\+second", re.DOTALL)
    )
    await chat.prompt.fill("")

    chat = await window.open_chat()
    await begin(window, chat, "Portico: Start in a Worktree")
    await chat.tell(named("Polish"), {"write": {"path": "log.txt", "content": "polished\n"}})
    await expect(window.status_bar.locator("[id$='portico.work']")).to_contain_text("Worktree")
    status = house.server.ask("GetReviewStatus", {"sessionId": await chat.session_id()})
    async with window.page.context.expect_page() as opened:
        await window.command("Portico: Open Worktree in New Window")
    other = Workbench(await opened.value)
    await other.loaded()
    assert Path(status["folder"]).name in other.page.url
    await other.leave_chat()
    await expect(other.page.get_by_role("treeitem", name="log.txt")).to_be_visible()
    assert (house.home / "lighthouse" / "log.txt").read_text() == "first\nsecond\n"
    await other.close()
