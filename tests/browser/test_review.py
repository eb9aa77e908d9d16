"""Safe editing on the page: a proposal is looked at, decided on line by line, applied, and taken back."""

import asyncio
import json
import re
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chat import Chat, named, say
from tests.browser.conftest import Open, Shoot
from tests.browser.test_accessibility import faults
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")

PERSON = ("-c", "user.name=Person", "-c", "user.email=person@example.org")
LINES = [f"boat {number:02}" for number in range(1, 61)]


class Harbour:
    """A file with two places that are far from each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write(LINES)

    def write(self, lines: list[str]) -> None:
        (self.folder / "harbour.py").write_text("\n".join(lines) + "\n")

    def text(self, name: str = "harbour.py") -> str | None:
        """Content of a file in the folder; None if it does not exist."""
        file = self.folder / name
        return file.read_text() if file.exists() else None


@pytest.fixture
def harbour(house: House) -> Harbour:
    return Harbour(house.workspace)


def review(chat: Chat) -> Locator:
    return chat.page.get_by_role("region", name="Review", exact=True)


def card(chat: Chat) -> Locator:
    return chat.log.get_by_role("group", name=re.compile("^Proposal:"))


def writes(path: str, text: str) -> dict[str, object]:
    return {"write": {"path": path, "content": text}}


def changed() -> str:
    """The lines with a change at both places."""
    return "\n".join(["boat one", *LINES[1:-1], "boat sixty"]) + "\n"


async def choose_proposals(chat: Chat) -> None:
    await chat.choose(re.compile("^Changes"), "Proposal")
    await expect(chat.composer.get_by_role("combobox", name="Changes: Proposal")).to_be_visible()


async def propose(chat: Chat, *steps: dict[str, object]) -> None:
    await choose_proposals(chat)
    await chat.tell(*steps, say("Done."))
    await expect(card(chat)).to_be_visible()


async def test_what_waits_for_review_is_told_in_the_history_and_on_the_tab(
    chat: Chat, harbour: Harbour, shoot: Shoot
) -> None:
    await propose(chat, named("Mending"), writes("harbour.py", changed()), writes("second.py", "new\n"))
    entry = chat.history.get_by_role("button", name=re.compile("^Mending"))
    await expect(entry).to_contain_text("2 to review")
    await expect(chat.tab(re.compile("^Mending"))).to_contain_text("2 to review")
    await shoot(chat, "to-review", widths=(420, 1280), night=True)
    # Both sides are offered where they have room without the list of files.
    await chat.page.set_viewport_size({"width": 1280, "height": 760})
    await card(chat).get_by_role("button", name="Review").click()
    files = review(chat).get_by_role("navigation", name="Files")
    sides = review(chat).get_by_role("button", name="Side by side")
    await expect(files).to_be_visible()
    await expect(sides).to_have_attribute("aria-pressed", "false")
    await sides.click()
    await expect(sides).to_have_attribute("aria-pressed", "true")
    await expect(files).to_have_count(0)
    await shoot(chat, "side-by-side", widths=(1280,), night=True)
    await review(chat).get_by_role("button", name="File list").click()
    await expect(files).to_be_visible()
    await chat.page.keyboard.press("Escape")
    await card(chat).get_by_role("button", name="Apply all").click()
    await expect(entry).not_to_contain_text("to review")
    await expect(chat.tab(re.compile("^Mending"))).not_to_contain_text("to review")


async def test_porter_proposes_and_a_person_applies_one_change_of_two(
    chat: Chat, harbour: Harbour, shoot: Shoot
) -> None:
    await chat.new_session("Porter")
    await choose_proposals(chat)
    await ask_and_allow(chat, "/edit harbour.py s/boat 01/boat one/")
    await ask_and_allow(chat, "/edit harbour.py s/boat 60/boat sixty/")
    await expect(card(chat)).to_have_count(1)
    assert harbour.text() == "\n".join(LINES) + "\n"
    await shoot(chat, "proposal", night=True)
    await card(chat).get_by_role("button", name="Review").click()
    first = review(chat).get_by_role("checkbox", name=re.compile("Change 1 of 2"))
    await first.focus()
    await shoot(chat, "review", night=True, widths=(300, 480, 1100, 1600))
    await chat.page.keyboard.press("x")
    await chat.page.keyboard.press("Enter")
    await expect(review(chat).get_by_text("Applied 1 file.")).to_be_visible()
    assert harbour.text() == "\n".join([*LINES[:-1], "boat sixty"]) + "\n"
    await review(chat).get_by_role("button", name="Undo", exact=True).click()
    await expect(review(chat).get_by_text("Last apply undone.")).to_be_visible()
    assert harbour.text() == "\n".join(LINES) + "\n"


async def ask_and_allow(chat: Chat, words: str) -> None:
    """A whole turn. Permissions are asked for in a tree of the agent's own as well."""
    before = await chat.prompts.count()
    await chat.ask(words)
    await expect(chat.prompts).not_to_have_count(before)
    asked = chat.card(re.compile("^Permission"))
    await expect(asked.or_(chat.send_button).first).to_be_visible()
    if await asked.count() > 0:
        await asked.get_by_role("button", name="Allow", exact=True).click()
    await chat.rested()


