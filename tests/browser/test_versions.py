"""A prompt that is edited in its place: the conversation branches off there, and both versions stay reachable."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.browser.test_accessibility import faults
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")


def versions(chat: Chat) -> Locator:
    return chat.log.get_by_role("group", name="Versions of this prompt")


async def test_a_prompt_is_edited_in_its_place_and_every_version_stays_reachable(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    mast = house.workspace / "mast.txt"
    mast.write_text("none\n")
    await chat.tell("say Which mast shall it be?")
    await chat.tell("write mast.txt fir")
    await chat.tell("say The fir mast stands.")
    assert mast.read_text() == "fir"

    # Escape leaves everything as it was.
    second = chat.prompts.nth(1)
    await second.hover()
    await second.get_by_role("button", name="Edit and send again").click()
    field = chat.log.get_by_role("textbox", name="Edited prompt")
    await expect(field).to_be_focused()
    await field.fill("something else")
    await field.press("Escape")
    await expect(second).to_contain_text("write mast.txt fir")

    await second.hover()
    await second.get_by_role("button", name="Edit and send again").click()
    await expect(field).to_have_value("write mast.txt fir")
    restore = chat.log.get_by_role("checkbox", name=re.compile("Restore 1 file"))
    await expect(restore).not_to_be_checked()
    await restore.check()
    await field.fill("read mast.txt")
    await shoot(chat, "edit-prompt", night=True, widths=(360, 420, 1280))
    assert await faults(chat) == []
    tabs = await chat.tabs.count()
    await field.press("Enter")

    # The same tab shows the branch: what was before, and the new version.
    await expect(versions(chat)).to_contain_text("2 of 2")
    await chat.rested()
    await expect(chat.prompts).to_have_count(2)
    await expect(chat.answers.last).to_contain_text("none")
    assert mast.read_text() == "none\n"
    await expect(chat.tabs).to_have_count(tabs)
    await expect(chat.prompt).to_be_focused()
    await shoot(chat, "versions", night=True, widths=(360, 420, 1280))
    assert await faults(chat) == []

    previous = versions(chat).get_by_role("button", name="Previous version")
    await previous.focus()
    await previous.press("Enter")
    await expect(versions(chat)).to_contain_text("1 of 2")
    await expect(chat.prompts).to_have_count(3)
    await expect(chat.answers.last).to_contain_text("The fir mast stands.")
    await versions(chat).get_by_role("button", name="Next version").click()
    await expect(versions(chat)).to_contain_text("2 of 2")

    # It is a session as any other after a reload.
    await chat.page.reload()
    await expect(versions(chat)).to_contain_text("2 of 2")
    await chat.tell("say And a sail.")
    await expect(chat.prompts).to_have_count(3)


async def test_a_prompt_is_not_edited_while_the_agent_works_and_the_words_are_kept(
    chat: Chat, tmp_path: Path
) -> None:
    await chat.tell("say one")
    await chat.ask({"say": "working"}, {"wait_file": str(tmp_path / "go")})
    await expect(chat.stop_button).to_be_visible()
    first = chat.prompts.first
    await first.hover()
    await first.get_by_role("button", name="Edit and send again").click()
    field = chat.log.get_by_role("textbox", name="Edited prompt")
    await field.fill("say uno")
    await field.press("Enter")
    edit = chat.log.get_by_role("group", name="Edit prompt")
    await expect(edit).to_contain_text("The agent is working.")
    await expect(edit.get_by_role("button", name="Send")).to_be_disabled()
    await chat.stop_button.click()
    await edit.get_by_role("button", name="Send").click()
    await expect(versions(chat)).to_contain_text("2 of 2")
    await expect(chat.answers.last).to_contain_text("uno")
