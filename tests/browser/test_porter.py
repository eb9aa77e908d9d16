"""The built-in agent on the page: a command, a permission, a file that changes."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named, say
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
    await card.get_by_role("button", name="Allow", exact=True).click()
    await expect(chat.answers).to_contain_text("1 line added, 1 removed")
    await expect(chat.fold("porter.txt.*done")).to_be_visible()
    assert file.read_text() == "blue boat\n"


async def test_the_welcome_offers_what_fits_the_folder_recent_sessions_and_all_commands(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    (house.workspace / "README.md").write_text("# Boats\n")
    (house.workspace / "Makefile").write_text("test:\n\techo fine\n")
    await chat.tell(named("Count the boats"), say("Two."))
    await chat.new_session("Porter")
    suggestions = chat.log.get_by_role("list", name="Suggestions").get_by_role("button")
    await expect(suggestions).to_have_text(
        ["Run the testsmake test", "Get to know this projectREADME.md", "Find what is left to doTODO"]
    )
    await expect(chat.log.get_by_role("list", name="Recent sessions")).to_contain_text("Count the boats")
    await shoot(chat, "welcome", widths=(360, 420, 1280), night=True)
    await chat.page.set_viewport_size({"width": 360, "height": 700})
    await chat.log_fits()
    await suggestions.first.click()
    await expect(chat.prompt).to_have_value("/test")
    await chat.log.get_by_role("button", name="All commands").click()
    commands = chat.log.get_by_role("list", name="Commands")
    await commands.get_by_role("button", name=re.compile("explain")).click()
    await expect(chat.prompt).to_have_value("/test\n\n/explain ")
    await expect(chat.prompt).to_be_focused()


async def test_choosing_a_mode_leaves_the_welcome(chat: Chat) -> None:
    await chat.new_session("Porter")
    suggestions = chat.log.get_by_role("list", name="Suggestions")
    await expect(suggestions).to_be_visible()
    await chat.choose(re.compile("^Changes"), "Proposal")
    await expect(chat.log.get_by_text(re.compile("^Session continued"))).to_be_visible()
    await expect(suggestions).to_be_visible()


async def test_an_agent_without_such_commands_is_asked_in_words(chat: Chat, house: House) -> None:
    (house.workspace / "Makefile").write_text("test:\n\techo fine\n")
    await chat.log.get_by_role("button", name=re.compile("^Run the tests")).click()
    await expect(chat.prompt).to_have_value("Run the tests with `make test` and explain what fails.")
