"""Commands, menus and views of the extension, in a real VS Code."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chat import named, say
from tests.browser.scripted_requests import wish
from tests.browser.user_environment import House
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_selection_is_explained_in_the_chat(window: Workbench) -> None:
    await window.open_file("boats.py")
    await window.select_all()
    await window.command("Portico: Explain Selection")
    chat = window.chat()
    await expect(chat.prompts.last).to_contain_text("Explain lines 1–2 of @boats.py")
    await chat.rested()
    await window.page.screenshot(path=OUTPUT / "explained.png")


async def test_files_and_selections_are_put_behind_what_is_written(window: Workbench) -> None:
    chat = window.chat()
    await chat.prompt.fill("Compare with")
    await window.open_file("boats.py")
    await window.command("Portico: Add File to Chat")
    await expect(chat.prompt).to_have_value("Compare with @boats.py ")
    await window.select_all()
    await window.command("Portico: Add Selection to Chat")
    await expect(chat.prompt).to_have_value(
        re.compile(r"@boats.py, lines 1–2:\n\n```python\nfirst\nsecond\n```")
    )
    await chat.prompt.fill("")


async def test_what_waits_while_the_chat_is_hidden_is_answered_in_a_notification(window: Workbench) -> None:
    chat = window.chat()
    await chat.ask(named("Painting"), *wish("make paint", "paint"), named("Painted"))
    await expect(chat.card("Permission: Run make paint")).to_be_visible()
    await window.leave_chat()
    await window.told("asks: Run make paint")
    await expect(
        window.page.locator(".activitybar .badge-content").get_by_text("1", exact=True)
    ).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "waiting.png")
    await window.answer("asks: Run make paint", "Yes, run it")
    await window.answer("is done.", "Open")
    await expect(window.chat().answers.last).to_contain_text("paint: ran")


async def test_a_question_that_is_answered_elsewhere_is_not_asked_in_a_notification_any_more(
    window: Workbench, house: House
) -> None:
    chat = window.chat()
    session_id = await window.session_id()
    await chat.ask(named("[Tarring](command:portico.newSession)"), *wish("make tar", "tar"))
    await expect(chat.card("Permission: Run make tar")).to_be_visible()
    await window.leave_chat()
    asked = await window.told("asks: Run make tar")
    await expect(asked.get_by_role("link", name="Tarring")).to_have_count(0)
    (request,) = house.session(session_id)["permissions"]
    decision = {"requestId": request["requestId"], "optionId": "no", "scope": "PERMISSION_SCOPE_ONCE"}
    house.server.ask(
        "SubmitClientEvent", {"sessionId": session_id, "permissionDecisions": {"decisions": [decision]}}
    )
    await expect(asked).to_have_count(0)
    await window.open_chat()
    await expect(chat.answers.last).to_contain_text("tar: left")


async def test_a_question_is_put_off_and_asked_again_when_the_chat_is_left_once_more(
    window: Workbench,
) -> None:
    chat = window.chat()
    await chat.ask(*wish("make rope", "rope"))
    await expect(chat.card("Permission: Run make rope")).to_be_visible()
    await window.leave_chat()
    await window.answer("asks: Run make rope", "Not Now")
    await expect(window.notification("asks: Run make rope")).to_have_count(0)
    await window.open_chat()
    await window.leave_chat()
    await window.answer("asks: Run make rope", "Open")
    await chat.card("Permission: Run make rope").get_by_role("button", name="Allow", exact=True).click()
    await expect(chat.answers.last).to_contain_text("rope: ran")


async def test_a_problem_is_sent_to_be_fixed(window: Workbench, house: House) -> None:
    await window.open_file("boats.py")
    await window.command("Portico: Fix This")
    told = await window.told("VS Code reports no problem on line")
    await expect(told.get_by_text("Edit Inline…")).to_be_visible()
    await expect(told.get_by_text("Explain", exact=True)).to_be_visible()
    (house.workspace / "manifest.json").write_text('{"boats": }\n')
    await window.open_file("manifest.json")
    await expect(window.editor.locator(".squiggly-error").first).to_be_attached()
    await window.command("Portico: Fix This")
    await expect(window.chat().prompts.last).to_contain_text("Fix this problem in @manifest.json, line 1")


async def test_a_turn_is_stopped_by_a_command(window: Workbench) -> None:
    chat = window.chat()
    await chat.ask(*wish("make sails", "sails"))
    await expect(window.status_bar.locator(".codicon-bell-dot").first).to_be_visible()
    await window.command("Portico: Stop")
    await chat.rested()
    await expect(chat.answers.filter(has_text="sails: ran")).to_have_count(0)


async def test_the_status_bar_says_with_whom_one_talks(window: Workbench) -> None:
    chat = window.chat()
    await chat.tell(say("Here."))
    await window.knows_session()


async def test_sessions_are_listed_live_and_opened_from_the_list(window: Workbench) -> None:
    chat = window.chat()
    await chat.tell(named("Repairs of the quay"), say("Done."))
    await window.begin_session()
    await expect(chat.prompts).to_have_count(0)
    await window.unfold("Sessions")
    entry = window.entries("Sessions").filter(has_text="Repairs of the quay")
    await entry.click()
    await expect(chat.answers.last).to_contain_text("Done.")


async def test_todos_are_added_and_checked_off(window: Workbench, house: House) -> None:
    chat = window.chat()
    await chat.tell(say("Here."))
    await window.knows_session()
    await window.unfold("Todos")
    await window.command("Portico: Add Todo")
    await window.type("Scrape the hull", title="Add Todo")
    entry = window.entries("Todos").filter(has_text="Scrape the hull")
    await expect(entry).to_be_visible()
    await entry.get_by_role("checkbox").click()
    await expect(entry.get_by_role("checkbox")).to_be_checked()
    await window.page.screenshot(path=OUTPUT / "todos.png")

    async def edit() -> None:
        """A list that is drawn again swallows the click that is under way; a person clicks once more."""
        await window.deed(entry, "Edit Todo")
        await expect(window.field).to_have_value("Scrape the hull", timeout=ATTEMPT_MS)

    await persist(edit)
    await window.type("Paint the hull", title="Edit Todo")
    await expect(window.entries("Todos")).to_have_text(["Paint the hull"])


async def test_the_chat_opens_as_an_editor_too(window: Workbench) -> None:
    await window.command("Portico: Open Chat in Editor")
    await window.leave_chat()
    chat = window.chat()
    await chat.tell(say("In an editor."))
    await expect(chat.answers.last).to_contain_text("In an editor.")
    await window.page.screenshot(path=OUTPUT / "editor.png")


async def test_no_workflow_has_opened_a_terminal(window: Workbench) -> None:
    chat = window.chat()
    await chat.tell(say("Here."))
    await expect(window.page.locator(".terminal-wrapper")).to_have_count(0)