async def test_all_of_a_proposal_is_applied_from_its_card_and_taken_back(
    chat: Chat, harbour: Harbour
) -> None:
    await propose(chat, writes("harbour.py", changed()), writes("new/mole.txt", "stone\n"))
    await expect(card(chat).get_by_role("button", name=re.compile("mole.txt"))).to_be_visible()
    await card(chat).get_by_role("button", name="Apply all").click()
    settled = chat.log.get_by_role("group", name="Applied proposal")
    await expect(settled).to_contain_text("Applied 2 files")
    assert harbour.text() == changed()
    assert harbour.text("new/mole.txt") == "stone\n"
    await settled.get_by_role("button", name="Undo").click()
    await expect(card(chat)).to_be_visible()
    assert harbour.text() == "\n".join(LINES) + "\n"
    assert harbour.text("new/mole.txt") is None


async def test_choices_outlive_a_reload_and_a_later_turn(chat: Chat, harbour: Harbour) -> None:
    await propose(chat, writes("harbour.py", changed()))
    await card(chat).get_by_role("button", name="Review").click()
    await review(chat).get_by_role("checkbox", name=re.compile("Change 1 of 2")).uncheck()
    await chat.page.reload()
    await card(chat).get_by_role("button", name="Continue review").click()
    await expect(review(chat).get_by_text("1 of 2 changes in 1 file")).to_be_visible()
    await chat.tell(writes("mole.txt", "stone\n"), say("And a mole."))
    await expect(review(chat).get_by_text("The proposal has changed.")).to_be_visible()
    await expect(review(chat).get_by_text("2 of 3 changes in 2 files")).to_be_visible()


async def test_lines_that_both_changed_are_shown_side_by_side_and_decided(
    chat: Chat, harbour: Harbour, shoot: Shoot
) -> None:
    await propose(chat, writes("harbour.py", changed()))
    harbour.write(["my own boat", *LINES[1:]])
    await card(chat).get_by_role("button", name="Apply all").click()
    await expect(card(chat)).to_contain_text("Not applied")
    await card(chat).get_by_role("button", name="Resolve conflicts").click()
    conflict = review(chat).get_by_role("group", name=re.compile("^Conflict at line 1"))
    await expect(conflict).to_contain_text("my own boat")
    await expect(conflict).to_contain_text("boat one")
    await shoot(chat, "conflict", night=True)
    await conflict.get_by_role("button", name="Keep mine").click()
    await review(chat).get_by_role("button", name=re.compile("^Apply")).click()
    await expect(chat.log.get_by_role("group", name="Applied proposal")).to_be_visible()
    assert harbour.text() == "\n".join(["my own boat", *LINES[1:-1], "boat sixty"]) + "\n"


