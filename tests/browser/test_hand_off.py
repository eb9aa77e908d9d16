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


@pytest.mark.parametrize(("other", "words"), [("plain", "and the sails"), ("porter", "/help")])
async def test_from_a_typescript_agent_to_another_and_back(
    chat: Chat, typescript: str, shoot: Shoot, other: str, words: str
) -> None:
    title = f"mend the ropes for {other}"
    await chat.page.reload()
    await chat.new_session(typescript)
    await chat.tell(title)
    await continue_with(chat, title, other, shoot)
    seam = chat.card("Hand-off")
    await expect(seam).to_contain_text(f"Continued from “{title}” (typescript).")
    await expect(chat.prompt).to_have_value("Continue with the open points.")
    await seam.get_by_role("button", name="Summary for the agent").click()
    await expect(seam).to_contain_text(f"> {title}")
    await shoot(chat, f"hand-off-begun-{other}", widths=(300, 1100))
    await seam.get_by_role("button", name="Open the earlier session").click()
    await expect(chat.card("Hand-off")).to_contain_text(f"Continued with {other}.")
    await shoot(chat, f"hand-off-ended-{other}", widths=(300, 1100))
    await chat.card("Hand-off").get_by_role("button", name="Open the session that continues").click()
    await chat.tell(words)
    # Both have one title; the list shows the newer one first as soon as it has heard of it.
    await expect(chat.history.locator(".p-entry").first).to_contain_text(f"{other} · done")
    # Porter gives a session a title by its first prompt.
    await continue_with(chat, words if other == "porter" else title, typescript, shoot)
    await expect(chat.card("Hand-off")).to_contain_text(f"({other})")
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
