"""The board and costs on the page: sessions by what they need, answered, reviewed and opened from there."""

import re
import secrets

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named, say
from tests.browser.conftest import Shoot

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_sessions_are_answered_and_opened_from_the_board_and_costs_are_shown(
    chat: Chat, shoot: Shoot
) -> None:
    # Sessions of other tests are on the board as well.
    priced, asks = (
        f"{title} {secrets.token_hex(3)}" for title in ("Priced harbour", "Asks before it deletes")
    )
    usage = {"usage": {"used": 10, "size": 100, "cost": {"amount": 0.75, "currency": "USD"}}}
    await chat.tell(named(priced), say("All boats are in."), usage)
    await chat.new_session()
    await chat.ask(named(asks), {"permission": {"title": "rm -r build", "kind": "execute"}})
    await expect(chat.card(re.compile("rm -r build"))).to_be_visible()
    await chat.button("All sessions").click()
    dialog = chat.page.get_by_role("dialog", name="All sessions")
    asking = (
        dialog.get_by_role("region", name="Waiting for you").get_by_role("listitem").filter(has_text=asks)
    )
    done = dialog.get_by_role("region", name="Done").get_by_role("listitem")
    await expect(asking).to_contain_text("rm -r build")
    await expect(done.filter(has_text=priced)).to_contain_text(re.compile(r"All boats are in\..*\$0\.75"))
    assert chat.page.url.endswith("#board")
    await shoot(chat, "board", night=True, widths=(360, 420, 1280))
    await asking.get_by_role("button", name="Reject").click()
    await expect(done.filter(has_text=asks)).to_be_visible()
    await dialog.get_by_role("button", name="Costs").click()
    await dialog.get_by_role("button", name="Session", exact=True).click()
    await expect(dialog.get_by_role("row").filter(has_text=priced)).to_contain_text("$0.75")
    await expect(dialog).to_contain_text("Porter's budgets: $1.00 a turn")
    await shoot(chat, "costs", night=True, widths=(360, 420, 1280))
    await dialog.get_by_role("button", name="Sessions", exact=True).click()
    await done.get_by_role("button", name=priced).click()
    await expect(dialog).to_have_count(0)
    await expect(chat.tab(re.compile(priced))).to_have_attribute("aria-selected", "true")
    assert "#" not in chat.page.url
