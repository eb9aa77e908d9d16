"""Research in a package as a card of its own, which a person opens and stops while the turn continues."""

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from portico.config.paths import state_folder
from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.review.trees import write

pytestmark = pytest.mark.asyncio(loop_scope="session")

AGENT = Path(__file__).parents[1] / "peers" / "researching_agent.py"


@pytest.fixture
def researcher(house: House) -> Iterator[str]:
    """The name of an agent that asks two questions about a package of the folder at once."""
    write(
        house.workspace,
        {
            "package.json": "{}",
            "node_modules/thing/package.json": '{"version": "1.0.0"}',
            "node_modules/thing/lib/code.js": "function one() { return 1 }\n",
        },
    )
    more = {"researcher": {"command": sys.executable, "args": [str(AGENT), "two-questions"]}}
    house.settings({"agent": "scripted", "agents": {**house.agents, **more}})
    yield "researcher"
    house.settings({"agent": "scripted", "agents": house.agents})
    house.reset_files()
    # Or the next research would end at once, with these findings.
    shutil.rmtree(state_folder(house.environ()) / "research")


async def test_one_research_is_stopped_while_the_other_and_the_turn_go_on(
    chat: Chat, researcher: str, shoot: Shoot
) -> None:
    await chat.page.reload()
    await chat.new_session(researcher)
    await chat.ask("Look into the package.")
    stops = chat.button("Stop research")
    await expect(stops).to_have_count(2)
    await shoot(chat, "research", widths=(300, 1100))
    endless = chat.log.locator(".p-tool", has_text="What never ends?")
    await endless.get_by_role("button", name="Stop research").click()
    await expect(endless).to_contain_text("The person stopped this research.")
    await expect(chat.answers.last).to_contain_text("First: thing 1.0.0 (npm), researched in")
    await expect(chat.answers.last).to_contain_text("Second: The person stopped this research.")
    other = chat.fold(re.escape("What does one() return?"))
    await expect(other).to_have_attribute("aria-expanded", "false")
    await other.click()
    await expect(chat.log.locator(".p-tool", has_text="What does one()")).to_contain_text(
        re.compile("permissions: no no no once")
    )
    await shoot(chat, "research-ended", night=True, widths=(1100,))
