"""Long conversations: few rows on the page, and a reader who is left in peace."""

import re
from functools import partial

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chat import Chat, say
from tests.browser.scripted_requests import wish
from tests.browser.user_environment import House
from tests.support.waiting import eventually, wait_until

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Frames in which nothing has moved any more, in a window of a width.
SETTLED = """async (width) => {
    const { scrollTop, scrollHeight } = document.querySelector(".p-scroller");
    for (let frame = 0; frame < 4; frame += 1) await new Promise(requestAnimationFrame);
    const now = document.querySelector(".p-scroller");
    return window.innerWidth === width && now.scrollTop === scrollTop && now.scrollHeight === scrollHeight;
}"""
IN_SIGHT = """(one) => {
    const [own, around] = [one, one.closest(".p-scroller")].map((each) => each.getBoundingClientRect());
    return own.bottom > around.top && own.top < around.top + around.height / 2;
}"""


def ended(house: House, session_id: str) -> None:
    """Wait for the end of a turn that no page follows."""
    state = "TURN_STATE_COMPLETED"
    wait_until(
        lambda: house.session(session_id)["summary"]["state"] == state, "the end of the turn", seconds=60
    )


async def edges(one: Locator) -> tuple[tuple[float, float], tuple[float, float]]:
    """From where to where it goes, across and down."""
    box = await one.bounding_box()
    assert box is not None
    return (box["x"], box["x"] + box["width"]), (box["y"], box["y"] + box["height"])


async def lie_apart(one: Locator, other: Locator) -> bool:
    pairs = zip(await edges(one), await edges(other), strict=True)
    return any(mine[1] <= its[0] or its[1] <= mine[0] for mine, its in pairs)


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
    jump = chat.button(re.compile("^(Jump to end|\\d+ new)"))
    await expect(jump).to_be_visible()
    await chat.page.wait_for_function(SETTLED, arg=await chat.page.evaluate("innerWidth"))
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
    await expect(chat.button("Jump to end")).to_have_count(0)


@pytest.mark.parametrize("height", [400, 480])
async def test_the_way_to_the_end_lies_over_nothing_that_can_be_pressed(chat: Chat, height: int) -> None:
    await chat.page.set_viewport_size({"width": 300, "height": height})
    await chat.ask(*wish("make " + "harbour " * 150, "build"))
    await expect(chat.button("Allow")).to_be_visible()
    await chat.log.hover()
    await chat.page.mouse.wheel(0, -150)
    jump = chat.button("Jump to end")
    await expect(jump).to_be_visible()
    for other in (
        chat.log,
        chat.composer,
        *await chat.page.get_by_role("toolbar").get_by_role("button").all(),
    ):
        await eventually(partial(lie_apart, jump, other), bool)
    await jump.click()
    await chat.button("Reject").click()
    await chat.rested()


async def test_opening_something_at_the_end_does_not_offer_the_way_there(chat: Chat) -> None:
    await chat.tell(say("line\n\n" * 60), {"think": "Short."}, say("Done."))
    await chat.page.evaluate(
        """() => {
            const seen = () => (document.querySelector(".p-jump") === null ? 0 : 1);
            window.offered = 0;
            new MutationObserver(() => (window.offered += seen()))
                .observe(document.body, { childList: true, subtree: true });
        }"""
    )
    await chat.fold("^Thought").click()
    await expect(chat.seen("Short.")).to_be_visible()
    await expect(chat.seen("Done.")).to_be_in_viewport()
    assert await chat.page.evaluate("window.offered") == 0


async def test_a_prompt_offers_more_or_less_of_itself_only_where_it_is_long(chat: Chat) -> None:
    await chat.tell("boats " * 120)
    more, less = chat.button("Show more"), chat.button("Show less")
    await expect(chat.prompts).to_be_visible()
    await chat.page.keyboard.press("Control+f")
    await chat.page.keyboard.type("boats")
    await chat.page.wait_for_function("() => CSS.highlights.get('p-found-current')?.size === 1")
    await expect(less).to_have_count(0)
    await chat.page.set_viewport_size({"width": 300, "height": 760})
    await less.click()
    await expect(more).to_be_visible()
    await chat.page.set_viewport_size({"width": 1100, "height": 760})
    await expect(more).to_have_count(0)


async def test_the_keys_of_the_find_box_press_its_own_buttons(chat: Chat) -> None:
    await chat.tell(say("One boat."))
    await chat.tell(say("More of the boat."))
    keys = chat.page.keyboard
    await keys.press("Control+f")
    await keys.type("boat.")
    count = chat.page.get_by_role("search").get_by_role("status")
    await expect(count).to_have_text("1 of 4")
    await keys.press("Enter")
    await expect(count).to_have_text("2 of 4")
    await keys.press("Tab")
    await expect(chat.button("Previous match")).to_be_focused()
    await keys.press("Enter")
    await expect(count).to_have_text("1 of 4")
    await chat.button("Close").focus()
    await keys.press("Enter")
    await expect(count).to_have_count(0)
    await expect(chat.log).to_be_focused()


