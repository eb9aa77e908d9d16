"""A prompt run on the file and on the selection in front, from the key to the answer beside it, in a real VS Code."""

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from portico.porter.models.offline.model_files import DEFAULT, location, record_path
from tests.browser.user_environment import House
from tests.support.model_endpoint import Answer, ModelEndpoint, Say
from tests.support.offline import have_offline_model
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")

HAIL = """---
description: Hail a crew in another language
tags: [text, crew]
version: 3
mode: read-only
output: editor
budget: $0.05
variables:
  input:
  language:
    description: The language to hail in
  tone:
    description: The tone of the hail
    default: friendly
---
Hail in {{ language }}, {{ tone }}: {{ input }}
"""


@pytest_asyncio.fixture(loop_scope="session")
async def endpoint(house: House) -> AsyncIterator[ModelEndpoint]:
    """A model with a price, as the user's own, and a prompt in the folder."""
    folder = house.workspace / ".portico"
    (folder / "prompts").mkdir(parents=True)
    (folder / "prompts" / "hail.md").write_text(HAIL)
    variables_file(house).write_text('{\n  // where they moor\n  "port": "Kiel"\n}\n')
    async with ModelEndpoint() as model:
        price = {"price": {"input": 10, "output": 10}}
        mine = {"address": f"{model.address}/v1", "models": {"talker": price, "scripted": price}}
        house.settings(
            {
                "agent": "porter",
                "model": "mine:talker",
                "models": {"mine": mine},
                "sessionVariables": str(variables_file(house)),
                "agents": house.agents,
            }
        )
        yield model
    house.settings({"agent": "scripted", "agents": house.agents})
    shutil.rmtree(folder)


def variables_file(house: House) -> Path:
    return house.workspace / ".portico" / "values.json"


async def step(window: Workbench, title: str, words: str | None = None) -> None:
    """Answer one step of several: the field keeps its value, or gets another."""
    shown = window.page.locator(".quick-input-widget:visible .quick-input-titlebar").filter(has_text=title)
    await expect(shown).to_be_visible()
    if words is not None:
        await window.field.fill(words)

    async def attempt() -> None:
        if await shown.count():
            await window.field.press("Enter", timeout=ATTEMPT_MS)
        await expect(shown).to_have_count(0, timeout=ATTEMPT_MS)

    await persist(attempt)


async def test_a_prompt_runs_on_a_file_and_its_answer_comes_beside_it(
    window: Workbench, house: House, endpoint: ModelEndpoint
) -> None:
    endpoint.add(Answer(Say("Ahoi, Mannschaft!")))
    await window.open_file("notes.txt")
    await window.editor.locator(".view-lines").first.click()
    await window.page.keyboard.press("Control+Alt+r")
    picker = window.picker
    await expect(picker.locator(".quick-input-titlebar")).to_contain_text("Run Prompt on Active File")
    hail = picker.get_by_role("option", name=re.compile("^hail"))
    await expect(hail).to_contain_text("#text #crew")
    await expect(hail).to_contain_text("low cost, up to $0.05")
    await expect(picker).to_contain_text("Built-in")
    await window.page.screenshot(path=OUTPUT / "prompt-pick.png")
    await step(window, "Run Prompt on Active File", "hail")
    await step(window, "hail: language (1/2)", "German")
    await expect(picker).to_contain_text("The tone of the hail. Enter keeps the default.")
    await step(window, "hail: tone (2/2)")
    await window.pick("Change Model…")
    await window.pick("mine:scripted")
    await expect(picker.get_by_role("option", name=re.compile("Run, mine:scripted"))).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "prompt-override.png")
    await step(window, "hail: Run")

    beside = window.page.locator(".editor-group-container").nth(1)
    await expect(beside.locator(".view-lines")).to_contain_text("Ahoi, Mannschaft!")
    told = await window.told("hail finished (mine:scripted, $0.00")
    for button in ("Show Provenance", "Save As…", "Insert", "Compare with Source"):
        await expect(told.get_by_text(button, exact=True)).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "prompt-answer.png")
    sent = endpoint.requests[0].body
    assert sent["model"] == "scripted"
    assert "Hail in German, friendly: first\\nsecond" in str(sent["messages"])

    await window.answer("hail finished", "Insert")
    await expect(window.page.locator(".editor-group-container").first.locator(".view-lines")).to_contain_text(
        "Ahoi, Mannschaft!"
    )
    await window.answer("hail finished", "Compare with Source")
    await expect(window.page.locator(".diff-editor, .monaco-diff-editor").first).to_be_visible()
    await window.answer("hail finished", "Show Provenance")
    shown = window.page.locator(".view-lines").filter(has_text="fingerprint")
    await expect(shown.first).to_contain_text('"prompt": "hail"')
    await window.answer("hail ran with values that you can keep: language", "Save as Session Variables…")
    await expect(window.dialog).to_contain_text('"language": "German"')
    await window.page.screenshot(path=OUTPUT / "prompt-variables.png")
    await window.confirm("Save as session variables in", "Save")
    variables = variables_file(house)
    wait_until(lambda: '"language": "German"' in variables.read_text(), "the saved variables")
    assert "// where they moor" in variables.read_text()
    await window.answer("hail finished", "Save As…")
    await expect(window.field).to_have_value(re.compile(r"notes\.hail\.md$"))
    await window.type(str(house.workspace / "notes.hail.md"), title="Save As")
    saved = house.workspace / "notes.hail.md"
    wait_until(saved.exists, "the saved answer")
    wait_until(lambda: saved.read_text().endswith("Ahoi, Mannschaft!\n"), "all of the answer")
    assert 'prompt: "hail"' in saved.read_text()
    saved.unlink()


