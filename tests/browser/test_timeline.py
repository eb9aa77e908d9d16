"""Long conversations: few rows on the page, and a reader who is left in peace."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, say
from tests.browser.house import House
from tests.support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROUNDS = 5_000
FEW_ROWS = 80


def ended(house: House, session_id: str) -> None:
    """Wait for the end of a turn that no page follows."""
    state = "TURN_STATE_COMPLETED"
    wait_until(
        lambda: house.session(session_id)["summary"]["state"] == state, "the end of the turn", seconds=60
    )


async def test_twenty_thousand_events_are_a_few_rows_on_the_page(chat: Chat, house: House) -> None:
    round_trip = [{"tool": {"title": "Haul", "kind": "read"}}, say("Heave.\n\n"), {"think": "Ho."}]
    await chat.ask({"repeat": {"count": ROUNDS, "steps": round_trip}}, say("Ahoy, the end."))
    await expect(chat.stop_button).to_be_visible()
    session_id = await chat.session_id()
    await chat.page.goto("about:blank")
    ended(house, session_id)
    assert int(house.session(session_id)["summary"]["lastSeq"]) > 20_000
    await chat.page.goto(house.server.url)
    await expect(chat.seen("Ahoy, the end.")).to_be_visible()
    rows = chat.log.locator(".p-row")
    assert await rows.count() < FEW_ROWS
    await chat.log.focus()
    for _ in range(6):
        await chat.page.keyboard.press("Home")
        await expect(chat.seen("Ahoy, the end.")).to_have_count(0)
        assert await rows.count() < FEW_ROWS
    await chat.button(re.compile("^To the end")).click()
    await expect(chat.seen("Ahoy, the end.")).to_be_visible()


async def test_the_page_follows_the_stream_only_at_the_bottom(chat: Chat, house: House) -> None:
    first, second = (house.workspace / f"go-on-following-{number}" for number in (1, 2))
    lines = "".join(f"line {number}\n\n" for number in range(80))
    await chat.ask(
        say(lines),
        {"wait_file": str(first)},
        say(lines + "more\n\n"),
        {"wait_file": str(second)},
        say("the end"),
    )
    await expect(chat.seen("line 79")).to_be_in_viewport()
    first.touch()
    await expect(chat.seen("more")).to_be_in_viewport()
    await chat.log.hover()
    await chat.page.mouse.wheel(0, -600)
    await expect(chat.seen("more")).not_to_be_in_viewport()
    jump = chat.button(re.compile("^(To the end|\\d+ new)"))
    await expect(jump).to_be_visible()
    place = await chat.log.evaluate("one => one.scrollTop")
    second.touch()
    await expect(chat.answers).to_contain_text("the end")
    await chat.rested()
    assert await chat.log.evaluate("one => one.scrollTop") == place
    await jump.click()
    await expect(chat.answers.get_by_text("the end")).to_be_in_viewport()
    await expect(jump).to_have_count(0)


async def test_a_reader_goes_from_prompt_to_prompt(chat: Chat) -> None:
    for turn in ("first", "second"):
        await chat.ask(say("".join(f"{turn} {number}\n\n" for number in range(60))))
        await expect(chat.seen(f"{turn} 59")).to_be_in_viewport()
    await chat.rested()
    await chat.log.focus()
    await expect(chat.prompts.first).not_to_be_in_viewport()
    await chat.page.keyboard.press("k")
    await expect(chat.prompts.last).to_be_in_viewport()
    await chat.page.keyboard.press("k")
    await expect(chat.prompts.first).to_be_in_viewport()


async def test_a_conversation_that_is_all_in_sight_has_no_way_to_its_end(chat: Chat) -> None:
    await chat.tell(say("A short word."))
    await chat.page.keyboard.press("Control+f")
    await chat.page.keyboard.type("short word")
    await chat.page.wait_for_function("() => CSS.highlights.get('p-found-current')?.size === 1")
    await expect(chat.button("To the end")).to_have_count(0)


async def test_a_turn_that_goes_on_while_the_page_is_away_is_all_there_when_it_is_back(
    chat: Chat, house: House
) -> None:
    go = house.workspace / "go-on-away"
    await chat.ask(say("Before. "), {"wait_file": str(go)}, say("Meanwhile."))
    await expect(chat.answers).to_have_text("Before.")
    session_id = await chat.session_id()
    await chat.page.goto("about:blank")
    go.touch()
    ended(house, session_id)
    await chat.page.goto(house.server.url)
    await expect(chat.answers).to_have_text("Before. Meanwhile.")


async def test_words_that_are_being_selected_stay_where_they_are_while_the_answer_goes_on(
    chat: Chat, house: House
) -> None:
    go = house.workspace / "go-on-below-the-selection"
    pages = "\n\n".join(f"Page {number} of the log." for number in range(60))
    await chat.ask(
        say(f"{pages}\n\nCopy these words.\n\n"), {"wait_file": str(go)}, say(pages), say("\n\nOver.")
    )
    words = chat.seen("Copy these words.")
    await words.click(click_count=3)
    go.touch()
    await chat.rested()
    await expect(words).to_be_in_viewport()
    assert "Copy these words." in await chat.page.evaluate("String(getSelection())")
    await chat.button("To the end").click()
    await expect(chat.seen("Over.")).to_be_in_viewport()
