"""Errors on a card, with actions that work."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat, named, say
from tests.browser.conftest import Open, Shoot
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_missing_agent_is_told_and_another_one_takes_the_prompt(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    session_id = house.start_session("missing")
    draft = {"text": "caulk the hull", "clientId": "somebody"}
    house.server.ask("SubmitClientEvent", {"sessionId": session_id, "draft": draft})
    await chat.show_history()
    await chat.history.get_by_role("button", name=re.compile("missing")).first.click()
    await expect(chat.prompt).to_have_value("caulk the hull")
    await chat.prompt.press("Enter")
    card = chat.card("Error: The agent is not installed")
    await expect(card).to_contain_text("no-such-agent-anywhere")
    await shoot(chat, "error-missing", night=True)
    await card.get_by_role("button", name="Porter").click()
    await expect(chat.composer.get_by_role("combobox", name="Agent: Porter")).to_be_visible()
    await expect(chat.prompt).to_have_value("caulk the hull")


async def test_broken_settings_of_the_folder_are_told_where_settings_are(
    chat: Chat, house: House, shoot: Shoot
) -> None:
    house.workspace_settings('{"permissions": {"allow": ["everything"]}}')
    file = house.workspace / ".portico" / "settings.json"
    try:
        await chat.button("Settings").click()
        settings = chat.page.get_by_role("dialog", name="Settings")
        warning = f"{file}: 'everything' is not a permission rule and is ignored."
        await expect(settings.get_by_text(warning)).to_be_visible()
        await shoot(chat, "settings-problem", night=True)
    finally:
        file.unlink()


async def test_a_crash_shows_the_last_words_and_can_be_tried_again(chat: Chat, house: House) -> None:
    mark = str(house.workspace / "crashed-before")
    crash = {"crash": {"code": 3, "stderr": "the mast broke\n"}}
    await chat.ask({"once": {"mark": mark, "steps": [crash]}}, say("Recovered."))
    card = chat.card("Error: The agent stopped working")
    await card.get_by_role("button", name="Details", exact=True).click()
    await expect(card.get_by_text("the mast broke")).to_be_visible()
    await card.get_by_role("button", name="Retry").click()
    await expect(chat.answers).to_have_text("Recovered.")
    await expect(card.get_by_role("button", name="Retry")).to_have_count(0)


async def test_a_crash_is_one_card_in_plain_words_that_stays_until_something_is_done(
    chat: Chat, shoot: Shoot
) -> None:
    await chat.ask(say("Half an"), {"crash": {"code": 3, "stderr": "the mast broke\n"}})
    card = chat.card("Error: The agent stopped working")
    await expect(card.get_by_role("button")).to_have_text(["Retry", "Dismiss", "Copy details", "Details"])
    await expect(chat.log.get_by_role("group")).to_have_count(1)
    await expect(chat.seen(re.compile("was restarted and is ready"))).to_be_visible()
    await expect(chat.tab(re.compile("interrupted"))).to_be_visible()
    await expect(chat.log).not_to_contain_text("session/")
    await expect(card).not_to_contain_text("the mast broke")
    await shoot(chat, "crash", widths=(420, 1100), night=True)
    await card.get_by_role("button", name="Dismiss").click()
    await expect(card.get_by_role("button")).to_have_text(["Details"])
    await expect(chat.tab(re.compile("stopped"))).to_be_visible()


async def test_a_report_of_a_crash_is_copied_without_the_conversation(chat: Chat) -> None:
    await chat.ask(say("a private matter"), {"crash": {"code": 3, "stderr": "the mast broke\n"}})
    await chat.card("Error: The agent stopped working").get_by_role("button", name="Copy details").click()
    await expect(chat.button("Copied")).to_be_visible()
    report = await chat.page.evaluate("navigator.clipboard.readText()")
    assert "AGENT_CRASHED" in report
    assert "the mast broke" in report
    assert "private" not in report


async def test_signing_in_with_the_agents_own_way_sends_the_prompt_again(chat: Chat, house: House) -> None:
    await chat.new_session("locked")
    await chat.ask("let me in")
    card = chat.card("Error: The agent needs you to sign in")
    await card.get_by_role("button", name="Sign in with a browser").click()
    await expect(chat.answers).to_have_text("Welcome in.")


async def test_a_key_is_kept_and_never_shown_again(chat: Chat, house: House, shoot: Shoot) -> None:
    await chat.new_session("guarded")
    await chat.ask("let me in")
    card = chat.card("Error: The agent needs you to sign in")
    await card.get_by_role("button", name="Connect with a key").click()
    await card.get_by_role("button", name="Save key").click()
    await expect(card.get_by_role("alert")).to_contain_text("Enter the name of the variable")
    await card.get_by_role("textbox", name=re.compile("^Environment variable")).fill("HARBOUR_KEY")
    field = card.get_by_label("Key", exact=True)
    await expect(field).to_have_attribute("type", "password")
    await field.fill("sk-very-secret-thing")
    await card.get_by_role("button", name="Save key").click()
    await expect(card.get_by_role("status").get_by_text(re.compile("^(Saved|This machine)"))).to_be_visible()
    await expect(field).to_have_value("")
    await shoot(chat, "connect", widths=(300, 480))
    everything = await chat.page.evaluate(
        "JSON.stringify([document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}])"
    )
    assert "sk-very-secret-thing" not in everything


async def test_a_silent_agent_is_told_and_can_be_tried_again(chat: Chat, house: House) -> None:
    mark = str(house.workspace / "was-silent")
    steps = [named("Doldrums"), {"once": {"mark": mark, "steps": [{"hang": {}}]}}, say("Wind again.")]
    ran = house.exec(steps, "--agent", "scripted", "--timeout", "4")
    assert ran.code == 2
    await chat.show_history()
    await chat.history.get_by_role("button", name=re.compile("^Doldrums")).first.click()
    await chat.card("Error: The agent timed out").get_by_role("button", name="Retry").click()
    await expect(chat.answers).to_have_text("Wind again.")


async def test_a_full_conversation_goes_on_in_a_new_session_with_the_same_prompt(chat: Chat) -> None:
    full = {"error": {"code": -32603, "message": "the context window is exceeded"}}
    await chat.ask(full)
    card = chat.card("Error: The context window is full")
    await card.get_by_role("button", name="New session with this prompt").click()
    await expect(chat.tabs).to_have_count(2)
    await expect(chat.prompt).to_have_value(re.compile("context window"))


async def test_an_answer_that_had_no_room_says_so(chat: Chat) -> None:
    await chat.tell(say("And then"), {"stop_reason": "max_tokens"})
    await expect(chat.seen(re.compile("^The answer was cut off: token limit reached"))).to_be_visible()
    await chat.log.get_by_role("button", name="New session with this prompt").click()
    await expect(chat.tabs).to_have_count(2)


async def test_an_interrupted_turn_stays_so_until_it_is_dismissed(
    own_house: House, open_page: Open, shoot: Shoot
) -> None:
    chat = await open_page(own_house.open())
    await chat.ask(say("Half a"), {"hang": {}})
    await expect(chat.answers).to_have_text("Half a")
    own_house.kill()
    own_house.open()
    card = chat.card("Interrupted turn")
    await expect(card).to_be_visible()
    await shoot(chat, "interrupted", widths=(300, 1100))
    await expect(card.get_by_role("button")).to_have_text(["Retry", "Dismiss", "Copy details"])
    await expect(chat.tab(re.compile("interrupted"))).to_be_visible()
    await card.get_by_role("button", name="Dismiss").click()
    await expect(card).to_have_count(0)
    await expect(chat.tab(re.compile("stopped"))).to_be_visible()
    await chat.tell(say("A whole one."))
    await expect(chat.answers.last).to_have_text("A whole one.")


async def test_a_prompt_for_a_folder_in_use_waits_and_the_other_session_can_be_stopped(
    chat: Chat, house: House
) -> None:
    await chat.ask(named("First come"), say("Mine."), {"hang": {}})
    await expect(chat.answers).to_have_text("Mine.")
    await chat.new_session()
    await chat.ask(say("At last."))
    await expect(chat.page.get_by_role("list", name="Queued prompts")).to_be_visible()
    await chat.tab(re.compile("First come")).click()
    await chat.stop_button.click()
    await chat.tabs.last.click()
    await expect(chat.answers).to_have_text("At last.")


async def test_a_prompt_waits_for_another_program_that_works_in_the_folder(chat: Chat, house: House) -> None:
    go = house.workspace / "go-on-there"
    running = house.start_exec([say("Mine."), {"wait_file": str(go)}], "--agent", "scripted")
    running.until("text_delta")
    await chat.ask(say("Now me."))
    await expect(chat.page.get_by_role("list", name="Queued prompts")).to_be_visible()
    go.touch()
    running.end()
    await expect(chat.answers).to_have_text("Now me.")


async def test_a_call_that_fails_says_so_and_can_be_dismissed(chat: Chat) -> None:
    await chat.page.route("**/ForkSession", lambda route: route.abort())
    await chat.tell(named("No fork"), say("Straight on."))
    await chat.show_history()
    await chat.do("Fork", "No fork")
    alert = chat.page.get_by_role("alert")
    await expect(alert).to_contain_text("The Portico server is not responding.")
    await alert.get_by_role("button", name="Dismiss").click()
    await expect(alert).to_have_count(0)
