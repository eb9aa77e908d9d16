"""Proposals of an agent, in the views and the diff editor of a real VS Code."""

import pytest
from playwright.async_api import expect

from tests.browser.chat import named
from tests.browser.user_environment import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")

CLEAR = "rgba(0, 0, 0, 0)"


async def test_a_proposal_is_looked_at_in_the_diff_editor_applied_and_taken_back(
    window: Workbench, house: House
) -> None:
    file = house.workspace / "notes.txt"
    before = file.read_text()
    await window.propose({"write": {"path": "notes.txt", "content": "first\nthird\n"}})
    await window.unfold("Changes")
    await window.entries("Changes").filter(has_text="notes.txt").click()
    diff = window.page.locator(".editor-instance .monaco-diff-editor")
    await expect(diff.locator(".modified .view-lines")).to_contain_text("third")
    await expect(diff.locator(".original .view-lines")).to_contain_text("second")
    await window.page.screenshot(path=OUTPUT / "diff.png")
    assert file.read_text() == before

    await window.command("Portico: Apply Proposal")
    await window.told("Portico: Changes applied.")
    assert file.read_text() == "first\nthird\n"
    await window.answer("Portico: Changes applied.", "Undo")
    wait_until(lambda: file.read_text() == before, "the file as it was")


async def test_all_files_of_a_proposal_are_reviewed_in_one_editor(window: Workbench, house: House) -> None:
    hull, mast, sail = (house.workspace / name for name in ("hull.txt", "mast.txt", "sail.txt"))
    between = "plank\n" * 20
    hull.write_text(f"first\n{between}second\n")
    mast.write_text("spruce\n")
    sail.unlink(missing_ok=True)
    chat = await window.propose(
        named("Repairs of the quay"),
        {"write": {"path": "hull.txt", "content": f"FIRST\n{between}third\n"}},
        {"write": {"path": "mast.txt", "content": "fir\n"}},
        {"write": {"path": "sail.txt", "content": "canvas\n"}},
    )
    await chat.button("Review").last.click()
    review = window.page.locator(".multiDiffEditor")
    proposed = review.locator(".modified .view-line")
    for words in ("FIRST", "third", "fir", "canvas"):
        await expect(proposed.get_by_text(words, exact=True)).to_be_visible()
    title = window.page.locator(".pane-header").filter(has_text="Changes")
    await expect(title).to_contain_text("3 to review")
    await window.page.screenshot(path=OUTPUT / "review.png")

    async def apply_change() -> None:
        """The one at the cursor, by its key; until both sides have it."""
        if "third" not in hull.read_text():
            await proposed.get_by_text("third").click(timeout=ATTEMPT_MS)
            await window.page.keyboard.press("Control+Alt+Enter")
        applied = review.locator(".original .view-line").get_by_text("third")
        await expect(applied).to_be_visible(timeout=ATTEMPT_MS)

    await persist(apply_change)
    assert hull.read_text() == f"first\n{between}third\n"

    async def discard_file() -> None:
        line = proposed.get_by_text("fir", exact=True)
        if await line.count():
            await line.click(timeout=ATTEMPT_MS)
            await window.command("Portico: Discard This File")
        await expect(line).to_have_count(0, timeout=ATTEMPT_MS)

    await persist(discard_file)
    await expect(proposed.get_by_text("canvas")).to_be_visible()
    assert mast.read_text() == "spruce\n"
    actions = window.page.locator(".editor-group-container.active .editor-actions")
    await actions.get_by_role("button", name="Apply Proposal").click()
    wait_until(sail.exists, "the new file")
    wait_until(lambda: hull.read_text() == f"FIRST\n{between}third\n", "the rest")
    await expect(review).to_have_count(0)


async def test_a_conflict_is_resolved_in_the_chat_in_its_colours(window: Workbench, house: House) -> None:
    file = house.workspace / "deck.txt"
    file.write_text("first\nsecond\n")
    await window.propose({"write": {"path": "deck.txt", "content": "first\nthird\n"}})
    file.write_text("first\nfourth\n")
    await window.command("Portico: Apply Proposal")
    await window.answer("Nothing was applied: conflicts in deck.txt", "Review")
    lines = window.chat_frame.locator(".p-rl-added, .p-rl-removed")
    await expect(lines.first).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "conflict.png")
    for line in await lines.all():
        await expect(line).not_to_have_css("background-color", CLEAR)
        # VS Code has a colour of its own for code, which would hide that of the line.
        await expect(line.locator("code")).to_have_css("background-color", CLEAR)
    assert file.read_text() == "first\nfourth\n"


async def test_files_of_a_proposal_are_applied_and_discarded_one_by_one_in_the_view(
    window: Workbench, house: House
) -> None:
    kept, lost = house.workspace / "kept.txt", house.workspace / "lost.txt"
    await window.propose(
        {"write": {"path": "kept.txt", "content": "mast\n"}},
        {"write": {"path": "lost.txt", "content": "sail\n"}},
    )
    await window.unfold("Changes")
    entries = window.entries("Changes")
    entry = entries.filter(has_text="kept.txt")
    await expect(entry).to_have_count(1)

    async def apply() -> None:
        """A click while the list is redrawn asks to click once more."""
        if await entry.count():
            await window.deed(entry, "Apply Proposal")
        await expect(entry).to_have_count(0, timeout=ATTEMPT_MS)

    await persist(apply)
    await window.told("Portico: Changes applied.")
    assert kept.read_text() == "mast\n"

    async def discard() -> None:
        """A list that is drawn again under the mouse may offer the deed of another line."""
        await window.deed(entries.filter(has_text="lost.txt"), "Discard Proposal")
        asked = window.dialog.get_by_text("Discard lost.txt?")
        await expect(window.dialog).to_be_visible(timeout=ATTEMPT_MS)
        if not await asked.count():
            await window.page.keyboard.press("Escape")
        await expect(asked).to_be_visible(timeout=ATTEMPT_MS)

    await persist(discard)
    await window.confirm("Discard lost.txt?", "Discard")
    await expect(entries.filter(has_text="lost.txt")).to_have_count(0)
    assert not lost.exists()
    kept.unlink()


async def test_the_folder_goes_back_to_a_checkpoint_of_the_view(window: Workbench, house: House) -> None:
    file = house.workspace / "notes.txt"
    before = file.read_text()
    await window.chat().tell({"write": {"path": "notes.txt", "content": "overboard\n"}})
    wait_until(lambda: file.read_text() == "overboard\n", "the change")
    await window.knows_session()
    await window.unfold("Changes")
    entries = window.entries("Changes")
    # The newest is from after the turn: nothing has changed since.
    kept = entries.filter(has=window.page.locator(".codicon-git-commit")).filter(has_not_text="After: ").first

    async def restore() -> None:
        if not await window.dialog.count():
            # Each time, because a click that a busy window noticed late closes the list again.
            await window.open_entry(entries.filter(has_text="Checkpoints"))
            await kept.hover(timeout=ATTEMPT_MS)
            await kept.get_by_role("button", name="Restore Checkpoint").click(timeout=ATTEMPT_MS)
        await expect(window.dialog).to_be_visible(timeout=ATTEMPT_MS)

    await persist(restore)
    await window.confirm("Restore the folder to", "Restore")
    wait_until(lambda: file.read_text() == before, "the file as it was")
