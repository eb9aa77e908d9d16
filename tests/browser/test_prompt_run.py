"""A prompt file that is run on a file of the folder, in the page: pick, values, progress, result."""

import re
from collections.abc import Iterator

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.review.trees import write

pytestmark = pytest.mark.asyncio(loop_scope="session")

GREET = """---
description: Greet the crew of a file
tags: [crew, short]
budget: $0.02
variables:
  input:
    description: the crew
  name:
    description: who is greeted
  tone:
    description: how it sounds
    default: calm
---
say Ahoy {{ name }}, {{ tone }}. {{ input }}
"""
ENDLESS = "---\ndescription: Never ends\n---\nsay Half an answer.\nhang\n"


@pytest.fixture
def prompts(house: House) -> Iterator[House]:
    write(
        house.workspace,
        {
            ".portico/prompts/greet.md": GREET,
            ".portico/prompts/slow/endless.md": ENDLESS,
            "crew.txt": "Captain",
        },
    )
    yield house
    house.reset_files()


async def choose(chat: Chat, name: str) -> Locator:
    await chat.button("Run a prompt on a file").click()
    dialog = chat.page.get_by_role("dialog", name="Run a prompt")
    await dialog.get_by_role("button", name=name).click()
    return chat.page.get_by_role("dialog", name=f"Run {name}")


async def test_a_prompt_is_picked_filled_in_run_and_its_answer_used(
    chat: Chat, prompts: House, shoot: Shoot
) -> None:
    await chat.button("Run a prompt on a file").click()
    dialog = chat.page.get_by_role("dialog", name="Run a prompt")
    group = dialog.get_by_role("region", name=".portico/prompts", exact=True)
    await expect(group.get_by_role("button")).to_contain_text(
        ["greet Greet the crew of a file#crew #short  ·  low cost, up to $0.02"]
    )
    await expect(dialog.get_by_role("region", name="Built-in")).to_contain_text("explain")
    await shoot(chat, "prompt-run-pick", night=True, widths=(300, 1100))
    await dialog.get_by_role("searchbox").fill("crew")
    await expect(dialog.get_by_role("region", name="Built-in")).to_have_count(0)
    await group.get_by_role("button").click()
    dialog = chat.page.get_by_role("dialog", name="Run greet")
    await dialog.get_by_role("button", name="Run").click()
    await expect(dialog.get_by_role("alert")).to_have_text("Choose a file to run the prompt on.")
    await dialog.get_by_label("File").fill("crew.txt")
    await dialog.get_by_label("name", exact=True).fill("Ada")
    await expect(dialog.get_by_label("tone")).to_have_value("calm")
    await dialog.get_by_label("Maximum cost of this run").fill("0.01")
    await shoot(chat, "prompt-run-values", widths=(300, 1100))
    await dialog.get_by_role("button", name="Run").click()
    await expect(dialog.get_by_text("Ahoy Ada, calm. Captain")).to_be_visible()
    await expect(dialog.get_by_role("status").first).to_have_text(
        re.compile(r"^greet finished \(.*\d\.\d s\)\.$")
    )
    await dialog.get_by_role("button", name="Show provenance").click()
    await expect(dialog).to_contain_text('"fingerprint"')
    await dialog.get_by_role("button", name="Compare with source").click()
    await expect(dialog.get_by_role("group", name="Change of crew.txt")).to_contain_text("Ahoy Ada")
    await shoot(chat, "prompt-run-compare", night=True, widths=(300, 1100))
    async with chat.page.expect_download() as saving:
        await dialog.get_by_role("button", name="Save as…").click()
    saved = (await (await saving.value).path()).read_text()
    assert saved.startswith("---\nportico:\n")
    assert saved.endswith("Ahoy Ada, calm. Captain\n")
    await dialog.get_by_role("button", name="Insert into the composer").click()
    await expect(chat.prompt).to_have_value("Ahoy Ada, calm. Captain")


async def test_a_run_is_cancelled_and_its_half_answer_kept_and_marked(chat: Chat, prompts: House) -> None:
    dialog = await choose(chat, "slow/endless")
    await dialog.get_by_role("button", name="Run").click()
    await expect(dialog.get_by_text("Half an answer.")).to_be_visible()
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog.get_by_role("status").first).to_contain_text("was cancelled")
    await expect(dialog.get_by_role("status").first).to_contain_text("The answer is incomplete.")
    await expect(dialog.get_by_text("Half an answer.")).to_be_visible()


async def test_a_file_that_is_no_text_is_refused_with_a_reason(chat: Chat, prompts: House) -> None:
    (prompts.workspace / "picture.png").write_bytes(b"\x89PNG\0\0")
    dialog = await choose(chat, "greet")
    await dialog.get_by_label("File").fill("picture.png")
    await dialog.get_by_label("name", exact=True).fill("Ada")
    await dialog.get_by_role("button", name="Run").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("picture.png is binary, not text.")
