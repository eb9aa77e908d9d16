"""What an agent proposes, in the views and the diff editor of a real VS Code."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.house import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT, Open

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_proposal_is_looked_at_in_the_diff_editor_applied_and_taken_back(
    open_window: Open, house: House
) -> None:
    file = house.workspace / "notes.txt"
    before = file.read_text()
    window = await open_window()
    chat = await window.open_chat()
    await window.knows_session()
    await window.command("Portico: Switch Mode")
    await window.page.locator(".quick-input-list").get_by_text("Proposal", exact=True).click()
    await expect(chat.composer.get_by_role("combobox", name=re.compile("Proposal"))).to_be_visible()
    await chat.tell({"write": {"path": "notes.txt", "content": "first\nthird\n"}})
    await window.unfold("Changes")
    await window.entries("Changes").filter(has_text="notes.txt").click()
    diff = window.page.locator(".editor-instance .monaco-diff-editor")
    await expect(diff.locator(".modified .view-lines")).to_contain_text("third")
    await expect(diff.locator(".original .view-lines")).to_contain_text("second")
    await window.page.screenshot(path=OUTPUT / "diff.png")
    assert file.read_text() == before

    await window.command("Portico: Apply Proposal")
    applied = window.notification("Portico: applied.")
    await expect(applied).to_be_visible()
    assert file.read_text() == "first\nthird\n"
    await applied.get_by_role("button", name="Undo").click()
    wait_until(lambda: file.read_text() == before, "the file as it was")
