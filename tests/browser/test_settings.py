"""Settings of the page: what people look for, by search, in the words of the file; sounds; filters of search."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named
from tests.browser.conftest import Shoot
from tests.browser.test_accessibility import faults
from tests.browser.user_environment import House
from tests.support.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

LISTEN = """() => {
  window.played = 0;
  const make = AudioContext.prototype.createOscillator;
  AudioContext.prototype.createOscillator = function () { window.played += 1; return make.call(this); };
}"""


@pytest.fixture
def house(house: House) -> Iterator[House]:
    yield house
    house.settings({"agent": "scripted", "agents": house.agents})


async def test_settings_are_found_by_search_and_have_the_words_of_the_file(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    await chat.button("Settings").click()
    dialog = chat.page.get_by_role("dialog", name="Settings")
    review = dialog.get_by_role("region", name="Review mode")
    await review.get_by_role("combobox", name="review.mode").select_option("proposal")
    await expect(review.get_by_text("Saved.")).to_be_visible()
    file = house.home / "portico" / "config" / "settings.json"
    assert json.loads(file.read_text())["review"] == {"mode": "proposal"}

    search = dialog.get_by_role("searchbox", name="Search settings")
    await search.fill("maxcost")
    await expect(dialog.get_by_role("region")).to_have_count(1)
    budgets = dialog.get_by_role("region", name="Budgets")
    cost = budgets.get_by_role("group", name="maxCostUsd")
    await cost.get_by_role("textbox").fill("a lot")
    await cost.get_by_role("button", name="Save").click()
    await expect(cost.get_by_role("alert")).to_be_visible()
    await cost.get_by_role("textbox").fill("0.25")
    await cost.get_by_role("button", name="Save").click()
    await expect(cost.get_by_text("Saved.")).to_be_visible()
    assert json.loads(file.read_text())["maxCostUsd"] == 0.25
    await cost.get_by_role("button", name="Reset").click()
    await expect(cost.get_by_text("Reset.")).to_be_visible()
    assert "maxCostUsd" not in json.loads(file.read_text())

    for looked_for in ("theme", "mcp servers", "sandbox", "skills", "prompts", "shortcuts", "components"):
        await search.fill(looked_for)
        await expect(dialog.get_by_role("region").first).to_be_visible()
    await search.fill("")
    await shoot(chat, "settings", night=True, widths=(360, 420, 1280))
    assert await faults(chat) == []


async def test_the_end_of_a_turn_is_told_by_a_sound(chat: Chat) -> None:
    await chat.page.evaluate(LISTEN)
    await chat.button("Settings").click()
    dialog = chat.page.get_by_role("dialog", name="Settings")
    await dialog.get_by_role("checkbox", name="When a turn is done: Sound").check()
    tones = await chat.page.evaluate("window.played")
    assert tones > 0, "The sound is played once when it is switched on."
    await dialog.get_by_role("button", name="Close").click()
    await chat.tell(named("Ringing"), {"say": "Done."})
    await eventually(lambda: chat.page.evaluate("window.played"), lambda count: count == 2 * tones)


async def test_messages_are_filtered_by_agent_and_time(chat: Chat, shoot: Shoot) -> None:
    await chat.tell("say the halyard is frayed")
    await chat.new_session("plain")
    await chat.tell("the halyard is new")
    await chat.show_history()
    await chat.history.get_by_role("searchbox").fill("halyard")
    messages = chat.history.get_by_role("region", name="Messages")
    await expect(messages.get_by_role("button", name=re.compile("frayed"))).not_to_have_count(0)
    await expect(messages.get_by_role("button", name=re.compile("halyard is new"))).not_to_have_count(0)
    await chat.history.get_by_role("button", name="Filter messages").click()
    await chat.history.get_by_role("combobox", name="Agent").select_option("plain")
    await expect(messages.get_by_role("button", name=re.compile("frayed"))).to_have_count(0)
    await expect(messages.get_by_role("button", name=re.compile("halyard is new"))).not_to_have_count(0)
    await chat.history.get_by_role("combobox", name="Time").select_option("Past day")
    await expect(chat.history.get_by_role("button", name="Filter messages (2)")).to_be_visible()
    await expect(messages.get_by_role("button", name=re.compile("halyard is new"))).not_to_have_count(0)
    await shoot(chat, "search-filters", widths=(420, 1280), night=True)
