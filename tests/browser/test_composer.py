"""The composer: keys, completion, files, choices, and queued prompts."""

import base64
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, say
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.support.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

TRANSLATE = """---
description: Say it in another language
variables:
  input:
    description: what to translate
  language:
    default: French
  tone:
---
Translate {{ input }} into {{ language }}, {{ tone }}.
"""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
GIVE = """([field, kind, name, type, data]) => {
    const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], name, { type }));
    const init = { bubbles: true, cancelable: true, dataTransfer: carried, clipboardData: carried };
    field.dispatchEvent(kind === "paste" ? new ClipboardEvent(kind, init) : new DragEvent(kind, init));
}"""

DROP_WHALE = """(field) => {
    const carried = new DataTransfer();
    carried.items.add(new File([new Uint8Array(11 * 1024 * 1024)], "whale.bin"));
    field.dispatchEvent(new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: carried }));
}"""


# Keeps, whenever the page begins to stand still or to move again, how much on it moves without an end.
WATCH_MOTION = """() => {
    const moves = (one) => one.playState === "running" && one.effect.getComputedTiming().iterations === Infinity;
    const page = document.documentElement;
    window.motion = [];
    window.moving = () => document.getAnimations().filter(moves).length;
    new MutationObserver(() => window.motion.push([page.classList.contains("p-still"), window.moving()])).observe(
        page, { attributeFilter: ["class"] }
    );
}"""


async def give(chat: Chat, kind: str, name: str, content: bytes, mime_type: str) -> None:
    """Paste or drop a file, as the browser would tell the page."""
    field = await chat.prompt.element_handle()
    data = base64.b64encode(content).decode()
    await chat.page.evaluate(GIVE, [field, kind, name, mime_type, data])


async def test_a_prompt_may_have_several_lines(chat: Chat) -> None:
    await chat.prompt.fill("first")
    box = await chat.prompt.bounding_box()
    await chat.prompt.press("Shift+Enter")
    await chat.prompt.press_sequentially("second")
    await chat.prompt.press("Alt+Enter")
    await chat.prompt.press_sequentially("third")
    await expect(chat.prompt).to_have_value("first\nsecond\nthird")
    assert box is not None
    least = box["height"] * 1.5
    await eventually(chat.prompt.bounding_box, lambda grown: grown is not None and grown["height"] > least)
    await chat.prompt.press("Enter")
    await expect(chat.prompts.locator(".p-prompt-words")).to_have_text("first\nsecond\nthird")
    await expect(chat.prompt).to_have_value("")


async def test_nothing_moves_by_itself_while_a_person_types(chat: Chat, house: House) -> None:
    await chat.page.emulate_media(reduced_motion="no-preference")
    go = house.workspace / "go-on-and-move"
    await chat.ask(say("Wind and"), {"wait_file": str(go)}, say(" sails."))
    await expect(chat.answers).to_have_text("Wind and")
    await chat.page.evaluate(WATCH_MOTION)
    await chat.page.wait_for_function("() => window.moving() > 0")
    await chat.prompt.press_sequentially("ropes")
    await chat.page.wait_for_function("() => window.motion.at(-1)?.[0] === false")
    motion = await chat.page.evaluate("window.motion")
    assert motion[0] == [True, 0]
    assert [moving == 0 for _, moving in motion] == [still for still, _ in motion]
    go.touch()
    await expect(chat.answers).to_have_text("Wind and sails.")
    await chat.rested()


async def test_earlier_prompts_come_back_with_the_arrow_keys(chat: Chat) -> None:
    await chat.tell("one boat")
    await chat.tell("two boats")
    for expected in ("two boats", "one boat"):
        await chat.prompt.press("ArrowUp")
        await expect(chat.prompt).to_have_value(expected)
    await chat.prompt.press("ArrowDown")
    await expect(chat.prompt).to_have_value("two boats")
    await chat.prompt.press("ArrowDown")
    await expect(chat.prompt).to_have_value("")


async def test_a_slash_offers_the_commands_of_the_agent(chat: Chat, shoot: Shoot) -> None:
    await expect(chat.log.get_by_role("button", name="All commands")).to_be_visible()
    await chat.prompt.press_sequentially("/re")
    offers = chat.page.get_by_role("listbox", name="Commands").get_by_role("option")
    expected = ("review.*Look over the changes", "release", "review-diff.*prompt")
    await expect(offers).to_have_text([re.compile(one) for one in expected])
    await shoot(chat, "commands", widths=(300, 1100))
    await chat.prompt.press("ArrowDown")
    await chat.prompt.press("Enter")
    await expect(chat.prompt).to_have_value("/release ")
    await expect(chat.composer.get_by_role("status").get_by_text("which version")).to_be_visible()


