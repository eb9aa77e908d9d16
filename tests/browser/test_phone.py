"""A phone that is paired by its code: it answers for a turn of another door, queues, stops and sends prompts."""

import re
import secrets

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named, say
from tests.browser.conftest import Open, Shoot
from tests.browser.scripted_requests import wish
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")

PHONE = {
    "viewport": {"width": 360, "height": 740},
    "is_mobile": True,
    "has_touch": True,
    "user_agent": "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36",
}


async def test_a_paired_phone_answers_a_question_of_a_running_turn_and_the_desk_goes_on(
    house: House, chat: Chat, open_page: Open, shoot: Shoot
) -> None:
    title = f"Paint the boats {secrets.token_hex(3)}"
    await chat.ask(named(title), *wish("make paint", "paint"))
    at_desk = chat.card("Permission: Run make paint")
    await expect(at_desk).to_be_visible()
    offered = house.run("pair", "--api", "--name", "Ada's phone").api
    phone = await open_page(offered["url"], **PHONE)
    assert "token" not in phone.page.url
    await phone.fits()
    # The list says what waits, and leads there.
    await phone.button("All sessions").tap()
    board = phone.page.get_by_role("dialog", name="All sessions")
    asking = (
        board.get_by_role("region", name="Waiting for you").get_by_role("listitem").filter(has_text=title)
    )
    await expect(asking).to_contain_text("make paint")
    await phone.fits()
    await shoot(phone, "phone-sessions", widths=(360,), night=True)
    await asking.get_by_role("button", name=title).tap()
    card = phone.card("Permission: Run make paint")
    await expect(card.get_by_text("make paint", exact=True)).to_be_visible()
    await phone.fits()
    await shoot(phone, "phone-question", widths=(360,), night=True)
    await card.get_by_role("button", name=re.compile("^Allow")).first.tap()
    await expect(chat.answers).to_have_text("paint: ran")
    await expect(at_desk).to_have_count(0)
    await expect(chat.fold("Allowed once by Ada's phone")).to_be_visible()
    # What it sends while a turn runs is queued; the turn is stopped from there, and the next one runs.
    await chat.ask(say("One moment."), {"hang": {}})
    await expect(phone.answers.last).to_have_text("One moment.")
    await phone.prompt.fill('[{"say": "From the phone."}]')
    await phone.button(re.compile("^Queue")).first.tap()
    await expect(phone.composer).to_contain_text("From the phone.")
    await shoot(phone, "phone-queue", widths=(360,), night=True)
    await phone.stop_button.tap()
    await phone.button(re.compile("^Send now")).first.tap()
    await expect(chat.answers.last).to_have_text("From the phone.")
    # A web app that can be installed.
    manifest = await phone.page.request.get(f"{house.server.url}portico.webmanifest")
    assert (manifest.status, (await manifest.json())["display"]) == (200, "standalone")
    for icon in (await manifest.json())["icons"]:
        found = await phone.page.request.get(house.server.url.rstrip("/") + icon["src"])
        assert (found.status, found.headers["content-type"]) == (200, "image/png")
    # Once it is revoked it gets nothing more.
    assert house.run("devices", "revoke", "Ada's phone").code == 0
    await phone.page.reload()
    await expect(
        phone.page.get_by_text(re.compile("portico serve|token|sign in", re.IGNORECASE)).first
    ).to_be_visible()
    await shoot(phone, "phone-revoked", widths=(360,))
