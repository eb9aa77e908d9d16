"""The built-in agent on the page: a command, a permission, a file that changes."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_porter_changes_a_file_once_it_may(chat: Chat, house: House, shoot: Shoot) -> None:
    file = house.workspace / "porter.txt"
    file.write_text("red boat\n")
    await chat.new_session("Porter")
    await chat.ask("/edit porter.txt s/red/blue/")
    card = chat.card(re.compile("^Permission: .*porter.txt"))
    await expect(card).to_be_visible()
    assert file.read_text() == "red boat\n"
    await shoot(chat, "porter", night=True)
    await card.get_by_role("button", name="Allow once", exact=True).click()
    await expect(chat.answers).to_contain_text("1 line added, 1 removed")
    await expect(chat.fold("porter.txt.*done")).to_be_visible()
    assert file.read_text() == "blue boat\n"


async def test_what_porter_can_do_is_offered_before_anything_was_asked(chat: Chat) -> None:
    await chat.new_session("Porter")
    commands = chat.log.get_by_role("list", name="Commands")
    await commands.get_by_role("button", name=re.compile("explain")).click()
    await expect(chat.prompt).to_have_value("/explain ")
    await expect(chat.prompt).to_be_focused()
