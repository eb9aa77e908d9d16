"""What an agent may do is asked on the page: permissions, questions, and the trail that answers leave."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, say
from tests.browser.conftest import Shoot
from tests.browser.scripted_requests import OPTIONS, wish
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_permission_shows_the_agents_own_options_and_leaves_a_trail(chat: Chat, shoot: Shoot) -> None:
    await chat.ask(*wish("make paint", "paint"))
    card = chat.card("Permission: Run make paint")
    options = card.get_by_role("button", name=re.compile("^(Yes|No)"))
    await expect(options).to_have_text([option["name"] for option in OPTIONS])
    await expect(chat.page).to_have_title(re.compile(r"^\(1\) "))
    await card.get_by_role("button", name="Details").click()
    await expect(card.get_by_text("make paint", exact=True)).to_be_visible()
    await shoot(chat, "permission", night=True)
    await card.get_by_role("button", name="No, do something else").click()
    await expect(chat.answers).to_have_text("paint: left")
    await expect(chat.seen(re.compile("^Denied: Run make paint · by you"))).to_be_visible()
    await expect(card).to_have_count(0)


async def test_what_is_remembered_is_chosen_and_can_be_taken_back(chat: Chat) -> None:
    await chat.ask(*wish("make varnish", "first"))
    card = chat.card("Permission: Run make varnish")
    await card.get_by_role("combobox", name="If allowed").select_option("always")
    await expect(card.get_by_text("execute:make varnish")).to_be_visible()
    await card.get_by_role("button", name="Yes, run it").click()
    await expect(chat.seen(re.compile("^Allowed always: Run make varnish · by you"))).to_be_visible()
    await chat.rested()
    await chat.tell(*wish("make varnish", "second"))
    await expect(chat.answers.last).to_have_text("second: ran")
    await expect(chat.seen(re.compile("^Allowed once: Run make varnish · by the rule"))).to_be_visible()
    await chat.button("Settings").click()
    settings = chat.page.get_by_role("dialog", name="Settings")
    await settings.get_by_role("button", name=re.compile("^Revoke execute:make varnish")).click()
    await expect(settings.get_by_text("execute:make varnish")).to_have_count(0)
    await settings.get_by_role("button", name="Close").click()
    await chat.new_session()
    await chat.ask(*wish("make varnish", "third"))
    await expect(chat.card("Permission: Run make varnish")).to_be_visible()


async def test_what_is_asked_comes_into_sight_also_where_the_card_is_higher_than_the_window(
    chat: Chat,
) -> None:
    await chat.page.set_viewport_size({"width": 300, "height": 420})
    await chat.ask(say("Before. " * 60), *wish("rm -rf " + "build/" * 20, "clean"))
    card = chat.card(re.compile("^Permission: Run rm -rf"))
    await expect(card.get_by_role("button", name="No, do something else")).to_be_in_viewport()
    asked = card.locator(".p-card-title")
    await expect(asked).not_to_be_in_viewport(ratio=1)
    await chat.page.keyboard.press("Control+Alt+a")
    await expect(card).to_be_focused()
    await expect(asked).to_be_in_viewport(ratio=1)


async def test_several_requests_are_answered_at_once(chat: Chat, house: House) -> None:
    asks = [
        {"toolCallId": name, "title": f"Run {name}", "kind": "execute"} for name in ("one", "two", "three")
    ]
    requests = [
        {
            "request": {
                "method": "session/request_permission",
                "params": {"sessionId": "$session", "toolCall": ask, "options": OPTIONS},
                "wait": False,
            }
        }
        for ask in asks
    ]
    go = house.workspace / "go-on-asking"
    await chat.ask(*requests, {"wait_file": str(go)})
    pending = chat.page.get_by_role("group", name="Waiting for you")
    await expect(pending.get_by_text("3 requests are waiting for you")).to_be_visible()
    await pending.get_by_role("button", name="Allow all once").click()
    await expect(chat.seen(re.compile("^Allowed once: Run (one|two|three) · by you"))).to_have_count(3)
    await expect(pending).to_have_count(0)
    go.touch()
    await chat.rested()


async def test_a_permission_is_answered_with_the_keyboard_and_never_by_accident(chat: Chat) -> None:
    await chat.ask(*wish("make sail", "sail"))
    card = chat.card("Permission: Run make sail")
    await expect(card).to_be_visible()
    await chat.prompt.press("3")
    await expect(card).to_be_visible()
    await chat.page.keyboard.press("Control+Alt+a")
    await expect(card).to_be_focused()
    await chat.page.keyboard.press("1")
    await expect(chat.answers).to_have_text("sail: ran")


async def test_a_question_is_a_form_that_knows_what_it_needs(chat: Chat, shoot: Shoot) -> None:
    await chat.ask("question")
    card = chat.card("Question: Where shall it listen?")
    await expect(card.get_by_role("textbox", name="Host")).to_have_value("localhost")
    await card.get_by_role("button", name="Send").click()
    port = card.get_by_role("spinbutton", name=re.compile("Port"))
    await expect(port).to_be_focused()
    await expect(port).to_have_attribute("aria-invalid", "true")
    await port.fill("8080")
    await card.get_by_role("combobox", name="scheme").select_option("https")
    await shoot(chat, "question", widths=(300, 480))
    await card.get_by_role("button", name="Send").click()
    await expect(chat.seen(re.compile("^Answered: Where shall it listen"))).to_be_visible()
    await expect(chat.answers).to_contain_text("8080")


async def test_a_question_is_declined(chat: Chat) -> None:
    await chat.ask("question")
    await chat.card(re.compile("^Question")).get_by_role("button", name="Decline").click()
    await expect(chat.seen(re.compile("^Declined: Where shall it listen"))).to_be_visible()
