"""Align first in the page: nothing is written before the person agrees to what a foreign agent understood."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = Path(__file__).parents[2]
AGENT = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.peers.tool_calling_agent"]
UNDERSTOOD = {"understanding": "You want a longer rope.", "plan": "Change rope.txt."}
ALIGN = ["call", "portico-alignment", "align", UNDERSTOOD]
WRITE = ["write", "rope.txt", "long\n"]


@pytest.fixture
def caller(house: House) -> Iterator[str]:
    """The name of a foreign agent that does what its prompt says, which is in the settings meanwhile."""
    more = {"caller": {"command": AGENT[0], "args": AGENT[1:]}}
    house.settings({"agent": "scripted", "agents": {**house.agents, **more}})
    yield "caller"
    house.settings({"agent": "scripted", "agents": house.agents})


async def test_nothing_is_written_before_the_person_agrees(
    chat: Chat, house: House, caller: str, shoot: Shoot
) -> None:
    rope = house.workspace / "rope.txt"
    rope.unlink(missing_ok=True)
    await chat.page.reload()
    await chat.new_session(caller)
    await chat.button("Components").click()
    picker = chat.composer.get_by_role("dialog", name="Components")
    switch = picker.get_by_role("checkbox", name=re.compile("^align-first"))
    await switch.click()
    await expect(switch).to_be_checked()
    await chat.page.keyboard.press("Escape")
    await chat.tell(json.dumps([WRITE]))
    await expect(chat.fold("Not before your yes: Write rope.txt")).to_be_visible()
    await expect(chat.answers.last).to_contain_text("not written: Not before the person agrees")
    assert not rope.exists()
    await chat.ask(json.dumps([ALIGN, WRITE]))
    card = chat.card(re.compile("^Question"))
    await expect(card).to_contain_text("You want a longer rope.")
    await card.get_by_role("radio", name="Yes, go ahead").check()
    await shoot(chat, "align-first", widths=(300, 1100))
    assert not rope.exists()
    await card.get_by_role("button", name="Send").click()
    await expect(chat.seen("The person agrees. Go ahead.")).to_be_visible()
    await expect(chat.answers.last).to_have_text("written")
    await chat.rested()
    assert rope.read_text() == "long\n"