@pytest.fixture
def prompts(house: House) -> Iterator[Path]:
    """The folder of kept prompts, which no other test is to find."""
    folder = house.workspace / ".portico" / "prompts"
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder.parent)


async def test_a_kept_prompt_is_taken_filled_in_and_sent(chat: Chat, prompts: Path, shoot: Shoot) -> None:
    (prompts / "translate.md").write_text(TRANSLATE)
    await chat.ready()
    await chat.prompt.press_sequentially("/transl")
    offers = chat.page.get_by_role("listbox", name="Commands and prompts").get_by_role("option")
    await expect(offers).to_have_text([re.compile("^/translate.*prompt$")])
    await shoot(chat, "prompts", widths=(300, 1100))
    await chat.prompt.press("Enter")
    await expect(chat.prompt).to_have_value("Translate {{ input }} into French, {{ tone }}.")
    await expect(chat.composer.get_by_text("Fill in input (what to translate)")).to_be_visible()
    await shoot(chat, "prompt-to-fill-in", widths=(300, 1100))
    await chat.page.keyboard.type("ship")
    await chat.page.keyboard.press("Tab")
    await expect(chat.composer.get_by_text("Fill in tone or remove it")).to_be_visible()
    await chat.page.keyboard.press("End")
    await chat.page.keyboard.press("Enter")
    await chat.page.keyboard.type("politely")
    await expect(chat.prompt).to_have_value("Translate ship into French, politely.")
    await expect(chat.prompts).to_have_count(0)
    await chat.page.keyboard.press("Enter")
    await expect(chat.prompts).to_contain_text(["Translate ship into French, politely."])


async def test_a_kept_prompt_that_cannot_be_used_says_why(chat: Chat, prompts: Path) -> None:
    (prompts / "slip.md").write_text("{{ nme }}")
    await chat.ready()
    await chat.prompt.press_sequentially("/slip")
    offers = chat.page.get_by_role("listbox", name="Commands and prompts").get_by_role("option")
    await expect(offers).to_have_text([re.compile("unusable: line 1: {{ nme }} is not declared")])
    await chat.prompt.press("Enter")
    await expect(chat.page.get_by_text("The prompt slip cannot be used")).to_be_visible()
    await expect(chat.prompt).to_have_value("/slip")


