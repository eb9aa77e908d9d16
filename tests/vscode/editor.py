"""A real VS Code with the extension installed, as one person has it: a window in a browser."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import FrameLocator, Locator, Page, expect

from scripts.find_vscode import VARIABLE, find
from tests.browser.chat import Chat
from tests.support.program import PROGRAM

VSIX = Path(__file__).parents[2] / "vscode" / "dist" / "portico.vsix"
READY = "Session server listening"
SETTINGS: dict[str, Any] = {
    "portico.program": str(PROGRAM),
    "workbench.startupEditor": "none",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "chat.disableAIFeatures": True,
    "telemetry.telemetryLevel": "off",
    "extensions.autoCheckUpdates": False,
}


class CodeServer:
    """VS Code's own server on loopback. It ends with the test, and so does all that it started."""

    def __init__(self, home: Path, environ: Mapping[str, str], *, trusting: bool = True) -> None:
        """One that is not trusting opens folders in restricted mode, without asking."""
        program = find()
        if program is None:
            raise AssertionError(
                f"There is no VS Code. Build it with make setup, or name one with {VARIABLE}."
            )
        self._program = program
        self._environ = dict(environ)
        self._places = ("--user-data-dir", str(home / "data"), "--extensions-dir", str(home / "extensions"))
        settings = home / "data" / "User" / "settings.json"
        settings.parent.mkdir(parents=True)
        restricted = {} if trusting else {"security.workspace.trust.startupPrompt": "never"}
        settings.write_text(json.dumps(SETTINGS | restricted))
        self.data = home / "data"
        self._trusting = trusting
        self._process: subprocess.Popen[str] | None = None
        self.address = ""

    def start(self) -> None:
        subprocess.run(
            [self._program, *self._places, "--install-extension", str(VSIX)],
            env=self._environ,
            check=True,
            capture_output=True,
        )
        trust = ("--disable-workspace-trust",) if self._trusting else ()
        flags = ("--auth", "none", "--disable-update-check", "--disable-telemetry", *trust)
        self._process = subprocess.Popen(
            [self._program, *self._places, *flags, "--bind-addr", "127.0.0.1:0"],
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "HTTP server listening on " in line:
                self.address = line.split("HTTP server listening on ")[1].strip().rstrip("/")
            if READY in line:
                return
        raise AssertionError("VS Code ended before it was ready.")

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.communicate(timeout=30)


class Workbench:
    """One window."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def open(self, server: CodeServer, folder: Path) -> None:
        await self.page.goto(f"{server.address}/?folder={folder}")
        await expect(self.page.locator(".monaco-workbench")).to_be_visible()
        await expect(self._own_tab).to_be_visible()

    async def open_chat(self) -> Chat:
        await self.show()
        chat = self.chat()
        await chat.ready()
        return chat

    async def show(self) -> None:
        """Portico's side bar, by the icon in the activity bar, as a person would."""
        await self._own_tab.click()

    def chat(self) -> Chat:
        """The chat that is in sight, or will be."""
        return Chat(self.page, self.chat_frame)

    @property
    def _own_tab(self) -> Locator:
        return self.page.locator(".activitybar").get_by_role("tab", name="Portico")

    @property
    def chat_frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    async def command(self, title: str) -> None:
        """Run a command by its name."""
        await self.page.keyboard.press("F1")
        field = self.page.locator(".quick-input-widget input")
        await field.fill(f">{title}")
        await self.page.locator(".quick-input-list").get_by_text(title, exact=True).first.click()

    async def knows_session(self) -> None:
        """Until the status bar tells with whom one talks: commands about a session are offered from then on."""
        await expect(self.page.locator(".statusbar").get_by_text("scripted · Small")).to_be_visible()

    async def open_file(self, name: str) -> None:
        """By its name, as with Go to File."""
        await self.page.keyboard.press("F1")
        field = self.page.locator(".quick-input-widget input")
        await field.fill(name)
        await self.page.locator(".quick-input-list .monaco-list-row").first.click()
        await expect(self.page.locator(".tab.active").get_by_text(name, exact=True)).to_be_visible()
        await expect(self.page.locator(".editor-instance .view-lines").first).to_be_visible()

    async def select_all(self) -> None:
        """The whole text of the editor in front."""
        await self.page.locator(".editor-instance .view-lines").first.click()
        await self.page.keyboard.press("Control+a")

    async def leave_chat(self) -> None:
        """Look at the files instead."""
        await self.page.locator(".activitybar").get_by_role("tab", name="Explorer").click()
        await expect(self.page.get_by_role("tree", name="Files Explorer")).to_be_visible()

    def notification(self, words: str) -> Locator:
        return self.page.locator(".notification-list-item").filter(has_text=words)

    def entries(self, view: str) -> Locator:
        """The lines of a view of the side bar."""
        return self.page.get_by_role("tree", name=view).get_by_role("treeitem")

    async def unfold(self, view: str) -> None:
        """Open a view of the side bar by its title."""
        title = self.page.locator(".pane-header").filter(has_text=view)
        if await title.get_attribute("aria-expanded") != "true":
            await title.click()
