"""Permissions and questions on the page, and the record of the answers."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, say
from tests.browser.conftest import Open, Shoot
from tests.browser.scripted_requests import OPTIONS, wish
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_permission_is_one_row_of_answers_and_leaves_a_trail(chat: Chat, shoot: Shoot) -> None:
    await chat.ask(*wish("make paint", "paint"))
    card = chat.card("Permission: Run make paint")
    await expect(card).to_contain_text("Scripted wants to run a command.")
    await expect(card.get_by_text("make paint", exact=True)).to_be_visible()
    await expect(chat.page).to_have_title(re.compile(r"^\(1\) "))
    await card.get_by_role("button", name="More ways to allow").click()
    menu = card.get_by_role("group", name="More ways to allow")
    await expect(menu.get_by_role("button", name="Allow for this session execute:make paint")).to_be_focused()
    await expect(menu.get_by_role("status")).to_have_text("Covers this request.")
    await shoot(chat, "permission", widths=(360, 420, 1280), night=True)
    await card.get_by_role("button", name="Reject", exact=True).click()
    await expect(chat.answers).to_have_text("paint: left")
    await expect(chat.seen(re.compile("^Denied: Run make paint · by you"))).to_be_visible()
    await expect(card).to_have_count(0)
    await expect(chat.prompt).to_be_focused()


async def test_a_question_that_is_not_plain_has_the_agents_own_words(chat: Chat) -> None:
    options = [
        {"optionId": "edits", "name": "Yes, and accept edits", "kind": "allow_once"},
        {"optionId": "asks", "name": "Yes, and ask me", "kind": "allow_once"},
        {"optionId": "no", "name": "Keep planning", "kind": "reject_once"},
    ]
    permission = {"tool": "plan", "title": "Leave the plan", "kind": "switch_mode", "options": options}
    await chat.ask({"permission": {**permission, "allowed": [say("Left.")], "rejected": []}})
    card = chat.card("Permission: Leave the plan")
    await expect(card.get_by_role("button", name=re.compile("^(Yes|Keep)"))).to_have_text(
        [option["name"] for option in options]
    )
    await card.get_by_role("button", name="Yes, and ask me").click()
    await expect(chat.answers).to_have_text("Left.")


async def test_what_reaches_out_is_told_in_colour(chat: Chat, shoot: Shoot) -> None:
    await chat.ask(*wish("curl https://example.com -o /tmp/out", "load"))
    card = chat.card(re.compile("^Permission: Run curl"))
    await expect(card.locator(".p-risk")).to_have_text(["Outside the workspace", "Uses the network"])
    await shoot(chat, "permission-risk", widths=(420,), night=True)


async def test_a_reason_for_a_rejection_goes_to_the_agent(chat: Chat) -> None:
    await chat.ask(*wish("make tar", "tar"))
    card = chat.card("Permission: Run make tar")
    await card.get_by_role("button", name="Reject with a reason").click()
    reason = card.get_by_role("textbox", name=re.compile("^Reason"))
    await expect(reason).to_be_focused()
    await reason.fill("it smells")
    await reason.press("Enter")
    await expect(chat.prompts.last).to_contain_text("I rejected “Run make tar”: it smells")


async def test_what_is_remembered_is_chosen_and_can_be_taken_back(chat: Chat, shoot: Shoot) -> None:
    await chat.ask(*wish("make varnish", "first"))
    card = chat.card("Permission: Run make varnish")
    await card.get_by_role("button", name="More ways to allow").click()
    await card.get_by_role("button", name=re.compile("^Always allow exactly this")).click()
    await expect(chat.fold("Run make varnish.*Allowed always by you")).to_be_visible()
    await expect(chat.seen(re.compile("^Allowed always"))).to_have_count(1)
    await chat.rested()
    await chat.tell(*wish("make varnish", "second"))
    await expect(chat.answers.last).to_have_text("second: ran")
    await expect(chat.fold("Run make varnish.*Allowed once by the rule")).to_be_visible()
    await chat.button("Settings").click()
    settings = chat.page.get_by_role("dialog", name="Settings")
    await settings.get_by_role("button", name=re.compile("^Revoke execute:make varnish")).click()
    await expect(settings.get_by_text("execute:make varnish")).to_have_count(0)
    await settings.get_by_role("button", name="Show all decisions…").click()
    decisions = chat.page.get_by_role("dialog", name="Decisions of all sessions")
    row = decisions.get_by_role("row", name=re.compile("Run make varnish.*by a rule execute:make varnish"))
    await expect(row.first).to_be_visible()
    await shoot(chat, "decisions", widths=(360, 420, 1280), night=True)
    async with chat.page.expect_download() as saved:
        await decisions.get_by_role("button", name="Export as CSV").click()
    assert (await saved.value).suggested_filename == "portico-decisions.csv"
    await decisions.get_by_role("button", name="Close").click()
    await chat.new_session()
    await chat.ask(*wish("make varnish", "third"))
    await expect(chat.card("Permission: Run make varnish")).to_be_visible()


async def test_a_pattern_shows_what_it_covers_and_is_kept_as_it_was_written(chat: Chat) -> None:
    await chat.ask(*wish("make ropes", "first"))
    card = chat.card("Permission: Run make ropes")
    await card.get_by_role("button", name="More ways to allow").click()
    menu = card.get_by_role("group", name="More ways to allow")
    pattern = menu.get_by_role("textbox", name="Pattern")
    await pattern.fill("execute:sew *")
    await expect(menu.get_by_role("status")).to_have_text("Does not cover this request.")
    await expect(card.get_by_role("button", name="Always allow pattern")).to_be_disabled()
    await pattern.fill("execute:make *")
    await expect(menu.get_by_role("status")).to_have_text("Covers this request.")
    await pattern.fill("execute:make r*")
    await chat.new_session()
    await expect(card).to_have_count(0)
    await chat.tabs.first.click()
    await expect(pattern).to_have_value("execute:make r*")
    # Another answer in between, so that the one for the last pattern cannot be that of the kept one.
    await pattern.fill("execute:sew *")
    await expect(menu.get_by_role("status")).to_have_text("Does not cover this request.")
    await pattern.fill("execute:make *")
    await expect(menu.get_by_role("status")).to_have_text("Covers this request.")
    await card.get_by_role("button", name="Allow pattern for this session").click()
    await chat.rested()
    await chat.tell(*wish("make knots", "second"))
    await expect(chat.answers.last).to_have_text("second: ran")
    await expect(chat.fold("Run make knots.*by the rule execute:make")).to_be_visible()


async def test_edits_are_accepted_by_one_key_and_that_is_shown_until_it_is_turned_off(
    chat: Chat, shoot: Shoot
) -> None:
    def edit(name: str) -> list[dict[str, object]]:
        shared = {"title": f"Edit {name}", "kind": "edit"}
        tool = {"id": name, "locations": [{"path": name}], "statuses": ["pending"], **shared}
        branches = {"allowed": [say(f"{name}: changed")], "rejected": [say(f"{name}: left")]}
        return [{"tool": tool}, {"permission": {"tool": name, "options": OPTIONS[::2], **shared, **branches}}]

    await chat.ask(*edit("hull.py"))
    card = chat.card("Permission: Edit hull.py")
    await expect(card.get_by_role("button", name="Yes, run it")).to_be_visible()
    await chat.page.keyboard.press("Control+Alt+e")
    await expect(chat.answers.last).to_have_text("hull.py: changed")
    note = chat.composer.get_by_text("Auto-accept edits is on")
    await expect(note).to_be_visible()
    await chat.rested()
    await chat.tell(*edit("mast.py"))
    await expect(chat.answers.last).to_have_text("mast.py: changed")
    await shoot(chat, "auto-accept", widths=(360, 420, 1280), night=True)
    await chat.ask(*wish("make haste", "run"))
    await expect(chat.card("Permission: Run make haste")).to_be_visible()
    await chat.composer.get_by_role("button", name="Turn off").click()
    await expect(note).to_have_count(0)


async def test_an_agent_is_trusted_only_after_a_confirmation(own_house: House, open_page: Open) -> None:
    chat = await open_page(own_house.open())
    await chat.ask(*wish("make haste", "first"))
    card = chat.card("Permission: Run make haste")
    await card.get_by_role("button", name="More ways to allow").click()
    await card.get_by_role("button", name="Trust Scripted in this folder…").click()
    await card.get_by_role("button", name="Trust Scripted", exact=True).click()
    await chat.rested()
    await chat.tell(*wish("sail away; sing", "second"))
    await expect(chat.answers.last).to_have_text("second: ran")
    await chat.button("Settings").click()
    settings = chat.page.get_by_role("dialog", name="Settings")
    await settings.get_by_role("button", name=re.compile("^Revoke all")).click()
    await expect(settings.get_by_role("button", name=re.compile("^Revoke all"))).to_have_count(0)


async def test_what_is_asked_comes_into_sight_also_where_the_card_is_higher_than_the_window(
    chat: Chat,
) -> None:
    await chat.page.set_viewport_size({"width": 300, "height": 420})
    await chat.ask(say("Before. " * 60), *wish("rm -rf " + "build/" * 20, "clean"))
    card = chat.card(re.compile("^Permission: Run rm -rf"))
    await expect(card.get_by_role("button", name="Reject", exact=True)).to_be_in_viewport()
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
    go.unlink(missing_ok=True)
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
    await chat.prompt.press("r")
    await expect(card).to_be_visible()
    await chat.page.keyboard.press("Control+Alt+a")
    await expect(card).to_be_focused()
    await chat.page.keyboard.press("a")
    await expect(chat.answers).to_have_text("sail: ran")
    await expect(chat.prompt).to_be_focused()


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
