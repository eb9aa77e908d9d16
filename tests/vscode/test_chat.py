"""The chat in VS Code's side bar, in a real VS Code."""

import pytest
from playwright.async_api import expect

from tests.browser.chat import say
from tests.browser.wishes import wish
from tests.vscode.conftest import OUTPUT
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_turn_streams_into_the_side_bar_and_asks_for_permission(window: Workbench) -> None:
    chat = window.chat()
    await chat.ask(say("Looking at the **boats**."), *wish("make paint", "paint"))
    await chat.card("Permission: Run make paint").get_by_role("button", name="Yes, run it").click()
    await expect(chat.answers.last).to_contain_text("paint: ran")
    await window.page.screenshot(path=OUTPUT / "chat.png")


async def test_a_view_that_was_hidden_comes_back_with_all_that_was_said(window: Workbench) -> None:
    chat = window.chat()
    await chat.prompt.fill("a draft that nobody has sent")
    await window.leave_chat()
    chat = await window.open_chat()
    await expect(chat.prompt).to_have_value("a draft that nobody has sent")
