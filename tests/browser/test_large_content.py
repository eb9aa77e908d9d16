"""Large content: a long answer, session, command output and prompt. Typing stays responsive."""

import asyncio
import json
import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, say
from tests.browser.user_environment import House
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(300)]

MEGABYTE = 1_000_000
ROUNDS = 4_100
FEW_NODES = 20_000
FEW_ROWS = 80
PAINTED = 200
LOOK_AGAIN_MS = 500


# One of 5 MB is measured by web/bench/prose.mjs.
async def test_an_answer_of_a_megabyte_leaves_the_page_usable(chat: Chat, house: House) -> None:
    paragraph = "A **boat** in the `harbour`, with a crew of its own. " * 10 + "\n\n"
    count = MEGABYTE // len(paragraph) // 10
    await chat.ask({"repeat": {"count": count, "steps": [say(paragraph * 10)]}}, say("Ahoy, the end."))
    await types(chat, "while it comes")
    ended(house, await chat.session_id())
    await types(chat, "while it is painted")
    await painted(chat)
    assert str(await chat.answers.evaluate("one => one.textContent.slice(-100)")).count("Ahoy, the end.") == 1
    await types(chat, "afterwards")


async def test_a_line_of_five_megabytes_leaves_the_page_usable(chat: Chat, house: House) -> None:
    await chat.ask({"stream": {"count": 5_000, "size": 1_000}})
    await types(chat, "while it comes")
    ended(house, await chat.session_id())
    await expect(chat.button(re.compile("^Show all"))).to_be_visible(timeout=PAINTED * 1000)
    await types(chat, "afterwards")
    assert await nodes(chat) < FEW_NODES


async def test_a_session_of_twenty_thousand_events_leaves_the_page_usable(chat: Chat, house: House) -> None:
    steps = [{"tool": {"title": "Haul", "kind": "read"}}, say("Heave.\n\n"), {"think": "Ho."}]
    session_id = await chat.session_id()
    await chat.page.goto("about:blank")
    house.talk(session_id, json.dumps([{"repeat": {"count": ROUNDS, "steps": steps}}, say("Ahoy, the end.")]))
    assert int(house.session(session_id)["summary"]["lastSeq"]) > 20_000
    await chat.page.goto(house.server.url)
    await expect(chat.seen("Ahoy, the end.")).to_be_visible()
    await types(chat, "at the end")
    rows = chat.log.locator(".p-row")
    assert await rows.count() < FEW_ROWS
    await chat.log.focus()
    for _ in range(6):
        await chat.page.keyboard.press("Home")
        await expect(chat.seen("Ahoy, the end.")).to_have_count(0)
        assert await rows.count() < FEW_ROWS
    await types(chat, "further up")
    assert await nodes(chat) < FEW_NODES
    await chat.button(re.compile("^Jump to end")).click()
    await expect(chat.seen("Ahoy, the end.")).to_be_visible()


async def test_a_megabyte_from_a_command_leaves_the_page_usable(chat: Chat, house: House) -> None:
    output = house.workspace / "much-output"
    output.write_text(
        "".join(f"\x1b[32mline\x1b[0m {number:06d} of many\n" for number in range(MEGABYTE // 29))
    )
    # The agent repeats the output as its answer, whose end is all that is drawn once it is there.
    await chat.ask({"run": {"command": "cat", "args": [output.name], "output_byte_limit": 2 * MEGABYTE}})
    await expect(chat.answers).not_to_have_count(0)
    await chat.rested()
    await chat.log.focus()
    await chat.page.keyboard.press("Home")
    card = chat.fold("cat much-output")
    await expect(card).to_have_attribute("aria-expanded", "false")
    await card.click()
    await expect(chat.log.locator(".p-terminal").first).to_be_visible()
    await types(chat, "afterwards")
    assert await nodes(chat) < FEW_NODES


async def test_a_prompt_of_two_hundred_kilobytes_is_typed_sent_and_kept(chat: Chat, house: House) -> None:
    words = "say " + "a long story, " * (200_000 // 14)
    await chat.ready()
    await chat.prompt.fill(words)
    await chat.prompt.press_sequentially("the end")
    await chat.prompt.press("Enter")
    await expect(chat.answers).to_have_count(1)
    await chat.rested()
    await types(chat, "the next one")
    (prompt,) = [
        one.payload for one in await house.log(await chat.session_id()) if one.kind == "prompt_submitted"
    ]
    assert getattr(prompt, "text", "") == words + "the end"


async def types(chat: Chat, words: str) -> None:
    """Every key is there before a person would wonder, and the box is empty again after."""
    await expect(chat.prompt).to_have_value("")
    await chat.prompt.focus()
    await chat.page.keyboard.type(words)
    await expect(chat.prompt).to_have_value(words)
    await expect(chat.prompt).to_be_in_viewport()
    await chat.prompt.fill("")


async def painted(chat: Chat) -> None:
    """Until the answer is whole on the page. It is asked seldom: to look through so much of it takes time too."""
    async with asyncio.timeout(PAINTED):
        await chat.page.evaluate(
            """again => new Promise((resolve) => {
              const look = () => {
                const whole = document.querySelector(".p-answer[aria-busy=false]");
                if (whole !== null && whole.querySelector("[aria-busy]") === null) resolve();
                else setTimeout(look, again);
              };
              look();
            })""",
            LOOK_AGAIN_MS,
        )


async def nodes(chat: Chat) -> int:
    return int(await chat.page.evaluate("document.querySelectorAll('*').length"))


def ended(house: House, session_id: str) -> None:
    state = "TURN_STATE_COMPLETED"
    wait_until(
        lambda: house.session(session_id)["summary"]["state"] == state, "the end of the turn", seconds=60
    )
