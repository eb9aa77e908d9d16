"""Takes the pictures of the extension's README: a real VS Code, the packed extension and Porter on a small project.

Run it from the repository after a change to what people see: .venv/bin/python -m scripts.take_editor_pictures
It needs Chromium, the packed extension (make vsix) and the VS Code of the tests (make setup).
"""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from playwright.async_api import Locator, ViewportSize, async_playwright, expect

from scripts.find_browser import find
from scripts.take_pictures import CALCULATOR, ROOT, TESTS
from tests.browser.chat import Chat
from tests.vscode.editor import CodeServer, install
from tests.vscode.workbench import Workbench

PICTURES = ROOT / "vscode" / "media" / "pictures"
PATIENCE_MS = 60_000
COLOURS = 128
SIZE = ViewportSize(width=1320, height=840)
SETTINGS = {
    "window.autoDetectColorScheme": True,
    "diffEditor.useInlineViewWhenSpaceIsLimited": False,
    # Two texts of this width stand side by side, and nothing beside them that tells nothing.
    "editor.fontSize": 13,
    "editor.folding": False,
    "editor.hideCursorInOverviewRuler": True,
    "editor.minimap.enabled": False,
    "editor.occurrencesHighlight": "off",
    "editor.overviewRulerBorder": False,
    "editor.scrollBeyondLastLine": False,
    "remote.autoForwardPorts": False,
    # The diff editor has a bar of its own, as high as a short text: a large block in a small picture.
    "workbench.colorCustomizations": {"scrollbarSlider.background": "#7f7f7f20"},
}
# Prompts of earlier sessions.
EARLIER = ("/search twice", "/read test_calculator.py", "/help edit")


class Camera:
    """One window, photographed by day and by night."""

    def __init__(self, window: Workbench) -> None:
        self.window = window
        self.page = window.page

    async def shoot(self, name: str, *, dark: bool = False) -> None:
        await self.page.emulate_media(color_scheme="dark" if dark else "light")
        theme = re.compile("vs-dark" if dark else r"\bvs\b")
        await expect(self.page.locator(".monaco-workbench")).to_have_class(theme)
        await self.page.mouse.move(700, 2)
        picture = PICTURES / f"{name}.png"
        await self.page.screenshot(path=picture, animations="disabled")
        _shrink(picture)
        print(picture.name, f"{picture.stat().st_size / 1000:.0f} KB")

    async def rested(self, chat: Chat) -> None:
        """Until nothing is under way, and VS Code shows that around the chat as well."""
        await chat.rested()
        await expect(self.page.locator(".part.sidebar").get_by_role("button", name="Stop")).to_have_count(0)
        await expect(self.window.status_bar.locator(".codicon-modifier-spin")).to_have_count(0)


def main() -> None:
    expect.set_options(timeout=PATIENCE_MS)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        project = home / "calculator"
        project.mkdir()
        (project / "calculator.py").write_text(CALCULATOR)
        (project / "test_calculator.py").write_text(TESTS)
        (project / "pytest.ini").write_text("[pytest]\naddopts = -q\nconsole_output_style = classic\n")
        (project / ".venv").symlink_to(ROOT / ".venv")
        environ = {**os.environ, "HOME": scratch, "PORTICO_HOME": f"{scratch}/portico"}
        environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        install(home / "extensions", environ)
        server = CodeServer(home / "vscode", home / "extensions", environ, settings=SETTINGS)
        server.start()
        try:
            asyncio.run(_photograph(server, project))
        finally:
            server.end()
            subprocess.run([f"{ROOT}/.venv/bin/portico", "stop"], env=environ, check=False)


