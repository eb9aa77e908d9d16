"""Deleting a session with open decisions asks for confirmation and says what is lost."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from tests.browser.chat import Chat, named
from tests.browser.conftest import Shoot
from tests.browser.test_review import LINES, Harbour, boatyard, changed, harbour, propose, writes
from tests.browser.user_environment import House

__all__ = ["boatyard", "harbour"]
pytestmark = pytest.mark.asyncio(loop_scope="session")


def question(chat: Chat, title: str) -> Locator:
    return chat.page.get_by_role("dialog", name=f"Delete “{title}”?")


async def test_a_session_that_proposes_something_goes_only_after_a_question(
    chat: Chat, house: House, harbour: Harbour, shoot: Shoot
) -> None:
    await propose(chat, named("Half done"), writes("harbour.py", changed()))
    session_id = await chat.session_id()
    await chat.show_history()
    await chat.do("Delete", "Half done")
    await expect(question(chat, "Half done")).to_contain_text("It has proposed changes to 1 file")
    await expect(question(chat, "Half done")).to_contain_text("They will be lost.")
    await shoot(chat, "removal", night=True)
    await question(chat, "Half done").get_by_role("button", name="Cancel").click()
    await expect(question(chat, "Half done")).to_have_count(0)
    assert len(house.session(session_id)["proposals"]) == 1
    await chat.show_history()
    await chat.do("Delete", "Half done")
    await question(chat, "Half done").get_by_role("button", name="Cancel").click()
    await expect(chat.button("Delete Half done")).to_be_focused()
    await chat.page.clock.install()
    await chat.do("Delete", "Half done")
    await question(chat, "Half done").get_by_role("button", name="Delete with changes").click()
    await expect(chat.page.get_by_text("Deleted “Half done”.")).to_be_visible()
    await chat.page.clock.fast_forward(10_000)
    await expect(chat.page.get_by_text("Deleted “Half done”.")).to_have_count(0)
    assert house.server.ask("ListSessions", {"search": "Half done"}).get("sessions", []) == []
    assert harbour.text() == "\n".join(LINES) + "\n"


async def test_a_branch_that_is_not_finished_is_named_before_its_session_goes(
    chat: Chat, house: House, boatyard: Path
) -> None:
    session = house.start_session(workspace=str(boatyard), mode="REVIEW_MODE_BRANCH")
    house.talk(session, '[{"title": "Left afloat"}, {"write": {"path": "keel.txt", "content": "oak"}}]')
    await chat.history.get_by_role("button", name=re.compile("^Left afloat")).wait_for()
    await chat.do("Delete", "Left afloat")
    await expect(question(chat, "Left afloat")).to_contain_text(
        re.compile(r"branch portico/\S+ is not finished")
    )
    await question(chat, "Left afloat").get_by_role("button", name="Open session").click()
    await expect(chat.page.get_by_role("group", name="Branch of this session")).to_be_visible()
