"""Keyboard focus: when the focused element goes away, focus moves to a useful place."""

import re

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chat import Chat, named, say
from tests.browser.test_review import LINES, Harbour, card, changed, harbour, propose, review, writes
from tests.browser.user_environment import House

__all__ = ["harbour"]
pytestmark = pytest.mark.asyncio(loop_scope="session")


def entry(chat: Chat, title: str) -> Locator:
    return chat.history.get_by_role("button", name=re.compile(f"^{title}"))


async def converse(chat: Chat, *titles: str) -> None:
    for title in titles:
        await chat.new_session()
        await chat.tell(named(title), say("Here."))
        await expect(entry(chat, title)).to_be_visible()


async def test_the_focus_goes_to_the_next_session_of_the_history_when_one_is_deleted(chat: Chat) -> None:
    await converse(chat, "Left on the shelf", "Thrown overboard", "Still in front")
    await chat.button("Delete Thrown overboard").focus()
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_text("Deleted “Thrown overboard”.")).to_be_visible()
    await expect(entry(chat, "Left on the shelf")).to_be_focused()


async def test_the_focus_goes_to_the_prompt_when_a_deletion_is_taken_back(chat: Chat) -> None:
    await converse(chat, "Still at hand", "Fished out again")
    await chat.button("Delete Fished out again").focus()
    await chat.page.keyboard.press("Enter")
    await chat.button("Undo").focus()
    await chat.page.keyboard.press("Enter")
    await expect(chat.prompt).to_be_focused()


async def test_the_focus_goes_to_the_prompt_when_the_stop_button_goes(chat: Chat) -> None:
    await chat.ask({"hang": {}})
    await chat.stop_button.focus()
    await chat.page.keyboard.press("Enter")
    await chat.rested()
    await expect(chat.prompt).to_be_focused()


async def test_what_is_selected_stays_so_when_a_turn_ends(chat: Chat, house: House) -> None:
    """A click elsewhere leaves the composer, and the focus does not return."""
    go = house.workspace / "go-on-and-end"
    await chat.ask(say("Copy these words."), {"wait_file": str(go)}, say("The end."))
    await chat.stop_button.focus()
    await chat.seen("Copy these words.").click(click_count=3)
    go.touch()
    await chat.rested()
    await expect(chat.prompt).not_to_be_focused()
    assert "Copy these words." in await chat.page.evaluate("String(getSelection())")


async def test_the_focus_stays_on_the_card_of_a_proposal_that_is_applied_and_taken_back(
    chat: Chat, harbour: Harbour
) -> None:
    await propose(chat, writes("harbour.py", changed()))
    await card(chat).get_by_role("button", name="Apply all").focus()
    await chat.page.keyboard.press("Enter")
    await expect(chat.fold("Applied 1 file")).to_be_focused()
    await chat.button("Undo").focus()
    await chat.page.keyboard.press("Enter")
    await expect(card(chat).get_by_role("button", name=re.compile("harbour.py"))).to_be_focused()


async def test_the_focus_stays_in_the_review_that_nothing_came_of_and_goes_back_to_what_opened_it(
    chat: Chat, harbour: Harbour
) -> None:
    await propose(chat, writes("harbour.py", changed()))
    await card(chat).get_by_role("button", name="Review").focus()
    await chat.page.keyboard.press("Enter")
    await expect(review(chat).locator("[data-stop]:focus")).to_be_visible()
    harbour.write(["the person's own", *LINES[1:]])
    await review(chat).get_by_role("button", name="Apply all").focus()
    await chat.page.keyboard.press("Enter")
    await expect(review(chat).get_by_text("Not applied: files have changed.")).to_be_visible()
    await expect(review(chat)).to_be_focused()
    await chat.page.keyboard.press("Escape")
    await expect(review(chat)).to_have_count(0)
    await expect(card(chat).get_by_role("button", name="Resolve conflicts")).to_be_focused()