async def test_a_change_too_long_for_an_event_is_shown_whole_in_the_review(
    chat: Chat, harbour: Harbour
) -> None:
    lines = [f"rope {number:05}" for number in range(1, 8001)]
    await propose(chat, writes("ropes.py", "\n".join(lines) + "\n"))
    await card(chat).get_by_role("button", name="Review").click()
    changes = review(chat).get_by_role("region", name="Changes")
    await expect(changes.get_by_text("rope 00001")).to_be_visible()
    await changes.focus()
    await chat.page.keyboard.press("End")
    await expect(changes.get_by_text("rope 08000")).to_be_visible()
    assert await changes.locator(".p-rd-row").count() < 200
    await expect(changes.get_by_role("checkbox", name="Apply ropes.py")).to_be_visible()
    await changes.get_by_role("checkbox", name="Apply ropes.py").uncheck()
    await expect(review(chat).get_by_text("Nothing selected")).to_be_visible()


async def test_the_agent_is_asked_to_revise_what_was_rejected(chat: Chat, harbour: Harbour) -> None:
    await propose(chat, writes("harbour.py", changed()))
    await card(chat).get_by_role("button", name="Review").click()
    await review(chat).get_by_role("checkbox", name=re.compile("Change 2 of 2")).uncheck()
    await review(chat).get_by_role("button", name="Ask to revise").click()
    comment = review(chat).get_by_role("textbox", name="What should change?")
    await comment.fill("Leave the last boat alone")
    await comment.press("Control+Enter")
    await expect(chat.prompts.last).to_contain_text("Leave the last boat alone")
    await expect(chat.prompts.last).to_contain_text("boat sixty")


async def test_a_prompt_leads_back_to_how_the_folder_was_before_it(
    chat: Chat, harbour: Harbour, shoot: Shoot
) -> None:
    await chat.tell(writes("harbour.py", changed()), say("Done."))
    await expect(chat.answers.last).to_contain_text("Done.")
    assert harbour.text() == changed()
    await chat.prompts.first.hover()
    await chat.prompts.first.get_by_role("button", name="Restore to here").click()
    dialog = chat.page.get_by_role("dialog", name="Restore to here")
    await expect(dialog).to_contain_text("1 file has changed since then")
    await shoot(chat, "restore", widths=(300, 1100))
    await dialog.get_by_role("button", name="Restore", exact=True).click()
    await expect(chat.seen(re.compile("Restored a checkpoint: 1 file"))).to_be_visible()
    assert harbour.text() == "\n".join(LINES) + "\n"
    undo = chat.log.get_by_role("button", name="Undo restore")
    await undo.click()
    await expect(chat.seen(re.compile("Restored a checkpoint: 1 file"))).to_have_count(2)
    assert harbour.text() == changed()
    await expect(undo).to_have_count(1)
    await expect(chat.tabs.last).not_to_contain_text("to review")

    # Checkpoints have the name of their prompt and its files, below the title of their session.
    await chat.tell(named("Painting the harbour"), writes("paint.txt", "blue\n"))
    await chat.tell("say nothing changes")
    await chat.button("Checkpoints").click()
    listed = chat.page.get_by_role("dialog", name="Checkpoints").get_by_role(
        "list", name="Checkpoints of Painting the harbour"
    )
    await expect(listed.get_by_role("button", name=re.compile("paint.txt"))).to_have_count(1)
    await expect(listed.get_by_role("button", name=re.compile("nothing changes"))).to_have_count(0)
    await shoot(chat, "checkpoints", widths=(420, 1280), night=True)
    await chat.button(re.compile("^Show .* without changes")).click()
    await expect(listed.get_by_role("button", name=re.compile("nothing changes"))).to_have_count(1)


async def test_a_folder_that_is_no_repository_offers_no_branch_and_says_why(chat: Chat) -> None:
    picker = chat.composer.get_by_role("combobox", name=re.compile("^Changes"))
    await picker.click()
    branch = chat.page.get_by_role("option", name=re.compile("^Branch"))
    await expect(branch).to_have_attribute("aria-disabled", "true")
    await expect(chat.page.get_by_text("git init")).to_be_visible()


