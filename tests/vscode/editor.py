"""A real VS Code with the extension installed, as one person has it: a window in a browser."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.async_api import FrameLocator, Page, expect

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

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
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
        settings.write_text(json.dumps(SETTINGS))
        self._process: subprocess.Popen[str] | None = None
        self.address = ""

    def start(self) -> None:
        subprocess.run(
            [self._program, *self._places, "--install-extension", str(VSIX)],
            env=self._environ,
            check=True,
            capture_output=True,
        )
        flags = (
            "--auth",
            "none",
            "--disable-workspace-trust",
            "--disable-update-check",
            "--disable-telemetry",
        )
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

    async def open_chat(self) -> Chat:
        """By the icon in the activity bar, as a person would."""
        await self.page.locator(".activitybar").get_by_role("tab", name="Portico").click()
        chat = Chat(self.page, self.chat_frame)
        await chat.ready()
        return chat

    @property
    def chat_frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe.webview.ready").frame_locator("#active-frame")

    async def command(self, title: str) -> None:
        """Run a command by its name."""
        await self.page.keyboard.press("F1")
        field = self.page.locator(".quick-input-widget input")
        await field.fill(f">{title}")
        await self.page.locator(".quick-input-list").get_by_text(title, exact=True).first.click()
