"""The chat in VS Code's side bar, in a real VS Code."""

import pytest
from playwright.async_api import expect

from tests.browser.chat import say
from tests.browser.scripted_requests import wish
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_turn_streams_into_the_side_bar_and_asks_for_permission(window: Workbench) -> None:
    chat = window.chat()
    code = "```python\ndef moor(boat): ...\n```\n\n"
    await chat.ask(say(f"{code}Looking at the **boats**."), *wish("make paint", "paint"))
    # The highlighter is a file of its own, which the page loads later.
    await expect(window.chat_frame.locator(".hl-keyword").first).to_have_text("def")
    await chat.card("Permission: Run make paint").get_by_role("button", name="Allow", exact=True).click()
    await expect(chat.answers.last).to_contain_text("paint: ran")
    await window.page.screenshot(path=OUTPUT / "chat.png")


async def test_a_view_that_was_hidden_comes_back_with_all_that_was_said(window: Workbench) -> None:
    chat = window.chat()
    await chat.prompt.fill("a draft that nobody has sent")
    await window.leave_chat()
    chat = await window.open_chat()
    await expect(chat.prompt).to_have_value("a draft that nobody has sent")


async def test_a_file_that_is_dragged_into_the_chat_is_mentioned(window: Workbench) -> None:
    page, chat = window.page, window.chat()
    await window.open_file("boats.py")
    await chat.prompt.fill("Look at")
    tab = page.locator(".tab.active").get_by_text("boats.py")

    async def drag() -> None:
        start, end = await tab.bounding_box(), await chat.prompt.bounding_box()
        assert start
        assert end
        await page.mouse.move(start["x"] + 5, start["y"] + 5)
        await page.mouse.down()
        await page.mouse.move(start["x"] + 40, start["y"] + 60, steps=5)
        # VS Code hands a drag to a view for as long as this key is held.
        await page.keyboard.down("Shift")
        await page.mouse.move(end["x"] + 30, end["y"] + 10, steps=10)
        over = window.chat_frame.get_by_text("Drop to mention")
        try:
            await expect(over).to_be_visible(timeout=ATTEMPT_MS)
            await page.screenshot(path=OUTPUT / "dragged.png")
        finally:
            await page.mouse.up()
            await page.keyboard.up("Shift")
        await expect(over).to_have_count(0)

    await persist(drag)
    await expect(chat.prompt).to_have_value("Look at @boats.py ")
    await chat.prompt.fill("")