async def test_the_first_change_asks_how_and_remembers_the_answer(
    own_house: House, open_page: Open, shoot: Shoot
) -> None:
    """In a folder without git, which becomes a repository on the way."""
    chat = await open_page(await asyncio.to_thread(own_house.open))
    options = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    wanted = {"id": "keel", "title": "Write keel.txt", "kind": "edit", "statuses": ["pending"]}
    asks = {"tool": "keel", "title": "Write keel.txt", "kind": "edit", "options": options}
    branches = {"allowed": [writes("keel.txt", "oak"), say("Written.")], "rejected": [say("Left.")]}
    await chat.ask({"tool": wanted}, {"permission": {**asks, **branches}})
    note = chat.composer.get_by_role("group", name="First change")
    await expect(note).to_contain_text("not in a git repository")
    await expect(note.get_by_role("button", name="Use proposals")).to_be_visible()
    await shoot(chat, "first-change-no-git", widths=(300, 1100))
    await note.get_by_role("button", name="Initialise git").click()
    await expect(note).to_contain_text("How should changes reach your files?")
    assert git(own_house.workspace, "log", "--format=%s") == "Start of the repository\n"
    await note.get_by_label("Remember").check()
    await shoot(chat, "first-change", widths=(300, 1100), night=True)
    await note.get_by_role("button", name="On a branch").click()
    await expect(chat.composer.get_by_role("combobox", name="Changes: Branch")).to_be_visible()
    await chat.log.get_by_role("button", name="Allow", exact=True).last.click()
    await expect(chat.answers.last).to_contain_text("Written.")
    await expect(note).to_have_count(0)
    assert git(own_house.workspace, "branch", "--show-current").startswith("portico/")
    found = {one["name"]: one for one in own_house.server.ask("GetSettings", {})["settings"]}
    assert json.loads(found["review"]["valueJson"])["mode"] == "branch"


async def test_axe_finds_nothing_serious_in_a_review(chat: Chat, harbour: Harbour) -> None:
    await propose(chat, writes("harbour.py", changed()))
    found = {"card": await faults(chat)}
    await card(chat).get_by_role("button", name="Review").click()
    await expect(review(chat).get_by_role("checkbox", name=re.compile("Change 2 of 2"))).to_be_visible()
    found["review"] = await faults(chat)
    await chat.page.set_viewport_size({"width": 300, "height": 700})
    found["narrow"] = await faults(chat)
    await chat.fits()
    assert {state: wrong for state, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("mode", ["branch", "worktree"])
async def test_work_on_a_branch_is_named_and_brought_home(
    chat: Chat, house: House, boatyard: Path, mode: str
) -> None:
    session = house.start_session(workspace=str(boatyard), mode=f"REVIEW_MODE_{mode.upper()}")
    house.talk(
        session, f'[{{"title": "Yard {mode}"}}, {{"write": {{"path": "keel.txt", "content": "oak"}}}}]'
    )
    await chat.history.get_by_role("button", name=re.compile(f"^Yard {mode}")).click()
    place = chat.page.get_by_role("group", name="Branch of this session")
    await expect(place).to_contain_text("portico/" if mode == "branch" else "In its own worktree")
    await place.get_by_role("button", name="Finish branch…").click()
    await chat.page.keyboard.press("ArrowDown")
    await chat.page.keyboard.press("Enter")
    await expect(chat.page.get_by_text(re.compile("^Squashed into one commit on "))).to_be_visible()
    assert git(boatyard, "show", "main:keel.txt") == "oak"


@pytest.fixture
def boatyard(tmp_path: Path) -> Path:
    """A repository with one commit."""
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "plan.txt").write_text("a boat\n")
    git(tmp_path, "add", ".")
    git(tmp_path, *PERSON, "commit", "--quiet", "--message=Begin")
    return tmp_path


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout
