"""Accessibility of the page: themes, widths, keyboard only, screen readers."""

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chat import Chat, named, say
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.support.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
BAD = ("serious", "critical")
LIGHTS: tuple[Literal["light", "dark"], ...] = ("light", "dark")
CODE = "```python\nboat = 'a very long name of a boat that goes on and on, beyond the edge of a narrow window'\n```\n"
TABLE = (
    "| boat | crew | length | built | harbour | owner |\n|---|---|---|---|---|---|\n"
    "| a | b | c | d | e | f |\n"
)
ANSWER = (
    f"# Boats\n\nSee `{'long_name_' * 12}` and [a page](https://example.org).\n\n{CODE}\n{TABLE}\n> Quoted\n"
)
DIFF = {"path": "boats.py", "old": "sail = 2\n", "new": "sail = 4\n"}


async def converse(chat: Chat) -> None:
    """A conversation with a bit of everything."""
    plan = [{"content": "Caulk", "priority": "high", "status": "completed"}]
    edit = {"title": "Edit boats.py", "kind": "edit", "diff": DIFF}
    broken = {"title": "Run a-very-long-command " + "--flag " * 12, "statuses": ["failed"], "text": "No."}
    await chat.tell(
        {"think": "Hm."}, {"plan": plan}, {"tool": {"id": "edit", **edit}}, {"tool": {"id": "bad", **broken}}
    )
    await chat.fold("Edit boats.py").click()
    await chat.tell(say(ANSWER), {"usage": {"used": 900, "size": 1000}})


async def faults(chat: Chat) -> list[str]:
    """Serious findings of axe, in the light and the dark theme."""
    await chat.page.evaluate(AXE.read_text())
    wrong = []
    for light in LIGHTS:
        await chat.page.emulate_media(color_scheme=light)
        await chat.painted()
        found: dict[str, Any] = await chat.page.evaluate("axe.run({ resultTypes: ['violations'] })")
        wrong += [
            f"{light}: {one['id']}: {node['html'][:200]}: {node['failureSummary']}"
            for one in found["violations"]
            if one["impact"] in BAD
            for node in one["nodes"]
        ]
    return wrong


async def looks(several: Locator) -> list[str]:
    """Outlines that distinguish each of them from the others."""
    found: list[str] = await several.evaluate_all(
        """(all) => all.map((one) => {
            const { outlineStyle, outlineWidth, borderWidth } = getComputedStyle(one);
            return [outlineStyle, outlineWidth, borderWidth].join();
        })"""
    )
    return found


async def test_axe_finds_nothing_serious_on_the_page(chat: Chat) -> None:
    found = {"empty": await faults(chat)}
    await converse(chat)
    found["conversation"] = await faults(chat)
    await chat.show_history()
    found["history"] = await faults(chat)
    await chat.button("Settings").click()
    found["settings"] = await faults(chat)
    await chat.page.keyboard.press("Escape")
    await chat.prompt.fill("/re")
    found["commands"] = await faults(chat)
    await chat.ask("permission")
    await expect(chat.card(re.compile("^Permission"))).to_be_visible()
    found["permission"] = await faults(chat)
    await chat.stop_button.click()
    await chat.rested()
    await chat.ask("question")
    await expect(chat.card(re.compile("^Question"))).to_be_visible()
    found["question"] = await faults(chat)
    await chat.stop_button.click()
    await chat.rested()
    await chat.ask("crash")
    await expect(chat.card(re.compile("^Error"))).to_be_visible()
    found["error"] = await faults(chat)
    assert {state: wrong for state, wrong in found.items() if wrong} == {}


async def test_nothing_is_wider_than_a_side_bar_of_300_pixels(chat: Chat, shoot: Shoot) -> None:
    await chat.page.set_viewport_size({"width": 300, "height": 700})
    await chat.fits()
    await converse(chat)
    await chat.fits()
    await chat.log_fits()
    await shoot(chat, "conversation", night=True)
    await chat.button("History").click()
    await expect(chat.history).to_be_visible()
    await chat.fits()
    await chat.page.keyboard.press("Escape")
    await chat.button("Settings").click()
    await expect(chat.page.get_by_role("dialog", name="Settings")).to_be_visible()
    await chat.fits()
    await chat.page.keyboard.press("Escape")
    for prompt in ("permission", "question"):
        await chat.ask(prompt)
        await expect(chat.card(re.compile("^(Permission|Question)"))).to_be_visible()
        await chat.fits()
        await chat.stop_button.click()
        await chat.rested()


async def test_a_low_window_leaves_room_for_the_conversation(chat: Chat) -> None:
    await converse(chat)
    hints = chat.composer.get_by_text("for a new line")
    await expect(hints).to_be_visible()
    await chat.page.set_viewport_size({"width": 320, "height": 256})
    await expect(hints).to_be_hidden()
    # Before the page has measured itself anew, which is before it is painted, the composer takes all the room.
    await eventually(lambda: height(chat.log), lambda found: found > 256 / 4)
    await chat.fits()


async def test_the_page_is_light_or_dark_as_the_system_is_or_as_one_likes(chat: Chat) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    day = await chat.page.evaluate(ground)
    await chat.page.emulate_media(color_scheme="dark")
    assert brightness(day) > 200
    await eventually(lambda: chat.page.evaluate(ground), lambda night: brightness(night) < 60)
    await chat.button("Settings").click()
    settings = chat.page.get_by_role("dialog", name="Settings")
    await settings.get_by_role("combobox", name="Theme").select_option("Light")
    await settings.get_by_role("button", name="Close").click()
    await chat.page.wait_for_function(f"day => {ground} === day", arg=day)
    await chat.page.reload()
    await chat.ready()
    await chat.page.wait_for_function(f"day => {ground} === day", arg=day)


async def test_high_contrast_takes_the_colours_of_the_system(chat: Chat, shoot: Shoot) -> None:
    await chat.page.emulate_media(forced_colors="active")
    await converse(chat)
    await chat.ask("permission")
    card = chat.card(re.compile("^Permission"))
    await expect(card).to_be_visible()
    border = await card.evaluate(
        "one => getComputedStyle(one).borderTopStyle + getComputedStyle(one).borderTopWidth"
    )
    assert re.fullmatch(r"solid[1-9].*px", border)
    for shape in (chat.stop_button.locator("span"), chat.tabs.locator(".p-dot")):
        ground = "one => [one, one.parentElement].map((each) => getComputedStyle(each).backgroundColor)"
        own, around = await shape.evaluate(ground)
        assert own not in (around, "rgba(0, 0, 0, 0)")
    await chat.prompt.focus()
    assert await focus_is_visible(chat)
    await shoot(chat, "high-contrast", widths=(480,))


async def test_high_contrast_shows_what_is_chosen(chat: Chat) -> None:
    await chat.tell(say("One."))
    await chat.new_session()
    await chat.tell(say("Two."))
    await chat.page.emulate_media(forced_colors="active")
    entries = chat.history.locator(".p-entry")
    await expect(entries.nth(1)).to_be_visible()
    await eventually(lambda: looks(entries), lambda found: len(set(found)) == 2)
    line, page = await chat.tabs.and_(chat.page.locator("[aria-selected=true]")).evaluate(
        "one => [getComputedStyle(one, '::after'), getComputedStyle(document.body)].map((of) => of.backgroundColor)"
    )
    assert line != page
    thinking = chat.button("Show thinking")
    (before,) = await looks(thinking)
    await thinking.click()
    await expect(thinking).to_have_attribute("aria-pressed", "true")
    await eventually(lambda: looks(thinking), lambda found: found != [before])
    await thinking.click()
    await chat.prompt.press_sequentially("/")
    commands = chat.page.get_by_role("listbox").get_by_role("option")
    await expect(commands.nth(1)).to_be_visible()
    await eventually(lambda: looks(commands), lambda found: len(set(found)) == 2)
    await chat.prompt.fill("")
    await chat.composer.get_by_role("combobox", name=re.compile("^Agent")).press("Enter")
    agents = chat.page.get_by_role("option")
    await expect(agents.first).to_be_visible()
    await eventually(lambda: looks(agents), lambda found: len(set(found)) == 2)