@pytest.fixture
def offline(house: House) -> Iterator[str]:
    """The real offline model, as the user has it."""
    have_offline_model(house.environ())
    yield f"offline:{DEFAULT.name}"
    location(DEFAULT, house.environ()).unlink()
    record_path(DEFAULT.name, house.environ()).unlink()


async def test_the_offline_model_answers_a_prompt_on_the_selection(
    window: Workbench, endpoint: ModelEndpoint, offline: str
) -> None:
    await window.open_file("boats.py")
    await window.select_all()
    await window.command("Portico: Run Prompt on Selection")
    await step(window, "Run Prompt on Selection", "hail")
    await step(window, "hail: language (1/2)", "English")
    await step(window, "hail: tone (2/2)", "brief")
    await window.pick("Change Model…")
    await window.pick(offline)
    await step(window, "hail: Run")

    beside = window.page.locator(".editor-group-container").nth(1).locator(".view-lines")
    await expect(beside).to_contain_text(re.compile(r"\w{2,}"))
    told = await window.told(f"hail finished ({offline}")
    await expect(told.get_by_text("Compare with Source", exact=True)).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "prompt-offline.png")
    await window.answer("hail finished", "Show Provenance")
    shown = window.page.locator(".view-lines").filter(has_text="fingerprint")
    await expect(shown.first).to_contain_text(f'"model": "{offline}"')
    assert endpoint.requests == []


async def test_a_run_on_the_selection_is_cancelled_and_keeps_half_of_its_answer(
    window: Workbench, endpoint: ModelEndpoint
) -> None:
    endpoint.add(Answer(Say("A long tale about the sea and what came of it"), hangs_after=6))
    await window.open_file("boats.py")
    await window.select_all()
    await window.command("Portico: Run Prompt on Selection")
    await step(window, "Run Prompt on Selection", "hail")
    await step(window, "hail: language (1/2)", "Dutch")
    await step(window, "hail: tone (2/2)")
    await step(window, "hail: Run")
    beside = window.page.locator(".editor-group-container").nth(1).locator(".view-lines")
    await expect(beside).to_contain_text("A long")
    await window.answer("Running hail", "Cancel")
    await expect(beside).to_contain_text("[Incomplete: the run was cancelled.]")
    await window.told("hail was cancelled")
    await window.page.screenshot(path=OUTPUT / "prompt-cancelled.png")
