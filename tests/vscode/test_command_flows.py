"""Whole flows of the extension's commands, from the palette to the result, in a real VS Code."""

import asyncio
import json
import re
import shutil
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import expect

from tests.browser.chat import named, say
from tests.browser.user_environment import House
from tests.support.program import PROGRAM
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_task_that_is_typed_gets_a_session_of_its_own(window: Workbench) -> None:
    chat = await window.open_chat()
    await chat.tell("say before")
    await window.command("Portico: Run Task")
    await window.type("say the deck is clean", title="Run Task")
    await expect(chat.prompts).to_have_text(["say the deck is clean"])
    await expect(chat.seen("the deck is clean")).to_be_visible()


async def test_a_kept_prompt_is_run_as_a_task_with_what_the_person_says(
    window: Workbench, house: House
) -> None:
    kept = house.workspace / ".portico" / "prompts" / "swab.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("---\nvariables:\n  what:\n    description: what to swab\n---\nsay swab {{ what }}")
    try:
        await window.command("Portico: Run Task")
        await window.pick("swab")
        await window.type("the deck", title="swab: what")
    finally:
        shutil.rmtree(kept.parent.parent)
    await expect(window.chat().prompts).to_have_text(["say swab the deck"])


async def test_another_agent_begins_a_session_and_its_mode_is_switched(window: Workbench) -> None:
    chat = window.chat()
    await window.command("Portico: Switch Agent")
    await window.pick("Plain")
    await expect(chat.composer.get_by_role("combobox", name=re.compile("^Agent: Plain"))).to_be_visible()
    await chat.tell(say("Plainly."))
    await expect(window.status_bar.get_by_text("plain", exact=True)).to_be_visible()
    await window.command("Portico: Continue with Another Agent…")
    await window.pick("Scripted")
    await expect(chat.card("Hand-off")).to_contain_text("(plain)")

    await window.begin_session()
    await window.knows_session()
    await window.command("Portico: Switch Agent Mode")
    await window.pick("Write code")
    await window.command("Portico: Switch Agent Mode")
    await expect(window.picker.get_by_role("option", name=re.compile("^Write code, current"))).to_be_visible()
    await window.page.keyboard.press("Escape")

    await window.command("Portico: Choose Components…")
    memory = window.picker.get_by_role("checkbox", name=re.compile("^memory, "))
    await expect(memory).not_to_be_checked()
    await memory.click()
    await window.picker.get_by_role("button", name="OK").click()
    await expect(window.picker).to_be_hidden()
    await window.command("Portico: Choose Components…")
    await expect(memory).to_be_checked()
    await expect(window.picker.get_by_text("this session")).to_be_visible()


async def test_a_session_is_exported_into_a_file_that_a_person_names(window: Workbench, house: House) -> None:
    chat = window.chat()
    await chat.tell(named("Log of the quay"), say("All boats are in."))
    await window.knows_session()
    await window.command("Portico: Export Session")
    await window.pick("Markdown")
    file = house.workspace / "exported.md"
    await expect(window.field).to_have_value(re.compile(r"\.md$"))
    await window.type(str(file), title="Save As")
    wait_until(file.exists, "the export")
    wait_until(lambda: "All boats are in." in file.read_text(), "all of the export")
    file.unlink()
    await window.command("Portico: Show Session Events")
    events = window.page.locator(".part.panel .view-lines")
    await expect(events).to_contain_text("titleUpdated")
    await expect(events).to_contain_text("Log of the quay")
    await window.command("View: Hide Panel")


async def test_the_last_session_of_the_folder_is_resumed(window: Workbench) -> None:
    chat = window.chat()
    await chat.tell(named("Caulking"), say("Half of it."))
    await window.begin_session()
    await expect(chat.prompts).to_have_count(0)
    await window.command("Portico: Resume Last Session")
    await expect(chat.answers.last).to_contain_text("Half of it.")


async def test_approvals_and_the_log_are_shown(window: Workbench) -> None:
    await window.command("Portico: Show Approvals")
    shown = window.chat_frame.get_by_role("dialog").or_(
        window.chat_frame.get_by_role("region", name="Settings")
    )
    await expect(shown.first).to_contain_text(re.compile("allow", re.IGNORECASE))
    await window.page.screenshot(path=OUTPUT / "approvals.png")
    await window.page.keyboard.press("Escape")
    await window.command("Portico: Show Skills")
    await expect(shown.first).to_contain_text("Skills")
    await window.page.keyboard.press("Escape")
    await window.command("Portico: Show Log")
    log = window.page.locator(".part.panel .view-lines")
    await expect(log).to_contain_text("server is running")
    await window.command("View: Hide Panel")


async def test_a_light_bulb_offers_to_fix_what_is_reported(window: Workbench, house: House) -> None:
    (house.workspace / "cargo.json").write_text('{"cargo": }\n')
    await window.open_file("cargo.json")
    await expect(window.editor.locator(".squiggly-error").first).to_be_attached()
    fix = window.page.locator(".action-widget").get_by_text("Fix with Portico")
    await window.open_code_actions(fix)
    await fix.click()
    await expect(window.chat().prompts.last).to_contain_text("Fix this problem in @cargo.json, line 1")


