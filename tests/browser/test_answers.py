"""Answers and thoughts of an agent, streamed to the page."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, say
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.support.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="session")

# How far words are from the left and from the right edge of what they stand in.
SIDES = """(one) => {
    const words = document.createRange();
    words.selectNodeContents(one);
    const [inner, outer] = [words, one].map((each) => each.getBoundingClientRect());
    return [inner.left - outer.left, outer.right - inner.right];
}"""
CODE = "```python\ndef moor(boat: str) -> bool:\n    return boat in harbour  # tied up\n```\n"


async def test_an_answer_is_rendered_while_it_streams_and_what_stands_stays(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-streaming"
    await chat.ask(
        say("# Boats\n\nThere are *two"), {"wait_file": str(go)}, say("* of them.\n\n- Ada\n- Bob\n")
    )
    heading = chat.answers.get_by_role("heading", name="Boats")
    await expect(heading).to_be_visible()
    await expect(chat.answers).to_have_attribute("aria-busy", "true")
    before = await heading.element_handle()
    go.touch()
    await expect(chat.answers.get_by_role("listitem")).to_have_text(["Ada", "Bob"])
    await expect(chat.answers.get_by_text("There are two of them.")).to_be_visible()
    await expect(chat.answers).to_have_attribute("aria-busy", "false")
    assert before is not None
    assert await before.evaluate("element => element.isConnected")


async def test_what_reads_from_right_to_left_begins_on_the_right(chat: Chat) -> None:
    await chat.tell("שלום לכולם")
    asked = chat.prompts.locator(".p-prompt-part")
    left, right = await asked.evaluate(SIDES)
    assert right < left
    await chat.tell(say("- ראשון\n\n> ציטוט\n\n| א | ב |\n|---|---|\n| ג | 12 |\n\n1. and back\n"))
    answer = chat.answers.last
    for part in ("ul", "blockquote", "table"):
        await expect(answer.locator(part)).to_have_css("direction", "rtl")
    left, right = await answer.get_by_role("cell", name="12").evaluate(SIDES)
    assert right < left
    await expect(answer.locator("ol")).to_have_css("direction", "ltr")
    await expect(chat.prompt).to_have_css("unicode-bidi", "plaintext")


async def test_code_is_highlighted_and_copied(chat: Chat, shoot: Shoot) -> None:
    await chat.tell(say(f"So:\n\n{CODE}\nThat is all."))
    code = chat.answers.locator("pre code")
    await expect(code).to_have_text(re.compile(r"def moor\(boat: str\)"))
    keyword = code.get_by_text("def", exact=True)
    colours = [await one.evaluate("one => getComputedStyle(one).color") for one in (keyword, code)]
    assert colours[0] != colours[1]
    await chat.button("Copy code").click()
    await expect(chat.answers.get_by_text("Copied")).to_be_visible()
    copied = await chat.page.evaluate("navigator.clipboard.readText()")
    assert copied == CODE.removeprefix("```python\n").removesuffix("```\n")
    await shoot(chat, "code", night=True)


async def test_a_cell_of_a_table_may_have_lines_which_come_while_it_is_written(
    chat: Chat, house: House
) -> None:
    go = house.workspace / "go-on-with-the-cell"
    table = "| Boat | Crew |\n|---|---|\n| Ada | cook<br>captain<b"
    await chat.ask(say(table), {"wait_file": str(go)}, say("r/>mate |\n| Bob | a `<br>` |\n"))
    cells = chat.answers.get_by_role("cell")
    await expect(cells).to_have_text(["Ada", "cook captain"], use_inner_text=True)
    go.touch()
    await expect(cells).to_have_text(["Ada", "cook captain mate", "Bob", "a <br>"], use_inner_text=True)
    await chat.rested()
    await chat.answers.get_by_role("table").evaluate("one => getSelection().selectAllChildren(one)")
    await chat.page.keyboard.press("Control+c")
    words = ["Boat", "Crew", "Ada", "cook", "captain", "mate", "Bob", "a", "<br>"]
    clipboard = "navigator.clipboard.readText()"
    await eventually(lambda: chat.page.evaluate(clipboard), lambda copied: copied.split() == words)


async def test_an_answer_is_copied_as_markdown(chat: Chat) -> None:
    await chat.tell(say("Good *morning*."))
    await chat.answers.hover()
    await chat.button("Copy this answer as Markdown").click()
    await expect(chat.button("Copied")).to_be_visible()
    assert await chat.page.evaluate("navigator.clipboard.readText()") == "Good *morning*."


async def test_thoughts_are_folded_until_somebody_wants_them(chat: Chat) -> None:
    await chat.tell({"think": "Where do boats sleep?"}, say("In the harbour."))
    thought = chat.fold("^Thought")
    await expect(thought).to_have_attribute("aria-expanded", "false")
    await expect(chat.seen("Where do boats sleep?")).to_have_count(0)
    await thought.click()
    await expect(chat.seen("Where do boats sleep?")).to_be_visible()


async def test_a_switch_shows_all_thoughts_and_is_remembered(chat: Chat) -> None:
    await chat.tell({"think": "Where do boats sleep?"}, say("In the harbour."))
    switch = chat.button("Show thinking")
    await expect(switch).to_have_attribute("aria-pressed", "false")
    await switch.click()
    await expect(switch).to_have_attribute("aria-pressed", "true")
    await expect(chat.seen("Where do boats sleep?")).to_be_visible()
    await chat.page.reload()
    await expect(chat.seen("Where do boats sleep?")).to_be_visible()


async def test_markdown_made_to_attack_the_page_does_nothing(chat: Chat) -> None:
    attack = (
        "<script>window.hurt = 1</script>\n\n<img src=x onerror='window.hurt = 2'>\n\n"
        "<iframe srcdoc='<script>parent.hurt = 3</script>'></iframe>\n\n"
        "[click](javascript:window.hurt=4)\n\n<a href='javascript:window.hurt=5'>here</a>\n\n"
        "<style>body { display: none }</style>\n\n<form action='https://example.invalid'>x</form>\n\nthe end\n"
    )
    await chat.tell(say(attack))
    await expect(chat.answers.get_by_text("the end")).to_be_visible()
    for link in await chat.answers.get_by_text(re.compile("click|here")).all():
        await link.click()
    assert await chat.page.evaluate("window.hurt === undefined")
    await expect(chat.answers.locator("script, iframe, style, form, [onerror]")).to_have_count(0)


async def test_words_are_found_in_the_conversation(chat: Chat) -> None:
    await chat.tell(say("The anchor holds. An anchor is heavy."))
    await chat.prompt.press("Control+f")
    box = chat.page.get_by_role("textbox", name="Find in this conversation")
    await expect(box).to_be_focused()
    await box.fill("anchor is")
    search = chat.page.get_by_role("search")
    await box.press("Enter")
    await expect(search.get_by_role("status")).to_have_text("2 of 2")
    await box.press("Escape")
    await expect(search).to_have_count(0)
