"""A server that goes away and comes back, and a page that is older than its server."""

import re

import pytest
from playwright.async_api import Browser, Route, expect

from tests.browser.chat import Chat, say
from tests.browser.conftest import Open
from tests.browser.user_environment import House

pytestmark = pytest.mark.asyncio(loop_scope="session")

EDITOR_WITHOUT_SERVER = """
window.acquireVsCodeApi = () => ({
  getState: () => undefined,
  setState: () => undefined,
  postMessage: ({ protocol, frames }) => {
    const refused = frames
      .filter(({ type }) => type === "call")
      .map(({ id }) => ({ protocol, id, type: "failed", payload: { message: "There is no program." } }));
    if (refused.length > 0) window.postMessage({ protocol, frames: refused }, location.origin);
  },
});
"""


async def test_a_page_says_that_it_is_reconnecting_and_comes_back(own_house: House, open_page: Open) -> None:
    chat = await open_page(own_house.open())
    await chat.tell(say("Before."))
    await expect(chat.answers).to_have_text("Before.")
    own_house.kill()
    await expect(chat.page.get_by_text("Reconnecting…")).to_be_visible()
    await chat.prompt.fill("typed meanwhile")
    await chat.prompt.press("Enter")
    await expect(chat.page.get_by_text("Not connected. This prompt is sent")).to_be_visible()
    own_house.open()
    await expect(chat.answers).to_have_text(["Before.", "typed meanwhile"])
    await expect(chat.page.get_by_text("Reconnecting…")).to_have_count(0)


async def test_nothing_is_said_of_files_while_nobody_can_look_for_them(
    own_house: House, open_page: Open
) -> None:
    chat = await open_page(own_house.open())
    await chat.prompt.press_sequentially("@")
    files = chat.page.get_by_role("listbox", name="Files").get_by_role("option")
    await expect(files.first).to_contain_text("boats.py")
    own_house.kill()
    await expect(chat.page.get_by_text("Reconnecting…")).to_be_visible()
    await chat.prompt.press_sequentially("bo")
    await expect(files).to_have_count(0)
    await expect(chat.page.get_by_text("No files match")).to_have_count(0)


async def test_a_page_of_an_editor_that_never_had_a_server_does_not_speak_of_reconnecting(
    house: House, browser: Browser
) -> None:
    context = await browser.new_context()
    await context.add_init_script(EDITOR_WITHOUT_SERVER)
    page = await context.new_page()
    await page.goto(house.server.url)
    await expect(page.get_by_text("Portico is starting.")).to_be_visible()
    await expect(page.get_by_text("Reconnecting…")).to_have_count(0)
    await context.close()


async def test_a_page_without_a_key_says_how_to_get_one(house: House, open_page: Open, chat: Chat) -> None:
    page = await chat.page.context.browser.new_page()  # type: ignore[union-attr]
    await page.goto(house.server.url)
    await expect(page.get_by_role("alert")).to_contain_text("This page is not signed in.")
    await page.close()


async def test_a_page_of_an_older_build_loads_itself_again(chat: Chat) -> None:
    loads = 0

    async def old_at_first(route: Route) -> None:
        nonlocal loads
        loads += 1
        answer = await route.fetch()
        text = await answer.text()
        build = "an-older-one" if loads == 1 else r"\g<1>"
        body = re.sub(r'(?<=name="portico-build" content=")([^"]*)', build, text)
        await route.fulfill(response=answer, body=body)

    await chat.tell(say("Here."))
    await chat.page.route(re.compile(r"/$"), old_at_first)
    await chat.page.reload()
    await expect(chat.answers).to_have_text("Here.")
    await expect(chat.page.locator("meta[name=portico-build]")).not_to_have_attribute(
        "content", "an-older-one"
    )
    assert loads == 2


async def test_a_page_of_an_older_build_takes_no_words_away(chat: Chat) -> None:
    async def old(route: Route) -> None:
        answer = await route.fetch()
        body = re.sub(r'(?<=name="portico-build" content=")([^"]*)', "an-older-one", await answer.text())
        await route.fulfill(response=answer, body=body)

    await chat.prompt.press_sequentially("not sent yet")
    await chat.page.route(re.compile(r"/$"), old)
    await chat.page.reload()
    banner = chat.page.get_by_text("Portico was updated. Reload to get the new version of this page.")
    await expect(banner).to_be_visible()
    await chat.page.unroute_all()
    await chat.button("Reload").click()
    await expect(banner).to_have_count(0)
    await expect(chat.prompt).to_have_value("not sent yet")
