"""Failures around the extension: servers that die, windows that reload, views that close."""

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.chat import named, say
from tests.browser.scripted_requests import wish
from tests.browser.user_environment import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import Open
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_server_that_is_killed_in_the_middle_of_a_turn_comes_back_and_the_turn_is_sent_again(
    window: Workbench, house: House
) -> None:
    chat = window.chat()
    lost = [say("Setting out."), {"hang": {}}]
    await chat.ask({"once": {"mark": "killed", "steps": lost}}, say("Got there."))
    await expect(chat.answers.last).to_contain_text("Setting out.")
    await asyncio.to_thread(house.kill)
    again = chat.card("Interrupted turn").get_by_role("button", name="Retry")
    await again.click(timeout=60_000)
    await expect(chat.answers.last).to_contain_text("Got there.")
    await window.knows_session()


async def test_a_window_that_reloads_in_the_middle_of_a_turn_shows_all_of_it(
    window: Workbench, house: House
) -> None:
    chat = window.chat()
    session_id = await window.session_id()
    await chat.ask(say("Before. "), *wish("make ready", "ready"))
    await expect(chat.card("Permission: Run make ready")).to_be_visible()
    await window.reload()
    await window.open_chat()
    await chat.card("Permission: Run make ready").get_by_role("button", name="Allow", exact=True).click()
    await expect(chat.answers.last).to_contain_text("ready: ran")
    await expect(chat.log).to_contain_text("Before.")
    assert await window.session_id() == session_id


async def test_two_windows_on_one_folder_show_the_same_session(window: Workbench, open_window: Open) -> None:
    chat = window.chat()
    await chat.tell(named("Shared watch"), say("First mate."))
    second = await open_window()
    await second.show()
    await second.unfold("Sessions")
    await second.entries("Sessions").filter(has_text="Shared watch").click()
    other = second.chat()
    await expect(other.answers.last).to_contain_text("First mate.")
    await other.tell(say("From the other window."))
    await expect(chat.answers.last).to_contain_text("From the other window.")


async def test_whoever_sends_a_prompt_and_leaves_at_once_has_sent_it(window: Workbench) -> None:
    chat = window.chat()
    await chat.ready()
    await chat.prompt.fill("say all aboard")
    await chat.prompt.press("Enter")
    await chat.painted()
    await window.leave_chat()
    await window.show()
    await expect(chat.prompts).to_have_text(["say all aboard"])
    await expect(chat.prompt).to_have_value("")


async def test_a_view_that_is_closed_while_something_is_asked_leaves_the_question_open(
    window: Workbench,
) -> None:
    chat = window.chat()
    await window.command("Portico: Open Chat in Editor")
    await window.leave_chat()
    await chat.ready()
    await chat.ask(*wish("make knots", "knots"))
    await expect(chat.card("Permission: Run make knots")).to_be_visible()
    await window.command("View: Close All Editors")
    await window.answer("asks: Run make knots", "Open")
    await chat.card("Permission: Run make knots").get_by_role("button", name="Allow", exact=True).click()
    await expect(chat.answers.last).to_contain_text("knots: ran")


async def test_a_chat_in_an_editor_tab_is_there_again_after_a_reload(window: Workbench) -> None:
    chat = window.chat()
    await window.command("Portico: Open Chat in Editor")
    await window.leave_chat()
    await chat.ready()
    await window.begin_session()
    await chat.tell(say("In a tab of its own."))
    await chat.prompt.fill("half a sentence")
    await window.reload()
    tab = window.page.locator(".tabs-container .tab").filter(has_text="Portico")
    await expect(tab).to_be_visible()
    await expect(chat.answers.last).to_contain_text("In a tab of its own.", timeout=60_000)
    await expect(chat.prompt).to_have_value("half a sentence")


async def test_a_view_that_is_hidden_while_a_long_answer_streams_has_all_of_it_when_it_comes_back(
    window: Workbench, house: House
) -> None:
    chat = window.chat()
    session_id = await window.session_id()
    await chat.ask({"stream": {"count": 3_000, "size": 20, "delay_ms": 1}}, say("The end of it."))
    await chat.painted()
    await window.leave_chat()
    wait_until(lambda: state(house, session_id) == "COMPLETED", "the end of the turn")
    await window.open_chat()
    await expect(chat.answers.last).to_contain_text("The end of it.")
    await expect(chat.answers.last).to_contain_text("03000:")


def state(house: House, session_id: str) -> str:
    return str(house.session(session_id)["summary"]["state"]).removeprefix("TURN_STATE_")