async def test_todos_are_moved_by_their_arrows_and_by_dragging(window: Workbench) -> None:
    chat = window.chat()
    await chat.tell(say("Here."))
    await window.knows_session()
    await window.unfold("Todos")
    entries = window.entries("Todos")
    for count, words in enumerate(("scrape", "caulk", "paint"), start=1):
        await window.command("Portico: Add Todo")
        await window.type(words, title="Add Todo")
        await expect(entries).to_have_count(count)
    await expect(entries).to_have_text(["scrape", "caulk", "paint"])

    async def arranged(act: Callable[[], Awaitable[None]], *wanted: str) -> None:
        """A list that is drawn again swallows the click that is under way; a person clicks once more."""

        async def attempt() -> None:
            if await entries.all_inner_texts() != [*wanted]:
                await act()
            await expect(entries).to_have_text([*wanted], timeout=ATTEMPT_MS)

        await persist(attempt)

    def deed(todo: str, name: str) -> Callable[[], Awaitable[None]]:
        return lambda: window.deed(entries.filter(has_text=todo), name)

    async def drag() -> None:
        await entries.filter(has_text="caulk").drag_to(entries.filter(has_text="paint"), timeout=ATTEMPT_MS)

    await arranged(deed("paint", "Move Todo Up"), "scrape", "paint", "caulk")
    await arranged(deed("scrape", "Move Todo Down"), "paint", "scrape", "caulk")
    await arranged(drag, "caulk", "paint", "scrape")
    await arranged(deed("paint", "Remove Todo"), "caulk", "scrape")


async def test_what_the_editor_shows_goes_along_by_choice_and_the_choice_is_remembered(
    window: Workbench, house: House
) -> None:
    (house.workspace / "mast.py").write_text("height = 12\n")
    await window.open_file("mast.py")
    chat = await window.open_chat()
    await expect(chat.composer.get_by_role("button", name="Active file: mast.py")).to_have_attribute(
        "aria-pressed", "true"
    )
    tabs = chat.composer.get_by_role("button", name=re.compile("open tab"))
    await expect(tabs).to_have_attribute("aria-pressed", "false")
    await tabs.click()
    await expect(tabs).to_have_attribute("aria-pressed", "true")
    await window.page.screenshot(path=OUTPUT / "context-chips.png")
    await chat.tell(say("Seen."))
    await expect(chat.prompts.last).to_contain_text("Open tabs in the editor")
    await window.begin_session()
    await expect(tabs).to_have_attribute("aria-pressed", "true")
    await tabs.click()

    await window.command("Portico: Add Open Tabs to Chat")
    await expect(chat.prompt).to_have_value(re.compile("@mast.py "))
    await window.command("Portico: Add Git Changes to Chat")
    await window.told("There are no changes.")
    (house.workspace / "load.json").write_text('{"cargo": }\n')
    await window.open_file("load.json")
    await expect(window.editor.locator(".squiggly-error").first).to_be_attached()
    await window.command("Portico: Add Problems to Chat")
    await expect(chat.prompt).to_have_value(
        re.compile("Problems:\n- @load.json, line 1: error: Value expected")
    )


async def test_the_state_of_the_editor_reaches_programs_in_its_terminal(
    window: Workbench, house: House
) -> None:
    (house.workspace / "mast.py").write_text("height = 12\n")
    await window.open_file("mast.py")
    await window.command("Terminal: Create New Terminal")
    await window.page.locator(".terminal-wrapper.active .xterm-screen").click()
    told = house.workspace / "state.json"
    await window.page.keyboard.type('cat "$PORTICO_EDITOR_STATE_FILE" > state.part; mv state.part state.json')
    await window.page.keyboard.press("Enter")
    await asyncio.to_thread(wait_until, told.exists, "what the terminal knows of the editor")
    state = json.loads(told.read_text())
    assert state["activeFile"] == str(house.workspace / "mast.py")
    assert state["languageId"] == "python"
    told.unlink()

    # The program itself tells its agent, which says what it was told.
    heard = house.workspace / "heard.txt"
    steps = json.dumps([{"echo": {}}])
    run = f"{PROGRAM} exec --agent scripted '{steps}' > h.part; mv h.part {heard.name}"
    await window.page.keyboard.type(run)
    await window.page.keyboard.press("Enter")
    await asyncio.to_thread(wait_until, heard.exists, "what the agent was told in the terminal")
    assert "mast.py" in heard.read_text()
    heard.unlink()

    await window.command("Terminal: Select All")
    await window.command("Portico: Add Terminal Selection to Chat")
    chat = window.chat()
    selected = re.compile("From the terminal:\n\n```\n.*heard.txt", re.DOTALL)
    await expect(chat.prompt).to_have_value(selected)
    await chat.prompt.fill("")
    await window.command("Terminal: Kill All Terminals")
