"""Agent Skills in the settings of the page: where they are from, and allowed or denied by a person."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chat import Chat
from tests.browser.conftest import Shoot
from tests.browser.user_environment import House
from tests.components.skill_support import install_node, write_skill

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def skill(house: House) -> Iterator[Path]:
    """The folder of a package's skill, beside one of the workspace. Other tests do not see them."""
    write_skill(house.workspace / ".agents" / "skills", "deploy", description="Puts it on the server.")
    yield install_node(house.workspace, "ropes", "1.2.0", "knots")
    for folder in (".agents", "node_modules"):
        shutil.rmtree(house.workspace / folder)


async def test_skills_are_listed_allowed_and_denied_as_the_person_has_seen_them(
    chat: Chat, house: House, skill: Path, shoot: Shoot
) -> None:
    await chat.button("Settings").click()
    listed = chat.page.get_by_role("dialog", name="Settings").get_by_role("region", name="Skills")
    own = listed.get_by_role("listitem").filter(has_text="deploy")
    knots = listed.get_by_role("listitem").filter(has_text="knots")
    await expect(own).to_contain_text(re.compile(r"deploy on · workspace · [0-9a-f]{12}"))
    await expect(knots).to_contain_text(re.compile(r"knots not allowed · npm ropes 1\.2\.0 · [0-9a-f]{12}"))
    await listed.scroll_into_view_if_needed()
    await shoot(chat, "skills", widths=(300, 1100))
    (skill / "more.md").write_text("New advice.")
    await knots.get_by_role("button", name="Allow").click()
    await expect(listed).to_contain_text("has changed since it was listed")
    await chat.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    await chat.button("Settings").click()
    await knots.get_by_role("button", name="Allow").click()
    await expect(knots).to_contain_text("knots on ·")
    assert states(house) == {"workspace:deploy": "on", "npm:ropes/knots": "on"}
    await own.get_by_role("button", name="Deny").click()
    await expect(own).to_contain_text("deploy denied ·")
    assert states(house)["workspace:deploy"] == "denied"


def states(house: House) -> dict[str, str]:
    """As the command line has them."""
    return {one["id"]: one["state"] for one in house.run("skills", "list", "--api").api["skills"]}
