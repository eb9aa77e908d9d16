"""An agent that wants to hurt the page: whatever it says and wherever it is shown, it stays words."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.canary import BIDIRECTIONAL, Canary, attacks
from tests.browser.chat import Chat, say
from tests.browser.conftest import Open
from tests.browser.user_environment import House
from tests.support.stream import Json

pytestmark = pytest.mark.asyncio(loop_scope="session")

# High enough for all rows: those that are out of sight are not on the page.
WINDOW = {"width": 700, "height": 14_000}
RUN = "<img src=x onerror=attacked()><script>attacked()</script>"
COVER = '<div style="position:fixed;inset:0;z-index:9999">cover</div>'
TURNED = "invoice\u202efdp.exe \u2066admin\u2069"
WORDS = f"{RUN} {COVER} [x](javascript:attacked()) {TURNED}"
LINK = "\x1b]8;;javascript:attacked()\x07click\x1b]8;;\x07"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x1b[H\x1b[999;999H\x1b[?1049h\x1b]52;c;YXR0YWNrZWQ=\x07\x1bP$q\x1b\\\x1b[38;5;9999m"
END = "All of it was said."
A_SESSION = 20


@pytest_asyncio.fixture(loop_scope="session")
async def tall(house: House, shared_house: tuple[House, str], open_page: Open) -> Chat:
    return await open_page(shared_house[1], viewport=WINDOW)


@pytest_asyncio.fixture(loop_scope="session")
async def canary(tall: Chat) -> Canary:
    canary = Canary(tall.page)
    await canary.sit()
    await tall.ready()
    return canary


async def test_no_answer_or_thought_does_anything_to_the_page(tall: Chat, canary: Canary) -> None:
    for some in batched(attacks(), A_SESSION):
        await tall.new_session()
        await tall.tell(*[step for one in some for step in (say(one), {"think": one})], say(END))
        await expect(tall.answers).to_have_count(len(some) + 1)
        await unfold(tall)
        await click_every_link(tall)
        await check(tall, canary)


async def test_no_tool_call_does_anything_to_the_page(tall: Chat, canary: Canary) -> None:
    for some in batched(attacks(), A_SESSION):
        await tall.new_session()
        await tall.tell(*[tool(number, one) for number, one in enumerate(some)], say(END))
        await expect(tall.log.locator(".p-tool")).to_have_count(len(some))
        await unfold(tall)
        await click_every_link(tall)
        await check(tall, canary)


async def test_no_terminal_output_does_anything_to_the_page(tall: Chat, canary: Canary, house: House) -> None:
    output = house.workspace / "hostile-output"
    output.write_text("\n".join([LINK, ESCAPES, *attacks(), WORDS, "the last line"]))
    await tall.tell({"run": {"command": "cat", "args": [output.name]}})
    await unfold(tall)
    terminal = tall.log.locator(".p-terminal").first
    await expect(terminal).to_contain_text("the last line")
    await expect(terminal.locator("a[href^=javascript]")).to_have_count(0)
    assert await tall.page.title() != "title"
    await check(tall, canary)


async def test_no_plan_title_notice_command_or_error_does_anything_to_the_page(
    tall: Chat, canary: Canary
) -> None:
    entries = [{"content": one, "priority": "high", "status": "in_progress"} for one in attacks()]
    commands = [{"name": f"c{number}", "description": one} for number, one in enumerate(attacks())]
    notices = [
        {"update": {"sessionUpdate": f"strange {RUN}", "text": one}} for one in (*attacks()[:20], WORDS)
    ]
    await tall.ask(
        {"plan": entries},
        {"title": WORDS},
        {"commands": commands},
        *notices,
        {"update": {"sessionUpdate": "current_mode_update", "currentModeId": WORDS}},
        {"error": {"code": -32603, "message": WORDS, "data": {"why": WORDS}}},
    )
    await expect(tall.card(re.compile("^Error")).first).to_be_visible()
    await tall.rested()
    await unfold(tall)
    await tall.prompt.fill("/c")
    await expect(tall.page.get_by_role("listbox").first).to_be_visible()
    await tall.prompt.fill("")
    await check(tall, canary)
    await tall.button("History").click()
    await expect(tall.history.get_by_text("onerror=attacked()").first).to_be_visible()
    assert await canary.seen() == []
    assert await turned(tall) == []


async def test_no_question_of_an_agent_does_anything_to_the_page(tall: Chat, canary: Canary) -> None:
    options = [
        {"optionId": "a", "name": WORDS, "kind": "allow_once"},
        {"optionId": "b", "name": "No", "kind": "reject_once"},
    ]
    field = {"type": "string", "title": WORDS, "description": WORDS}
    choice = {"type": "string", "title": "Choice", "enum": [WORDS, "plain"]}
    await tall.ask(
        {"tool": {**tool(1, WORDS)["tool"], "id": "asked", "statuses": ["pending"]}},
        {"permission": {"tool": "asked", "title": WORDS, "options": options, "rejected": [say("Refused.")]}},
        {
            "elicit": {
                "message": "\n\n".join([*attacks()[:20], WORDS]),
                "fields": {"one": field, "two": choice},
                "declined": [],
            }
        },
        say(END),
    )
    refuse = tall.log.get_by_role("button", name="Reject", exact=True)
    await expect(refuse).to_be_visible()
    await unfold(tall)
    await check(tall, canary)
    await refuse.click()
    decline = tall.log.get_by_role("button", name=re.compile("^(Decline|Skip|No)"))
    await expect(decline.last).to_be_visible()
    await check(tall, canary)


async def test_a_giant_table_scrolls_in_its_own_place(chat: Chat) -> None:
    columns, rows = 100, 150
    head = "|" + "column|" * columns + "\n|" + "---|" * columns + "\n"
    body = "".join(f"|{number}" + "|a cell with words" * (columns - 1) + "|\n" for number in range(rows))
    await chat.tell(say(head + body))
    await chat.answers.get_by_role("button", name=re.compile("^Show all")).click()
    last = chat.answers.get_by_role("row").last
    await expect(last).to_contain_text(str(rows - 1))
    await chat.fits()
    await chat.log_fits()
    await chat.prompt.press_sequentially("still here")
    await expect(chat.prompt).to_have_value("still here")
    await expect(chat.prompt).to_be_in_viewport()


def batched(all_of: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(all_of), size):
        yield all_of[start : start + size]


def tool(number: int, words: str) -> Json:
    """A tool call that has the words wherever one can have words. It failed, so it is open."""
    details: Json = {
        "id": f"call-{number}",
        "title": words,
        "kind": "edit",
        "statuses": ["in_progress", "failed"],
        "text": words,
        "locations": [{"path": f"/{words}", "line": 1}],
        "raw_input": {words: words, "command": words},
        "raw_output": {"said": words},
        "diff": {"path": f"/{words}", "old": f"{words}\nsame", "new": f"{words} changed\nsame"},
    }
    return {"tool": details}


async def unfold(chat: Chat) -> None:
    """Open whatever of the conversation is folded, also what comes to light by that."""
    folded = chat.log.locator("[aria-expanded=false]")
    for _ in range(3):
        await folded.evaluate_all("all => all.forEach((one) => one.click())")
        await chat.page.evaluate("new Promise(requestAnimationFrame)")


async def click_every_link(chat: Chat) -> None:
    await chat.log.locator("a, .prose-path").evaluate_all("all => all.forEach((one) => one.click())")


async def check(chat: Chat, canary: Canary) -> None:
    await chat.page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    assert await canary.seen() == []
    await expect(chat.prompt).to_be_editable()
    assert await covered(chat) is False
    found = await turned(chat)
    assert found == [], "\n".join(found)
    await chat.fits()


async def covered(chat: Chat) -> Any:
    """Whether something lies over the box for the prompt."""
    return await chat.prompt.evaluate(
        """one => {
          const { left, top, width, height } = one.getBoundingClientRect();
          return document.elementFromPoint(left + width / 2, top + height / 2) !== one;
        }"""
    )


async def turned(chat: Chat) -> Any:
    """Words of the agent that read in another order than they are written."""
    return await chat.page.evaluate(
        """controls => {
          const found = [];
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          const turns = (text) => [...controls].some((one) => text.includes(one));
          while (walker.nextNode()) {
            const { data, parentElement } = walker.currentNode;
            const own = parentElement.closest(".p-row-prompt, textarea");
            if (own === null && turns(data)) found.push(`${parentElement.className}: ${JSON.stringify(data)}`);
          }
          for (const one of document.querySelectorAll("[title], [aria-label]"))
            if (turns(`${one.title} ${one.ariaLabel}`) && one.closest(".p-row-prompt") === null)
              found.push(`${one.className} is named ${JSON.stringify(one.title || one.ariaLabel)}`);
          if (turns(document.title)) found.push(`the page: ${document.title}`);
          return found;
        }""",
        BIDIRECTIONAL,
    )
