"""A window of a real VS Code with the packed extension and a speaking agent behind it, and a watch in its frames.

It is the VS Code of the tests, opened and driven as they do it.
"""

import asyncio
import json
import re
import subprocess
from bisect import bisect_left
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from playwright.async_api import Page, async_playwright, expect

from bench.children import PORTICO, environment
from bench.last_words import PATIENCE_MS, WATCH, look_for_end, painted
from bench.programs.speaking_agent import END
from bench.report import MeasurementFailed
from bench.speaker import Speaker
from bench.stopwatch import Activation, Stopwatch
from scripts.find_browser import find
from tests.browser.chat import Chat
from tests.browser.conftest import ARGUMENTS
from tests.support.waiting import wait_until
from tests.vscode.editor import VSIX, CodeServer, install
from tests.vscode.workbench import Workbench


class Streamed(msgspec.Struct, frozen=True, kw_only=True):
    """One answer: seconds until it was sent and until it was painted, and the moments of posts that brought it."""

    stream: float
    painted: float
    posts: Sequence[float] = ()

    @property
    def busiest_second(self) -> int:
        """Largest number of posts within any second."""
        return max(bisect_left(self.posts, start + 1) - place for place, start in enumerate(self.posts))


class Returned(msgspec.Struct, frozen=True):
    """Seconds until a hidden chat was back with its last words: since the click, and since its page began."""

    since_click: float
    since_page: float


class VsCodeHome:
    """A folder with VS Code, the extension, and Portico with its agent."""

    def __init__(self, folder: Path) -> None:
        self.portico = folder / "portico"
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.speaker = Speaker(self.portico, folder / "spoken.json")
        self.stopwatch = Stopwatch(folder / "stopwatch")
        self.environ = {**environment(self.portico), "HOME": str(folder), **self.stopwatch.environ}
        self._extensions = folder / "extensions"
        self._data = folder / "vscode"

    def serve(self) -> CodeServer:
        install(self._extensions, self.environ, VSIX, *self.stopwatch.packages)
        server = CodeServer(self._data, self._extensions, self.environ)
        server.start()
        return server

    def link(self) -> str:
        """To the chat page for a browser, at the server that the extension has started."""
        words = [PORTICO, "serve", "--detach", "--api"]
        started = subprocess.run(
            words, env=self.environ, cwd=self.workspace, capture_output=True, check=False
        )
        if started.returncode != 0:
            raise MeasurementFailed("the server of the extension does not answer")
        serving = json.loads(started.stdout)
        return f"{serving['url']}#token={Path(serving['tokenFile']).read_text().strip()}"

    def stop(self) -> None:
        subprocess.run([PORTICO, "stop"], env=self.environ, capture_output=True, check=False)


class VsCodeWindow:
    def __init__(self, page: Page, server: CodeServer, home: VsCodeHome) -> None:
        self._window = Workbench(page)
        self._server = server
        self._home = home

    async def open(self, *order: str) -> Mapping[str, Activation]:
        """Open it anew, with the chat; what the activation of extensions took, one after the other."""
        stopwatch = self._home.stopwatch
        stopwatch.set(order)
        # The window from before says goodbye, and its extensions end.
        await self._window.page.goto("about:blank")
        await self._window.open(self._server.address, self._home.workspace)
        await asyncio.to_thread(wait_until, lambda: stopwatch.has_run, "the activation of the extensions")
        await self._window.open_chat()
        return stopwatch.read()

    async def stream(self, length: int, deltas: int, seconds: float) -> Streamed:
        """Have an answer in a session of its own."""
        await self._window.begin_session()
        self._home.stopwatch.count_posts()
        streamed = await self._answer(self._window.chat(), f"{length} {deltas} {seconds}")
        return msgspec.structs.replace(streamed, posts=self._home.stopwatch.posts())

    async def stream_in_browser(self, length: int, deltas: int, seconds: float) -> Streamed:
        """The same in the chat page alone, in another tab of the browser."""
        chat = Chat(await self._window.page.context.new_page())
        await chat.page.goto(await asyncio.to_thread(self._home.link))
        streamed = await self._answer(chat, f"{length} {deltas} {seconds}")
        await chat.page.close()
        return streamed

    async def _answer(self, chat: Chat, order: str) -> Streamed:
        await chat.ready()
        await look_for_end(chat.prompt)
        self._home.speaker.begin()
        await chat.ask(order)
        end = await painted(chat.log)
        spoken = self._home.speaker.spoken()
        await chat.rested()
        return Streamed(stream=spoken.ended - spoken.started, painted=end - spoken.started)

    async def open_session(self, title: str) -> None:
        """One that was left, in a tab."""
        chat = self._window.chat()
        await chat.show_history()
        await chat.history.get_by_role("button", name=re.compile(f"^{title}")).first.click()
        await expect(chat.tab(re.compile(f"^{title}"))).to_be_visible()

    async def come_back(self, title: str) -> Returned:
        """Look at a session, look at the files instead, and come back."""
        chat = self._window.chat()
        tab = chat.tab(re.compile(f"^{title}"))
        await tab.click()
        await expect(tab).to_have_attribute("aria-selected", "true")
        await expect(chat.answers.last).to_contain_text(END)
        await self._window.leave_chat()
        await self._window.show()
        end = await painted(chat.log)
        await expect(tab).to_have_attribute("aria-selected", "true")
        pressed: float = await self._window.page.evaluate("window.__watch.pressed")
        began: float = await chat.log.evaluate("() => window.__watch.began")
        return Returned(end - pressed / 1_000, end - began / 1_000)


@asynccontextmanager
async def vscode_window(home: VsCodeHome) -> AsyncIterator[VsCodeWindow]:
    """Not open yet. Whatever is started in it ends with it."""
    expect.set_options(timeout=PATIENCE_MS)
    server = await asyncio.to_thread(home.serve)
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
            context = await browser.new_context(viewport={"width": 1280, "height": 820})
            context.set_default_timeout(PATIENCE_MS)
            await context.add_init_script(WATCH)
            yield VsCodeWindow(await context.new_page(), server, home)
            await browser.close()
    finally:
        await asyncio.to_thread(server.end)
        await asyncio.to_thread(home.stop)
