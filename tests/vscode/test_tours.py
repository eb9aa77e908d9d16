"""A tour in a real VS Code: comments at the lines, steps by their buttons, and replies that go to the chat."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.user_environment import House
from tests.support.stream import Json
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")

CART = "class Cart:\n    def total(self):\n        return sum(self.prices)\n"
STEPS: list[Json] = [
    {"path": "cart.py", "symbol": "Cart.total", "text": "Adds the **prices**."},
    {"path": "tax.py", "line": 2, "text": "Knows the rate."},
    {"path": "sunk.py", "text": "Was here."},
]


async def present(window: Workbench, title: str, *before: Json) -> None:
    arguments = {"title": title, "steps": STEPS}
    call = {"use_tool": {"server": "portico-tours", "name": "present_tour", "arguments": arguments}}
    await window.chat().tell(*before, call)
    await expect(window.chat().card(f"Tour: {title}")).to_be_visible()


async def test_steps_are_comments_at_the_lines_and_replies_go_to_the_chat(
    window: Workbench, house: House
) -> None:
    (house.workspace / "cart.py").write_text(CART)
    (house.workspace / "tax.py").write_text("# taxes\nrate = 0.2\n")
    await present(window, "How a cart adds up")
    # Lines move after the tour was made.
    (house.workspace / "cart.py").write_text(f"import math\n\n\n{CART}")
    card, page = window.chat().card("Tour: How a cart adds up"), window.page
    comment = page.locator(".review-widget")

    async def show_first() -> None:
        await card.get_by_role("button", name=re.compile("^Step 1 of 3")).click(timeout=ATTEMPT_MS)
        await expect(comment.get_by_text("Adds the prices.")).to_be_visible(timeout=ATTEMPT_MS)

    await persist(show_first)
    await expect(page.locator(".editor-instance .view-lines").first).to_contain_text("import")
    await expect(page.get_by_role("button", name=re.compile(r"^Ln 5, Col 1"))).to_be_visible()
    await page.screenshot(path=OUTPUT / "tour.png")

    async def reply() -> None:
        await comment.get_by_text("Ask about this step").first.click(timeout=ATTEMPT_MS)
        await page.keyboard.type("say why prices")
        await comment.get_by_role("button", name="Send to Chat").click(timeout=ATTEMPT_MS)
        await expect(window.chat().prompts.last).to_contain_text("say why prices", timeout=ATTEMPT_MS)

    await persist(reply)
    await expect(window.chat().prompts.last).to_contain_text(
        "At cart.py:5 (step 1 of “How a cart adds up”): say why prices"
    )
    await window.chat().rested()

    async def go_on() -> None:
        await comment.get_by_role("button", name="Next Step").first.click(timeout=ATTEMPT_MS)
        await expect(comment.get_by_text("Knows the rate.")).to_be_visible(timeout=ATTEMPT_MS)

    await persist(go_on)
    await card.get_by_role("button", name=re.compile("^Step 3 of 3")).click()
    await window.told("Step 3 cannot be shown. sunk.py cannot be read")


async def test_a_tour_over_a_proposal_is_in_the_proposed_text(window: Workbench, house: House) -> None:
    (house.workspace / "cart.py").write_text(CART)
    (house.workspace / "tax.py").write_text("# taxes\nrate = 0.2\n")
    arguments = {"title": "What changes", "steps": STEPS[:1]}
    call = {"use_tool": {"server": "portico-tours", "name": "present_tour", "arguments": arguments}}
    await window.propose({"write": {"path": "cart.py", "content": f"# new\n{CART}"}}, call)
    card = window.chat().card("Tour: What changes")

    async def show_first() -> None:
        await card.get_by_role("button", name=re.compile("^Step 1 of 1")).click(timeout=ATTEMPT_MS)
        comment = window.page.locator(".review-widget")
        await expect(comment.get_by_text("Adds the prices.")).to_be_visible(timeout=ATTEMPT_MS)

    await persist(show_first)
    await expect(window.page.locator(".editor-instance .view-lines").first).to_contain_text("new")
    await window.page.screenshot(path=OUTPUT / "tour-over-proposal.png")
    assert (house.workspace / "cart.py").read_text() == CART
