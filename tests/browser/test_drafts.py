"""Words that were not sent yet are never lost."""

import asyncio
import re

import pytest
from playwright.async_api import Route, expect

from tests.browser.chat import Chat, named, say
from tests.browser.conftest import Open
from tests.browser.user_environment import House
from tests.support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = "half a thought about ropes"


def has_draft(house: House, session_id: str, words: str = WORDS) -> bool:
    return bool(house.session(session_id).get("desk", {}).get("draft", "") == words)


async def test_a_draft_is_at_the_server_soon_and_on_the_tab(chat: Chat, house: House) -> None:
    await chat.prompt.press_sequentially(WORDS)
    await expect(chat.tab(re.compile("Draft"))).to_be_visible()
    session_id = await chat.session_id()
    wait_until(lambda: has_draft(house, session_id), "a draft at the server")
    await chat.new_session()
    await expect(chat.tabs.first).to_contain_text("Draft")


async def test_a_draft_survives_a_reload_right_after_the_last_key(chat: Chat) -> None:
    await chat.prompt.press_sequentially(WORDS)
    await chat.page.reload()
    await expect(chat.prompt).to_have_value(WORDS)


async def test_a_draft_survives_the_end_of_its_tab(chat: Chat, house: House, open_page: Open) -> None:
    await chat.tell(named("Moorings"), say("Fast."))
    await chat.prompt.press_sequentially(WORDS)
    session_id = await chat.session_id()
    await chat.page.close(run_before_unload=True)
    wait_until(lambda: has_draft(house, session_id), "a draft at the server")
    other = await open_page(house.server.url, beside=chat)
    await expect(other.prompt).to_have_value(WORDS)


async def test_a_draft_goes_when_it_is_sent(chat: Chat, house: House) -> None:
    await chat.prompt.press_sequentially(WORDS)
    session_id = await chat.session_id()
    wait_until(lambda: has_draft(house, session_id), "a draft at the server")
    await chat.prompt.press("Enter")
    await chat.rested()
    await expect(chat.answers).to_have_text(WORDS)
    wait_until(lambda: has_draft(house, session_id, ""), "the end of the draft")
    await expect(chat.tab(re.compile("Draft"))).to_have_count(0)


async def test_a_prompt_in_line_is_named_as_such_and_not_as_a_draft(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-with-the-line"
    await chat.ask(named("Long haul"), say("Wait."), {"wait_file": str(go)})
    await expect(chat.answers).to_have_text("Wait.")
    await chat.ask("the next thing")
    await chat.show_history()
    entry = chat.history.get_by_role("button", name=re.compile("^Long haul"))
    await expect(entry).to_contain_text("1 queued")
    await expect(entry).not_to_contain_text("Draft")
    await chat.prompt.press_sequentially(WORDS)
    await expect(entry).to_contain_text("Draft")
    go.touch()
    await expect(chat.answers).to_have_text(["Wait.", "the next thing"])
    await expect(entry).not_to_contain_text("queued")
    await expect(entry).to_contain_text("Draft")


async def test_a_draft_is_the_same_on_two_pages(chat: Chat, open_page: Open, house: House) -> None:
    await chat.tell(named("Two desks"), say("Ready."))
    other = await open_page(house.server.url, beside=chat)
    await expect(other.answers).to_have_text("Ready.")
    await chat.prompt.press_sequentially(WORDS)
    await expect(other.prompt).to_have_value(WORDS)


async def test_what_two_pages_write_at_the_same_time_is_lost_on_neither(
    chat: Chat, open_page: Open, house: House
) -> None:
    await chat.tell(named("Two pens"), say("Ready."))
    other = await open_page(house.server.url, beside=chat)
    await expect(other.answers).to_have_text("Ready.")
    typed_there = asyncio.Event()

    async def hold(route: Route) -> None:
        await typed_there.wait()
        await route.continue_()

    await chat.page.route("**/SubmitClientEvent", hold)
    await chat.prompt.fill("ropes for the mast")
    await other.prompt.fill("knots for the sails")
    note = chat.composer.get_by_role("status").filter(has_text="Another version of this draft")
    await expect(note).to_contain_text("knots for the sails")
    await expect(chat.prompt).to_have_value("ropes for the mast")
    typed_there.set()
    session_id = await chat.session_id()
    wait_until(lambda: has_draft(house, session_id, "ropes for the mast"), "the words of the first page")
    await chat.page.reload()
    await expect(chat.prompt).to_have_value("ropes for the mast")
    await note.get_by_role("button", name="Use it").click()
    await expect(chat.prompt).to_have_value("knots for the sails")
    await expect(chat.prompt).to_be_focused()
    await expect(note).to_contain_text("ropes for the mast")
    await expect(other.prompt).to_have_value("knots for the sails")
    await note.get_by_role("button", name="Dismiss").click()
    await expect(note).to_have_count(0)
    await expect(chat.prompt).to_have_value("knots for the sails")


async def test_a_draft_survives_the_death_of_the_server_and_of_the_page(
    own_house: House, open_page: Open
) -> None:
    chat = await open_page(own_house.open())
    await chat.tell(named("Storm"), say("Hold on."))
    await chat.prompt.press_sequentially(WORDS)
    session_id = await chat.session_id()
    wait_until(lambda: has_draft(own_house, session_id), "a draft at the server")
    own_house.kill()
    await chat.prompt.press_sequentially(" and knots")
    link = own_house.open()
    wait_until(lambda: has_draft(own_house, session_id, f"{WORDS} and knots"), "the whole draft")
    await chat.page.context.close()
    again = await open_page(link)
    await again.show_history()
    await again.history.get_by_role("button", name=re.compile("^Storm")).first.click()
    await expect(again.prompt).to_have_value(f"{WORDS} and knots")
