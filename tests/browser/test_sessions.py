"""Many sessions on one page: tabs, the history, and what can be done with each."""

import json
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named, say
from tests.browser.conftest import Open, Shoot
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_tabs_have_one_session_each(chat: Chat) -> None:
    await chat.tell(named("Ropes"), say("Knots."))
    await chat.new_session()
    await chat.tell(named("Sails"), say("Wind."))
    await expect(chat.tabs).to_have_count(2)
    await expect(chat.answers).to_have_text("Wind.")
    await chat.tab(re.compile("^Ropes")).click()
    await expect(chat.answers).to_have_text("Knots.")
    await expect(chat.tab(re.compile("^Ropes"))).to_have_attribute("aria-selected", "true")
    await chat.tab(re.compile("^Ropes")).get_by_title("Close", exact=True).click()
    await expect(chat.tabs).to_have_count(1)
    await expect(chat.answers).to_have_text("Wind.")


async def test_tabs_are_there_again_after_a_reload(chat: Chat) -> None:
    await chat.tell(named("Ropes"), say("Knots."))
    await chat.new_session()
    await chat.tell(named("Sails"), say("Wind."))
    await chat.tab(re.compile("^Ropes")).click()
    await chat.page.reload()
    await expect(chat.tabs).to_have_text([re.compile("^Ropes"), re.compile("^Sails")])
    await expect(chat.answers).to_have_text("Knots.")


async def test_a_session_is_renamed_and_pinned_and_stays_so(chat: Chat, shoot: Shoot) -> None:
    await chat.tell(named("Ropes"), say("Knots."))
    await chat.new_session()
    await chat.tell(named("Sails"), say("Wind."))
    await chat.do("Rename", "Ropes")
    field = chat.history.get_by_role("textbox", name="New name of Ropes")
    await expect(field).to_be_focused()
    await field.fill("Rigging")
    await field.press("Enter")
    await expect(chat.tab(re.compile("^Rigging"))).to_be_visible()
    await chat.tab(re.compile("^Rigging")).click()
    await chat.tell(named("Ropes again"), say("More knots."))
    await expect(chat.tab(re.compile("^Rigging"))).to_be_visible()
    await chat.do("Pin", "Sails")
    pinned = chat.history.get_by_role("region", name="Pinned")
    await expect(pinned).to_contain_text("Sails")
    await shoot(chat, "history", widths=(420, 1280), night=True)
    await chat.page.reload()
    await expect(pinned).to_contain_text("Sails")
    await expect(chat.tab(re.compile("^Rigging"))).to_be_visible()
    await chat.do("Unpin", "Sails")
    await expect(pinned).to_have_count(0)


async def test_the_tab_in_front_stays_in_sight_and_a_wheel_brings_the_others(chat: Chat) -> None:
    for _ in range(7):
        await chat.new_session()
    await chat.page.set_viewport_size({"width": 300, "height": 760})
    await expect(chat.tabs.last).to_be_in_viewport(ratio=1)
    await expect(chat.tabs.last).to_have_attribute("aria-selected", "true")
    await expect(chat.tabs.first).not_to_be_in_viewport()
    await chat.tabs.last.hover()
    await chat.page.mouse.wheel(0, -2000)
    await expect(chat.tabs.first).to_be_in_viewport(ratio=1)


async def test_a_title_that_is_too_long_shows_how_it_begins_in_any_script(chat: Chat) -> None:
    title = "שלום עולם תקן את הדלת של הנמל לפני שהספינות חוזרות הביתה בערב"
    await chat.tell(named(title), say("Mended."))
    for shown in (chat.tabs.get_by_text(title), chat.history.get_by_text(title)):
        await expect(shown).to_have_css("direction", "rtl")
    await expect(chat.history.get_by_text(title)).to_have_attribute("title", title)