async def test_a_key_that_belongs_to_an_input_method_does_nothing_else(chat: Chat) -> None:
    await chat.button("Find (Ctrl+F)").click()
    field = chat.page.get_by_role("textbox", name="Find in this conversation")
    await expect(field).to_be_focused()
    devtools = await chat.page.context.new_cdp_session(chat.page)
    begun = {"text": "ni", "selectionStart": 2, "selectionEnd": 2}
    await devtools.send("Input.imeSetComposition", begun)
    await chat.page.keyboard.press("Escape")
    await expect(field).to_be_focused()
    await expect(field).to_have_value("ni")
    await devtools.send("Input.insertText", {"text": "\u4f60"})
    await expect(field).to_have_value("\u4f60")
    await chat.page.keyboard.press("Escape")
    await expect(field).to_have_count(0)


async def test_nothing_is_looked_for_behind_what_covers_the_conversation(chat: Chat) -> None:
    search = chat.page.get_by_role("search", include_hidden=True)
    await chat.button("Settings").click()
    settings = chat.page.get_by_role("dialog", name="Settings")
    await expect(settings).to_be_visible()
    await chat.page.keyboard.press("Control+f")
    await chat.page.keyboard.press("Escape")
    await expect(settings).to_have_count(0)
    await expect(search).to_have_count(0)
    await chat.narrow()
    await chat.show_history()
    await chat.page.keyboard.press("Control+f")
    await chat.page.keyboard.press("Escape")
    await expect(chat.history).to_have_count(0)
    await expect(search).to_have_count(0)
    await chat.page.keyboard.press("Control+f")
    await expect(search).to_be_visible()


async def test_a_window_that_shows_everything_again_offers_no_way_to_the_end(chat: Chat) -> None:
    await chat.tell(say("line\n\n" * 20))
    await chat.page.set_viewport_size({"width": 600, "height": 400})
    await chat.log.hover()
    await chat.page.mouse.wheel(0, -2000)
    await expect(chat.button("Jump to end")).to_be_visible()
    await chat.page.set_viewport_size({"width": 600, "height": 1600})
    await expect(chat.button("Jump to end")).to_have_count(0)


async def test_a_reader_keeps_their_place_in_a_window_of_any_width(chat: Chat) -> None:
    pages = "\n\n".join(f"Page {number}. " + "The sea was calm. " * 12 for number in range(80))
    await chat.tell(say(pages))
    await chat.narrow()
    await chat.log.hover()
    await chat.page.mouse.wheel(0, -2400)
    await expect(chat.button("Jump to end")).to_be_visible()
    await chat.page.wait_for_function(SETTLED, arg=800)
    words = await chat.log.evaluate_handle(
        """one => [...one.querySelectorAll(".prose p")].find(
            (words) => words.getBoundingClientRect().top >= one.getBoundingClientRect().top
        )"""
    )
    read = words.as_element()
    assert read is not None
    for width in (300, 1100, 480, 800):
        await chat.page.set_viewport_size({"width": width, "height": 760})
        await chat.page.wait_for_function(SETTLED, arg=width)
        assert await read.evaluate(IN_SIGHT)


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
    await chat.button("Jump to end").click()
    await expect(chat.seen("Over.")).to_be_in_viewport()


async def test_whoever_looks_at_another_session_comes_back_to_where_they_read(chat: Chat) -> None:
    await chat.tell(*[say(f"Fathom {depth}.\n\n") for depth in range(300)])
    await expect(chat.seen("Fathom 299.")).to_be_visible()
    place = chat.log.get_by_text("Fathom 150.", exact=True)
    await place.evaluate("(one) => one.scrollIntoView()")
    await expect(chat.button("Jump to end")).to_be_visible()
    first = chat.tabs.and_(chat.page.locator("[aria-selected=true]"))
    name = await first.get_attribute("id")
    await chat.new_session()
    await expect(place).to_have_count(0)
    await chat.page.locator(f"[id='{name}']").click()
    await expect(place).to_be_visible()
    await chat.page.wait_for_function(SETTLED, arg=await chat.page.evaluate("innerWidth"))
    assert await place.evaluate(IN_SIGHT)
    await chat.button("Jump to end").click()
    await expect(chat.seen("Fathom 299.")).to_be_in_viewport()
    await chat.new_session()
    await chat.page.locator(f"[id='{name}']").click()
    await expect(chat.seen("Fathom 299.")).to_be_in_viewport()
