"""A tour in the page: one step at a time, by buttons and by keys, and kept as a file."""

import json
import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.support.stream import Json

pytestmark = pytest.mark.asyncio(loop_scope="session")

CODE = "class Cart:\n    def total(self) -> int:\n        return sum(self.prices)\n"
TOUR = {
    "title": "How a cart adds up",
    "steps": [
        {
            "path": "shop/cart.py",
            "line": 2,
            "symbol": "Cart.total",
            "text": "Adds the **prices**.",
            "excerpt": {"line": 1, "text": CODE.rstrip("\n")},
        },
        {
            "path": "shop/tax.py",
            "line": 7,
            "text": "Adds the tax, with `rate`.",
            "excerpt": {"line": 7, "text": "rate = 0.2"},
        },
        {"path": "shop/gone.py", "text": "Was here.", "problem": "shop/gone.py cannot be read: no such file"},
    ],
}


def tour_calls(tour: Json) -> tuple[Json, Json]:
    """The updates of a tool call that presents a tour, of any agent."""
    call = {"sessionUpdate": "tool_call", "toolCallId": "tour-1", "title": f"Tour: {tour['title']}"}
    done = {"sessionUpdate": "tool_call_update", "toolCallId": "tour-1", "status": "completed"}
    return {"update": call}, {"update": {**done, "rawOutput": {"tour": tour}}}


async def test_a_tour_is_read_step_by_step(chat: Chat, shoot: Shoot) -> None:
    await chat.tell(*tour_calls(TOUR))
    card = chat.card("Tour: How a cart adds up")
    await expect(card.get_by_text("Adds the prices.")).to_be_visible()
    await expect(card.get_by_text("def total(self) -> int:")).to_be_visible()
    await expect(card.get_by_role("button", name="Back")).to_be_disabled()
    await shoot(chat, "tour")
    await card.get_by_role("button", name="Next").click()
    await expect(card.get_by_text("Adds the tax, with rate.")).to_be_visible()
    await expect(card.get_by_role("button", name=re.compile("^Step 2 of 3"))).to_have_attribute(
        "aria-current", "step"
    )
    await card.get_by_role("button", name=re.compile("^Step 3 of 3: shop.gone.py")).click()
    await expect(card.get_by_text("shop/gone.py cannot be read")).to_be_visible()
    await expect(card.get_by_role("button", name="Next")).to_be_disabled()
    await shoot(chat, "tour-lost-step", night=True)


async def test_keys_go_through_a_tour(chat: Chat) -> None:
    await chat.tell(*tour_calls(TOUR))
    card = chat.card("Tour: How a cart adds up")
    await card.get_by_role("button", name=re.compile("^Step 1 of 3")).focus()
    await chat.page.keyboard.press("ArrowRight")
    await expect(card.get_by_text("Adds the tax")).to_be_visible()
    await chat.page.keyboard.press("End")
    await expect(card.get_by_text("Was here.")).to_be_visible()
    await chat.page.keyboard.press("1")
    await expect(card.get_by_text("Adds the prices.")).to_be_visible()


async def test_a_tour_is_saved_as_a_code_tour_file(chat: Chat) -> None:
    await chat.tell(*tour_calls(TOUR))
    card = chat.card("Tour: How a cart adds up")
    async with chat.page.expect_download() as download:
        await card.get_by_role("button", name="Save as CodeTour file").click()
    saved = await download.value
    assert saved.suggested_filename == "how-a-cart-adds-up.tour"
    path = await saved.path()
    document = json.loads(path.read_text())
    assert document["title"] == "How a cart adds up"
    assert [step["file"] for step in document["steps"]] == ["shop/cart.py", "shop/tax.py", "shop/gone.py"]
    assert document["steps"][1]["line"] == 7