async def test_a_whole_conversation_needs_no_mouse(chat: Chat) -> None:
    keys = chat.page.keyboard
    await chat.narrow()
    await expect(chat.prompt).to_be_focused()
    await keys.type("permission")
    await keys.press("Enter")
    card = chat.card(re.compile("^Permission"))
    await expect(card).to_be_visible()
    await keys.press("Control+Alt+a")
    await expect(card).to_be_focused()
    await keys.press("Tab")
    assert await focus_is_visible(chat)
    await keys.press("Control+Alt+a")
    await keys.press("a")
    await expect(chat.answers).to_have_text("allowed")
    await keys.press("Control+Alt+n")
    await expect(chat.tabs).to_have_count(2)
    await expect(chat.prompt).to_be_focused()
    await keys.type('[{"title": "By keyboard"}, {"say": "Second."}]')
    await keys.press("Enter")
    await expect(chat.answers).to_have_text("Second.")
    await keys.press("Control+Alt+ArrowLeft")
    await expect(chat.answers).to_have_text("allowed")
    await keys.press("Control+Alt+h")
    await keys.type("By keyboard")
    await expect(chat.history.locator(".p-entry-name")).to_have_text(["By keyboard"])
    await keys.press("ArrowDown")
    await keys.press("Enter")
    await expect(chat.answers).to_have_text("Second.")
    await keys.press("Control+Alt+h")
    await keys.press("F1")
    await expect(chat.page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    await keys.press("Escape")
    await keys.press("Control+Alt+w")
    await expect(chat.tabs).to_have_count(1)


async def test_the_history_has_the_focus_before_the_next_key(chat: Chat) -> None:
    await chat.narrow()
    await expect(chat.prompt).to_be_focused()
    assert await chat.page.evaluate(FOCUS_AFTER_HISTORY_KEY) == "Search sessions"


async def test_every_control_is_reached_with_the_tab_key_and_shows_the_focus(chat: Chat) -> None:
    await chat.narrow()
    await chat.tell(named("Around"), {"tool": {"title": "Look", "raw_input": {"at": 1}}}, say("Seen."))
    reached: set[str] = set()
    for _ in range(40):
        await chat.page.keyboard.press("Tab")
        reached.add(await chat.page.evaluate(NAME_OF_FOCUS))
        assert await focus_is_visible(chat), reached
    for name in (
        "New session",
        "History",
        "Settings",
        "Attach files",
        "Agent: ",
        "Prompt for",
        "Look",
        "Copy this",
    ):
        assert any(name in one for one in reached), (name, reached)


async def test_finished_answers_are_read_to_those_who_listen(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-reading"
    await chat.ask(say("The **tide** is"), {"wait_file": str(go)}, say(" in."))
    await expect(chat.answers).to_have_text("The tide is")
    aloud = chat.page.locator("[aria-live=polite]")
    await expect(aloud.get_by_text("The tide is")).to_have_count(0)
    go.touch()
    await expect(aloud.get_by_text("The tide is in.")).to_have_count(1)
    await chat.ask(say("All at once."))
    await expect(aloud.get_by_text("All at once.")).to_have_count(1)


# Only microtasks run between the key and the look: no frame is drawn, and no other key could be handled.
FOCUS_AFTER_HISTORY_KEY = """async () => {
    const keys = { key: "h", code: "KeyH", ctrlKey: true, altKey: true, bubbles: true, cancelable: true };
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", keys));
    for (let turn = 0; turn < 20; turn++) await null;
    return document.activeElement.getAttribute("aria-label");
}"""
NAME_OF_FOCUS = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
FOCUS = """() => {
    const own = document.activeElement;
    if (own === null || own === document.body) return true;
    const marked = (one) => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
        return (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    };
    const around = own.closest(".p-composer-box");
    return marked(own) || (around !== null && (marked(around) || around.matches(":focus-within")));
}"""


async def height(one: Locator) -> float:
    box = await one.bounding_box()
    assert box is not None
    return box["height"]


async def focus_is_visible(chat: Chat) -> bool:
    return bool(await chat.page.evaluate(FOCUS))


def brightness(colour: str) -> float:
    red, green, blue = (float(one) for one in re.findall(r"[\d.]+", colour)[:3])
    return (red * 299 + green * 587 + blue * 114) / 1000
