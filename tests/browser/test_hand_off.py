"""A session that continues with another agent, as the page shows it on both sides."""

import re
import shlex
from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.support.editor import typescript_agent

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def typescript(house: House) -> Iterator[str]:
    """The name of an agent made with the TypeScript SDK, which is in the settings meanwhile."""
    words = shlex.split(typescript_agent(house))
    more = {"typescript": {"command": words[0], "args": words[1:]}}
    house.settings({"agent": "scripted", "agents": {**house.agents, **more}})
    yield "typescript"
    house.settings({"agent": "scripted", "agents": house.agents})


async def test_from_a_typescript_agent_to_another_and_back(chat: Chat, typescript: str, shoot: Shoot) -> None:
    await chat.page.reload()
    await chat.new_session(typescript)
    await chat.tell("mend the ropes")
    await continue_with(chat, "mend the ropes", "plain", shoot)
    seam = chat.card("Hand-off")
    await expect(seam).to_contain_text("Continued from “mend the ropes” (typescript).")
    await expect(chat.prompt).to_have_value("Continue with the open points.")
    await seam.get_by_role("button", name="Summary for the agent").click()
    await expect(seam).to_contain_text("> mend the ropes")
    await shoot(chat, "hand-off-begun", widths=(300, 1100))
    await seam.get_by_role("button", name="Open the earlier session").click()
    await expect(chat.card("Hand-off")).to_contain_text("Continued with plain.")
    await shoot(chat, "hand-off-ended", widths=(300, 1100))
    await chat.card("Hand-off").get_by_role("button", name="Open the session that continues").click()
    await chat.tell("and the sails")
    # Both have one title; the list shows the newer one first as soon as it has heard of it.
    await expect(chat.history.locator(".p-entry").first).to_contain_text("plain · done")
    await continue_with(chat, "mend the ropes", typescript, shoot)
    await expect(chat.card("Hand-off")).to_contain_text("(plain)")
    await chat.ready()
    await chat.prompt.press("Enter")
    await expect(chat.answers.first).to_contain_text("Before that session")


async def continue_with(chat: Chat, title: str, agent: str, shoot: Shoot) -> None:
    tabs = await chat.tabs.count()
    await chat.do("Continue", title)
    dialog = chat.page.get_by_role("dialog", name=re.compile("^Continue"))
    await expect(dialog).to_be_visible()
    await shoot(chat, "hand-off-dialog", widths=(300, 1100))
    await dialog.get_by_role("button", name=re.compile(f"^{agent}", re.IGNORECASE)).click()
    await expect(chat.tabs).to_have_count(tabs + 1)
