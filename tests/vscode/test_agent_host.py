"""VS Code's own chat with Portico as its agent host: any ACP agent, without the extension."""

import subprocess
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.user_environment import House
from tests.vscode.editor import CodeServer, found
from tests.vscode.retry import ATTEMPT_MS, persist

pytestmark = pytest.mark.asyncio(loop_scope="session")

STARTED = "Extension host agent listening on "


class BridgedEditor(CodeServer):
    """The server of VS Code with a bridge to Portico; code-server itself refuses the flags of the bridge."""

    def __init__(self, house: House, place: Path) -> None:
        settings = {"chat.disableAIFeatures": False, "chat.agentHost.enabled": True}
        visible = {"workbench.secondarySideBar.defaultVisibility": "visible"}
        super().__init__(place, place / "extensions", house.environ(), settings={**settings, **visible})
        self._bridge = {
            "host": "127.0.0.1",
            "port": str(house.server.port),
            "connection-token": house.server.token,
        }
        self._place = place
        # In a browser, settings of the user are the browser's own.
        (self.data / "Machine/settings.json").write_text((self.data / "User/settings.json").read_text())

    def start(self) -> None:
        program = Path(found()).parent / "node_modules"
        words = [
            *(str(program / ".bin/node"), str(program / "code-server/lib/vscode/out/server-main.js")),
            *("--host", "127.0.0.1", "--port", "0", "--without-connection-token"),
            *("--accept-server-license-terms", "--disable-workspace-trust"),
            *("--server-data-dir", str(self._place), *self._places[2:]),
        ]
        for name, value in self._bridge.items():
            words += [f"--agent-host-bridge-{name}", value]
        self._process = subprocess.Popen(words, env=self.environ, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if STARTED in line:
                self.address = f"http://127.0.0.1:{line.split(STARTED)[1].strip()}"
                return
        raise AssertionError("VS Code ended before it was ready.")


async def choose_agent(page: Page, name: str) -> None:
    """Choose from the list of agents, which shows those that were known when it was opened."""
    chosen = page.get_by_text("Agent's default").first
    await expect(page.get_by_text("Local", exact=True).first).to_be_visible(timeout=60_000)

    async def attempt() -> None:
        if not await chosen.is_visible():
            await page.keyboard.press("Escape")
            await page.get_by_text("Local", exact=True).first.click(timeout=ATTEMPT_MS)
            await page.get_by_text(name, exact=True).first.click(timeout=ATTEMPT_MS)
        await expect(chosen).to_be_visible(timeout=ATTEMPT_MS)

    await persist(attempt)


async def test_an_agent_answers_in_the_chat_of_vscode_and_asks_there(
    own_house: House, profile: BrowserContext, tmp_path: Path
) -> None:
    own_house.run("serve", "--detach", "--cwd", str(own_house.workspace))
    editor = BridgedEditor(own_house, tmp_path / "vscode")
    page = await profile.new_page()
    try:
        editor.start()
        await page.goto(f"{editor.address}/?folder={own_house.workspace}")
        await choose_agent(page, "Scripted")
        await page.keyboard.type("permission")
        await page.keyboard.press("Enter")
        await page.get_by_role("button", name="Allow once").first.click()
        answer = page.locator(".interactive-response").last
        await expect(answer).to_contain_text("allowed")
    finally:
        await page.close()
        editor.end()
    listed = own_house.server.ask("ListSessions", {})["sessions"]
    assert [(one["title"], one["agent"]) for one in listed if one["title"]] == [("permission", "scripted")]
