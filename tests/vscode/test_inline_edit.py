"""Changes that are asked for at the cursor, shown there, and accepted or rejected there, in a real VS Code."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.user_environment import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")

BEFORE = "one = 1\ntwo = 2\nthree = 3\n" + "gap = 0\n" * 20 + "last = 9\n"
PROMPT = """---
mode: proposal
variables:
  instruction: {description: what to change}
  file: {description: the file}
  lines: {description: the lines}
  input: {description: the code}
---
{{ instruction }}
"""


@pytest.fixture
def prompt(house: House) -> Iterator[Path]:
    """The folder's own prompt for edits: what is typed is the script of the agent."""
    own = house.workspace / ".portico" / "prompts" / "edit-inline.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(PROMPT)
    yield own
    own.unlink()
    own.parent.rmdir()


async def ask_for(window: Workbench, line: str, change: str) -> None:
    """Put the cursor into a line, press the key, and have the agent write another text."""

    async def attempt() -> None:
        await window.editor.locator(".view-line").get_by_text(line).first.click(timeout=ATTEMPT_MS)
        await window.page.keyboard.press("Control+Alt+k")
        await expect(window.picker.locator(".quick-input-titlebar")).to_contain_text(
            "Edit rigging.py", timeout=ATTEMPT_MS
        )

    await persist(attempt)
    steps = [{"write": {"path": "rigging.py", "content": change}}]
    await window.type(json.dumps(steps), title="Edit rigging.py")


async def test_a_change_is_asked_for_at_the_cursor_and_decided_there(
    window: Workbench, house: House, prompt: Path
) -> None:
    file = house.workspace / "rigging.py"
    file.write_text(BEFORE)
    await window.open_file("rigging.py")
    await ask_for(
        window, "two", BEFORE.replace("two = 2", "two = 20\nmore = 21").replace("last = 9", "last = 90")
    )
    links = window.editor.locator(".codelens-decoration")
    shown = window.editor.locator(".review-widget")
    await expect(links.first).to_contain_text("Accept")
    await expect(shown.first).to_contain_text("more = 21")
    await expect(shown.first).to_contain_text("Replace line 2 (1 of 2)")
    assert file.read_text() == BEFORE
    await window.page.screenshot(path=OUTPUT / "inline-edit.png")

    async def focus() -> None:
        await window.editor.locator(".view-line").get_by_text("one").first.click(timeout=ATTEMPT_MS)
        await expect(window.editor.locator(".monaco-editor.focused")).to_have_count(1, timeout=ATTEMPT_MS)

    # The key is pressed once: a second time it would be about the next change.
    await persist(focus)
    await window.page.keyboard.press("Control+Alt+Enter")
    once = BEFORE.replace("two = 2", "two = 20\nmore = 21")
    wait_until(lambda: file.read_text() == once, "the first change alone")
    await expect(shown).to_have_count(1)
    await expect(links.first).to_contain_text("Reject")

    async def reject() -> None:
        if await links.count():
            await links.get_by_text("Reject").first.click(timeout=ATTEMPT_MS)
        await expect(links).to_have_count(0, timeout=ATTEMPT_MS)

    await persist(reject)
    await expect(shown).to_have_count(0)
    assert file.read_text() == once

    # An answer without a change says so.
    await ask_for(window, "one", once)
    await window.told("No change in rigging.py.")
    await expect(links).to_have_count(0)