async def test_a_tab_tells_how_its_session_does_while_another_is_in_front(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-elsewhere"
    await chat.ask(named("Far away"), {"wait_file": str(go)}, say("Back."))
    await expect(chat.tab(re.compile("Far away.*working"))).to_be_visible()
    await chat.new_session()
    go.touch()
    await expect(chat.tab(re.compile("Far away.*done"))).to_be_visible()


async def test_the_history_has_titles_status_and_time_and_opens_a_session(chat: Chat, shoot: Shoot) -> None:
    await chat.tell(named("A hull to scrape"), say("Scraped."))
    await chat.tabs.get_by_title("Close", exact=True).click()
    await chat.show_history()
    entry = chat.history.get_by_role("button", name=re.compile("^A hull to scrape")).first
    await expect(entry).to_contain_text("scripted · done")
    await expect(entry.get_by_role("time")).to_have_text(re.compile("now|min"))
    await expect(entry.get_by_role("time")).to_have_attribute("datetime", re.compile(r"^20\d\d-"))
    await shoot(chat, "history", night=True)
    await entry.click()
    await expect(chat.answers).to_have_text("Scraped.")


async def test_in_a_wide_window_the_history_stands_beside_the_conversation_as_it_was_left(chat: Chat) -> None:
    await expect(chat.history).to_be_visible()
    await chat.button("History").click()
    await expect(chat.history).to_have_count(0)
    await chat.page.reload()
    await chat.ready()
    await expect(chat.history).to_have_count(0)


async def test_the_history_is_searched(chat: Chat) -> None:
    await chat.tell(named("Barnacles below"), say("Many."))
    await chat.narrow()
    await chat.button("History").click()
    search = chat.page.get_by_role("searchbox", name="Search sessions")
    await expect(search).to_be_focused()
    await search.fill("barnacles")
    names = chat.history.locator(".p-entry-name")
    await expect(names).to_have_text(["Barnacles below"])
    await search.fill("no boat has this name")
    await expect(chat.history.get_by_text("Nothing found.")).to_be_visible()


async def test_words_of_any_message_are_found_and_lead_to_their_place(chat: Chat, shoot: Shoot) -> None:
    await chat.tell(named("Rigging"), say("The halyard needs grease."))
    for number in range(3):
        await chat.tell(say(f"Answer {number}\n\n" * 60))
    await chat.new_session()
    await chat.show_history()
    await chat.page.get_by_role("searchbox", name="Search sessions").fill("halyard gre")
    hit = chat.history.get_by_role("region", name="Messages").get_by_role("button").first
    await expect(hit).to_contain_text("The halyard needs grease.")
    await expect(hit.locator("mark")).to_have_text(["halyard", "grease"])
    await shoot(chat, "message-hits", night=True, widths=(1100,))
    await hit.click()
    await expect(chat.answers.get_by_text("The halyard needs grease.")).to_be_in_viewport()


async def test_a_deleted_session_can_be_brought_back_for_a_moment(chat: Chat, house: House) -> None:
    await chat.tell(named("Regrets"), say("None."))
    session_id = await chat.session_id()
    await chat.show_history()
    await chat.do("Delete", "Regrets")
    await expect(chat.history.get_by_text("Regrets")).to_have_count(0)
    await chat.button("Undo").click()
    await expect(chat.history.get_by_text("Regrets")).to_be_visible()
    assert house.session(session_id)["summary"]["title"] == "Regrets"


async def test_a_deleted_session_is_gone_once_it_is_too_late(chat: Chat, house: House) -> None:
    await chat.tell(named("Sunk"), say("Gone."))
    await chat.show_history()
    await chat.page.clock.install()
    await chat.do("Delete", "Sunk")
    await expect(chat.page.get_by_text("Deleted “Sunk”.")).to_be_visible()
    await chat.page.clock.fast_forward(10_000)
    await expect(chat.page.get_by_text("Deleted “Sunk”.")).to_have_count(0)
    left = house.server.ask("ListSessions", {"search": "Sunk"})
    assert left.get("sessions", []) == []


async def test_a_session_is_exported_as_markdown_and_as_json(chat: Chat, tmp_path: Path) -> None:
    await chat.tell(named("Logbook"), say("Fair wind."))
    await chat.show_history()
    texts = {}
    entry = chat.history.get_by_role("button", name=re.compile("^Logbook")).first
    for kind in ("Markdown", "JSON"):
        await entry.hover()
        async with chat.page.expect_download() as started:
            await chat.button(f"Export Logbook as {kind}").click()
        download = await started.value
        saved = tmp_path / download.suggested_filename
        await download.save_as(saved)
        texts[saved.suffix] = saved.read_text()
    assert "Fair wind." in texts[".md"]
    assert "Fair wind." in texts[".json"]
    json.loads(texts[".json"])


async def test_a_session_is_forked_where_the_agent_can(chat: Chat) -> None:
    await chat.tell(named("Crossroads"), say("Left or right?"))
    first = await chat.session_id()
    await chat.show_history()
    await chat.do("Fork", "Crossroads")
    await expect(chat.tabs).to_have_count(2)
    await expect(chat.answers.first).to_contain_text("Left or right?")
    assert await chat.session_id() != first
    await chat.tell(say("Right."))
    await expect(chat.answers.last).to_have_text("Right.")


async def test_a_turn_is_stopped(chat: Chat) -> None:
    await chat.ask(say("I will never end."), {"hang": {}})
    await expect(chat.answers).to_have_text("I will never end.")
    await chat.stop_button.click()
    await expect(chat.seen(re.compile("^Stopped"))).to_be_visible()
    await chat.rested()


async def test_two_pages_on_one_session_see_the_same(chat: Chat, open_page: Open, house: House) -> None:
    await chat.tell(named("Twins"), say("One."))
    other = await open_page(house.server.url, beside=chat)
    await expect(other.answers).to_have_text("One.")
    await chat.tell(say("Two."))
    await expect(other.answers).to_have_text(["One.", "Two."])
    await other.ask("permission")
    await chat.card(re.compile("^Permission")).get_by_role("button", name="Reject", exact=True).click()
    for one in (chat, other):
        await expect(one.seen(re.compile("^Denied"))).to_be_visible()
        await one.rested()
    await expect(other.log).to_have_text(await chat.log.inner_text(), use_inner_text=True)