async def test_commands_that_come_after_the_slash_are_offered_too(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-with-commands"
    await chat.tell({"commands": []})
    await chat.ask({"wait_file": str(go)}, {"commands": ["careen"]}, say("Ready."))
    await expect(chat.stop_button).to_be_visible()
    await chat.prompt.press_sequentially("/")
    go.touch()
    offers = chat.page.get_by_role("listbox", name="Commands").get_by_role("option")
    await expect(offers.first).to_have_text(re.compile("careen"))
    await chat.prompt.press("Enter")
    await expect(chat.prompt).to_have_value("/careen ")


async def test_commands_that_come_after_a_prompt_was_sent_are_not_offered_for_it(
    chat: Chat, house: House
) -> None:
    go = house.workspace / "go-on-without-a-list"
    await chat.tell({"commands": []})
    await chat.ask({"wait_file": str(go)}, {"commands": ["careen"]}, say("Ready."))
    await expect(chat.stop_button).to_be_visible()
    await chat.prompt.press_sequentially("/careen")
    await chat.prompt.press("Enter")
    await expect(chat.prompt).to_have_value("")
    go.touch()
    await expect(chat.prompts).to_have_count(3)
    await chat.rested()
    await expect(chat.page.get_by_role("listbox", name="Commands")).to_have_count(0)


async def test_an_at_sign_finds_files_by_a_few_letters_and_makes_a_chip(chat: Chat, house: House) -> None:
    await chat.prompt.press_sequentially("look at @ckpy")
    files = chat.page.get_by_role("listbox", name="Files").get_by_role("option")
    await expect(files.first).to_contain_text("cook.py")
    await chat.prompt.press("Tab")
    await expect(chat.prompt).to_have_value("look at @crews/cook.py ")
    chips = chat.page.get_by_role("list", name="Attachments")
    await expect(chips.get_by_text("cook.py")).to_be_visible()
    await chat.button("Remove crews/cook.py from the prompt").click()
    await expect(chat.prompt).to_have_value(re.compile(r"^look at ?$"))
    await expect(chips).to_have_count(0)


async def test_a_folder_is_mentioned_like_a_file_and_goes_along_when_the_prompt_is_sent_again(
    chat: Chat, house: House
) -> None:
    await chat.prompt.press_sequentially("error -32603 no crew in @crew")
    files = chat.page.get_by_role("listbox", name="Files").get_by_role("option")
    await expect(files.first).to_contain_text("crews/")
    await chat.prompt.press("Tab")
    await expect(chat.prompt).to_have_value("error -32603 no crew in @crews/ ")
    chips = chat.page.get_by_role("list", name="Attachments")
    await expect(chips.get_by_text("crews/")).to_be_visible()
    await chat.prompt.press("Enter")
    await expect(chat.prompts).to_have_count(1)
    await chat.log.get_by_role("button", name="Retry").last.click()
    await expect(chat.prompts).to_have_count(2)
    await chat.rested()
    timeline = house.server.ask("GetTimeline", {"sessionId": await chat.session_id()})
    sent = [one["promptSubmitted"]["blocksJson"] for one in timeline["events"] if "promptSubmitted" in one]
    assert len(sent) == 2
    for blocks in sent:
        (block,) = map(json.loads, blocks)
        assert (block["name"], block["mimeType"]) == ("crews/", "inode/directory")


async def test_a_pasted_image_reaches_an_agent_that_takes_images(chat: Chat, shoot: Shoot) -> None:
    await give(chat, "paste", "image.png", base64.b64decode(PIXEL), "image/png")
    chips = chat.page.get_by_role("list", name="Attachments")
    await expect(chips.get_by_text("pasted-1.png")).to_be_visible()
    await shoot(chat, "attachment", widths=(300,))
    await chat.tell("what is this?")
    await expect(chips).to_have_count(0)
    await expect(chat.prompts.get_by_role("img")).to_be_visible()
    await expect(chat.answers).to_contain_text("image")


async def test_a_dropped_file_goes_along_and_can_be_removed(chat: Chat) -> None:
    await give(chat, "drop", "cargo.txt", b"ten barrels", "text/plain")
    await give(chat, "drop", "ballast.txt", b"stones", "text/plain")
    await chat.button("Remove ballast.txt").click()
    await chat.tell("count these")
    await expect(chat.prompts.get_by_text("cargo.txt")).to_be_visible()
    await expect(chat.answers).to_contain_text("ten barrels")
    await expect(chat.answers).not_to_contain_text("stones")


async def test_an_agent_that_takes_no_images_says_so_on_the_chip(chat: Chat) -> None:
    await chat.new_session("plain")
    await give(chat, "paste", "boat.png", base64.b64decode(PIXEL), "image/png")
    await expect(chat.composer.get_by_text("images not supported")).to_be_visible()


async def test_a_file_that_is_too_big_is_refused_with_the_reason(chat: Chat) -> None:
    await chat.prompt.evaluate(DROP_WHALE)
    await expect(chat.page.get_by_role("alert")).to_contain_text("whale.bin is 11 MB")


async def test_another_agent_begins_a_new_session(chat: Chat) -> None:
    await chat.new_session("plain")
    await expect(
        chat.composer.get_by_role("combobox", name=re.compile("^Agent: plain", re.IGNORECASE))
    ).to_be_visible()
    await expect(chat.prompt).to_have_attribute("aria-label", re.compile("plain", re.IGNORECASE))


async def test_model_mode_and_options_are_chosen_below_the_prompt(chat: Chat, house: House) -> None:
    await chat.choose("Model: Small", "Large")
    await expect(chat.composer.get_by_role("combobox", name="Model: Large")).to_be_visible()
    await chat.choose(re.compile("^Mode: Ask first"), "Write code")
    await expect(chat.composer.get_by_role("combobox", name="Mode: Write code")).to_be_visible()
    switch = chat.composer.get_by_role("switch", name="Search the web")
    await switch.click()
    await expect(switch).to_be_checked()
    options = {one["optionId"]: one for one in house.session(await chat.session_id())["options"]}
    assert options["model"]["choice"] == "large"
    assert options["web"]["switchedOn"] is True


async def test_the_line_at_the_end_says_what_the_agent_does_and_stops_it(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    tool = {"id": "t", "title": "Run make sails", "kind": "execute", "statuses": ["in_progress"]}
    await chat.ask({"usage": {"used": 1200, "size": 9000}}, {"tool": tool}, {"hang": {}})
    line = chat.log.locator(".p-working")
    await expect(line).to_contain_text("Run make sails")
    await expect(line).to_contain_text("1,200 tokens")
    await shoot(chat, "working", widths=(420, 1280), night=True)
    await line.get_by_role("button", name="Esc to stop").click()
    await chat.rested()
    await expect(line).to_have_text("")


async def test_queued_prompts_are_reordered_and_one_is_sent_in_place_of_the_turn(
    chat: Chat, shoot: Shoot
) -> None:
    await chat.ask(say("Busy."), {"hang": {}})
    await expect(chat.answers).to_have_text("Busy.")
    for words in ("mend the net", "paint the hull"):
        await chat.ask(words)
    waiting = chat.page.get_by_role("list", name="Queued prompts").get_by_role("listitem")
    await expect(waiting).to_have_count(2)
    await chat.button("Move up: paint the hull").click()
    await expect(waiting.first).to_contain_text("paint the hull")
    await shoot(chat, "queue", widths=(360, 420, 1280), night=True)
    await waiting.first.get_by_role("button", name="Send now").click()
    await expect(chat.prompts.last).to_contain_text("paint the hull")
    await expect(chat.seen(re.compile("^Stopped"))).to_be_visible()


async def test_a_prompt_waits_while_a_turn_runs_and_is_sent_afterwards(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-queueing"
    await chat.ask(say("Wait."), {"wait_file": str(go)})
    await expect(chat.stop_button).to_be_visible()
    await chat.ask("the next thing")
    waiting = chat.page.get_by_role("list", name="Queued prompts")
    await expect(waiting.get_by_text("the next thing")).to_be_visible()
    await chat.ask("never mind this")
    await chat.button("Remove: never mind this").click()
    await expect(waiting.get_by_role("listitem")).to_have_count(1)
    await chat.button("Edit: the next thing").click()
    field = waiting.get_by_role("textbox", name="Queued prompt")
    await expect(field).to_be_focused()
    await field.fill("the next thing")
    await field.press("Enter")
    await expect(waiting.get_by_text("the next thing")).to_be_visible()
    go.touch()
    await expect(chat.answers).to_have_text(["Wait.", "the next thing"])
    await expect(waiting).to_have_count(0)


async def test_escape_closes_a_menu_first_and_then_stops_the_turn(chat: Chat) -> None:
    await chat.ask(say("On my way."), {"hang": {}})
    await expect(chat.answers).to_have_text("On my way.")
    await chat.prompt.press_sequentially("/re")
    menu = chat.page.get_by_role("listbox", name="Commands")
    await expect(menu).to_be_visible()
    await chat.prompt.press("Escape")
    await expect(menu).to_have_count(0)
    await expect(chat.stop_button).to_be_visible()
    await chat.prompt.press("Escape")
    await expect(chat.seen(re.compile("^Stopped"))).to_be_visible()
    await expect(chat.prompt).to_have_value("/re")


async def test_components_are_chosen_for_one_session(chat: Chat, house: House, shoot: Shoot) -> None:
    await chat.tell(say("Hello."))
    picker = chat.composer.get_by_role("dialog", name="Components")
    await chat.button("Components").click()
    memory = picker.get_by_role("checkbox", name=re.compile("^memory"))
    skills = picker.get_by_role("checkbox", name=re.compile("^skills"))
    await expect(memory).not_to_be_checked()
    await expect(skills).to_be_checked()
    await expect(picker.get_by_role("checkbox").first).to_be_focused()
    await expect(
        picker.get_by_role("checkbox", name=re.compile("^packages.*Idle: .*uses no packages"))
    ).to_be_visible()
    await memory.click()
    await expect(memory).to_be_checked()
    await expect(memory).to_contain_text("this session")
    await shoot(chat, "components", night=True, widths=(1100,))
    await chat.page.keyboard.press("Escape")
    await expect(picker).to_have_count(0)
    await expect(chat.button("Components")).to_be_focused()
    await chat.tell(say("With memory."))
    await chat.page.set_viewport_size({"width": 300, "height": 760})
    await chat.button("Components").click()
    await expect(memory).to_be_checked()
    frame, shown = await chat.composer.bounding_box(), await picker.bounding_box()
    assert frame is not None
    assert shown is not None
    assert frame["x"] <= shown["x"]
    assert shown["x"] + shown["width"] <= frame["x"] + frame["width"]
    await shoot(chat, "components", night=True, widths=(300,))
    await chat.new_session()
    await chat.button("Components").click()
    await expect(memory).not_to_be_checked()
