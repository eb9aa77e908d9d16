"""The settings of the extension, as they reach the server and the page, in a real VS Code."""

import json
import socket

import pytest
from playwright.async_api import expect

from tests.browser.chat import say
from tests.browser.scripted_requests import wish
from tests.browser.user_environment import House
from tests.vscode.conftest import OUTPUT, Open, Serve

pytestmark = pytest.mark.asyncio(loop_scope="session")


def free_port() -> int:
    """Below those that the system gives out by itself."""
    for port in range(21_000, 22_000):
        with socket.socket() as door:
            if door.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise AssertionError("there is no free port")


async def test_port_budgets_and_agents_that_are_not_asked_about_reach_the_server(
    open_window: Open, own_house: House, serve: Serve
) -> None:
    chosen = {
        "portico.port": free_port(),
        "portico.budget.day": "$2.50",
        "portico.bypassPermissions": ["scripted"],
        "portico.showThinking": True,
        "portico.reviewMode": "proposal",
        "portico.maxCostUsd": 0.25,
    }
    # What the folder says about permissions and budgets is not heard, trusted or not: it is for the person alone.
    own = own_house.workspace / ".vscode" / "settings.json"
    own.parent.mkdir()
    widened = {"portico.bypassPermissions": ["plain"], "portico.budget.day": "$100", "portico.maxCostUsd": 9}
    own.write_text(json.dumps({**widened, "portico.reviewMode": "direct", "portico.agent": "scripted"}))
    window = await open_window(own_house.workspace, serve(own_house, settings=chosen))
    chat = await window.open_chat()
    assert own_house.server.port == chosen["portico.port"]
    environ = own_house.server.process.environ()
    assert environ["PORTICO_BUDGET_DAY"] == "$2.50"
    assert "PORTICO_BUDGET_TURN" not in environ
    assert environ["PORTICO_BYPASS_PERMISSIONS"] == "scripted"
    # These are sent with the calls of the window: the server has them from no file and no variable.
    await expect(chat.composer.get_by_role("combobox", name="Changes: Proposal")).to_be_visible()
    elsewhere = {one["name"]: one for one in own_house.server.ask("GetSettings", {})["settings"]}
    assert json.loads(elsewhere["review"]["valueJson"])["mode"] is None
    await window.page.screenshot(path=OUTPUT / "window-settings.png")
    await chat.tell({"think": "Which colour?"}, *wish("make paint", "paint"), say("Red."))
    await expect(chat.answers.filter(has_text="paint: ran")).to_be_visible()
    await expect(chat.seen("Which colour?")).to_be_visible()