async def _photograph(server: CodeServer, project: Path) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=find(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = await browser.new_page(viewport=SIZE, reduced_motion="reduce")
        window = Workbench(page)
        await window.open(server.address, project)
        await _walk(window, project)
        await browser.close()


async def _walk(window: Workbench, project: Path) -> None:
    camera = Camera(window)
    await window.open_file("calculator.py")
    chat = await window.open_chat()
    await _widen(window)
    await expect(window.status_bar.get_by_text("porter · No model")).to_be_visible()
    await camera.shoot("start")
    for words in EARLIER:
        await _ask(chat, words)
        await camera.rested(chat)
        await window.begin_session()
        await chat.tab(words).press("Delete")
        await expect(chat.tabs).to_have_count(1)
    await _talk(chat, camera)
    # Proposals are made in a copy, which is without what belongs to one place only; that would be told.
    (project / ".venv").unlink()
    await _propose(chat, camera)
    await _keep_track(chat, camera)


async def _widen(window: Workbench) -> None:
    """The side bar, by its edge."""
    edge = await window.page.locator(".part.sidebar").bounding_box()
    assert edge is not None
    right = edge["x"] + edge["width"]
    await window.page.mouse.move(right, 400)
    await window.page.mouse.down()
    await window.page.mouse.move(right + 160, 400, steps=8)
    await window.page.mouse.up()


async def _talk(chat: Chat, camera: Camera) -> None:
    await _ask(chat, "/explain add")
    await expect(chat.answers.last).to_have_attribute("aria-busy", "false")
    await _ask(chat, "/edit calculator.py s/Add two/Sum two/")
    card = _permission(chat)
    await _unfold(card)
    await camera.shoot("approval")
    await _allow(chat)
    await chat.rested()
    await _ask(chat, "/test ")
    await _allow(chat)
    await expect(chat.log.get_by_text("2 tests passed").last).to_be_visible()
    await camera.rested(chat)
    await camera.shoot("answer")
    await camera.shoot("answer-dark", dark=True)


async def _propose(chat: Chat, camera: Camera) -> None:
    window = camera.window
    await window.command("Portico: Switch Review Mode")
    await window.pick("Proposal")
    await _ask(chat, "/edit calculator.py s/first + second/second + first/")
    # In a tree of its own it need not ask.
    proposed = chat.log.get_by_role("group", name=re.compile("^Proposal"))
    await expect(_permission(chat).or_(proposed).first).to_be_visible()
    if await _permission(chat).count():
        await _allow(chat)
    await expect(proposed).to_be_visible()
    await window.unfold("Changes")
    await window.entries("Changes").filter(has_text="calculator.py").click()
    diff = window.page.locator(".editor-instance .monaco-diff-editor")
    await expect(diff.get_by_text("second + first").first).to_be_visible()
    await camera.rested(chat)
    await camera.shoot("proposal")
    await camera.shoot("proposal-dark", dark=True)


async def _keep_track(chat: Chat, camera: Camera) -> None:
    window = camera.window
    await window.command("View: Close All Editors")
    await window.open_file("calculator.py")
    await window.fold("Changes")
    await window.unfold("Todos")
    for words in ("Name the parameters", "Test negative numbers", "Write the README"):
        await window.command("Portico: Add Todo")
        await window.type(words, title="Add Todo")
        await expect(window.entries("Todos").filter(has_text=words)).to_be_visible()
    done = window.entries("Todos").filter(has_text="Name the parameters").get_by_role("checkbox")
    await done.click()
    await expect(done).to_be_checked()
    await window.unfold("Sessions")
    await expect(window.entries("Sessions")).to_have_count(1 + len(EARLIER))
    await camera.shoot("todos")
    await window.fold("Todos")
    await window.fold("Sessions")
    await window.command("Portico: Show History")
    await expect(chat.history).to_be_visible()
    await camera.shoot("history", dark=True)


def _permission(chat: Chat) -> Locator:
    return chat.card(re.compile("^Permission"))


async def _unfold(card: Locator) -> None:
    details = card.get_by_role("button", name="Details")
    await expect(details).to_be_visible()
    if await details.get_attribute("aria-expanded") == "false":
        await details.click()


async def _allow(chat: Chat) -> None:
    await _permission(chat).get_by_role("button", name=re.compile("^Allow")).first.click()


async def _ask(chat: Chat, words: str) -> None:
    await chat.rested()
    await chat.prompt.fill(words)
    await chat.prompt.press("Enter")
    await expect(chat.prompt).to_have_value("")


def _shrink(picture: Path) -> None:
    """With fewer colours, where there is a program for it; a window has not many."""
    if shutil.which("pngquant"):
        subprocess.run(
            ["pngquant", "--force", "--ext", ".png", str(COLOURS), str(picture)],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
