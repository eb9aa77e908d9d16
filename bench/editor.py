"""The extension in a real VS Code: what its activation costs, how often it posts, how a hidden chat comes back.

`python -m bench editor` measures this alone. It is the VS Code of the tests, driven as they drive it.
"""

import asyncio
import json
import re
import tempfile
import time
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import async_playwright, expect

from bench.report import Budget, Line, MeasurementFailed, Section
from bench.samples import Samples
from scripts.find_browser import find
from tests.browser.chat import Chat, say
from tests.browser.conftest import ARGUMENTS
from tests.browser.house import House, furnish
from tests.support.waiting import wait_until
from tests.vscode.editor import VSIX, CodeServer, install
from tests.vscode.workbench import Workbench

ROUNDS = 5
DELTAS = 10_000
# Ten minutes of an agent that says fifty words a second.
HIDDEN_DELTAS = 30_000
POSTS_A_SECOND = 60
_PATIENCE_MS = 120_000
_EMPTY = {
    "package.json": json.dumps(
        {
            "name": "empty",
            "publisher": "bench",
            "version": "0.0.1",
            "engines": {"vscode": "^1.100.0"},
            "main": "./main.js",
            "activationEvents": ["onStartupFinished"],
        }
    ),
    "main.js": "exports.activate = () => {};\n",
}
_TYPES = (
    '<?xml version="1.0" encoding="utf-8"?>'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension=".json" ContentType="application/json"/>'
    '<Default Extension=".js" ContentType="application/javascript"/></Types>'
)
# When posts with frames reached the page, in milliseconds.
_COUNT = """
() => {
  window.__posts = [];
  addEventListener("message", ({ data }) => {
    if (Array.isArray(data?.frames)) window.__posts.push(performance.now());
  });
}
"""


def measure() -> Section:
    return asyncio.run(_measure())


async def _measure() -> Section:
    if not VSIX.is_file():
        raise MeasurementFailed("the extension is not packed: make vsix")
    with tempfile.TemporaryDirectory() as folder:
        async with _open(Path(folder)) as (window, house):
            activation = await _activation(window)
            posts = await _posts(window)
            screen, hidden = await _returns(window, house)
    return Section(
        title="The extension in VS Code",
        lines=(
            Line(what="activation", samples=activation["portico"], unit="seconds", budget=_at_most(0.1)),
            Line(what="  of an extension that does nothing", samples=activation["empty"], unit="seconds"),
            Line(
                what=f"posts to the page, {DELTAS:,} deltas",
                samples=posts,
                unit="per second",
                budget=_at_most(POSTS_A_SECOND),
            ),
            Line(what="a hidden chat comes back, one screen", samples=screen, unit="seconds"),
            Line(what=f"  after {HIDDEN_DELTAS:,} deltas meanwhile", samples=hidden, unit="seconds"),
            Line(what="  over one screen", samples=hidden.over(screen), unit="ratio", budget=_at_most(1.5)),
        ),
        notes=(
            "Activation is what VS Code itself lists under Show Running Extensions: loading the code and calling it.",
            "Posts are counted in the page, over the busiest second.",
        ),
    )


@asynccontextmanager
async def _open(home: Path) -> AsyncIterator[tuple[Workbench, House]]:
    expect.set_options(timeout=_PATIENCE_MS)
    house = furnish(home / "home")
    extensions = home / "extensions"
    await asyncio.to_thread(install, extensions, house.environ(), _pack_empty(home), VSIX)
    server = CodeServer(home / "vscode", extensions, house.environ())
    await asyncio.to_thread(server.start)
    try:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find(), args=ARGUMENTS)
            window = Workbench(await browser.new_page(viewport={"width": 1280, "height": 820}))
            await window.open(server, house.workspace)
            yield window, house
            await browser.close()
    finally:
        server.end()
        house.run("stop")
        house.close()


def _pack_empty(home: Path) -> Path:
    packed = home / "empty.vsix"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        for name, text in _EMPTY.items():
            archive.writestr(f"extension/{name}", text)
    return packed


async def _activation(window: Workbench) -> dict[str, Samples]:
    found: dict[str, list[float]] = {"portico": [], "empty": []}
    for _ in range(ROUNDS):
        await window.command("Developer: Show Running Extensions")
        for name, times in found.items():
            row = window.page.locator(".runtime-extensions-editor .extension").filter(
                has=window.page.locator(".name", has_text=re.compile(f"^{name}$", re.IGNORECASE))
            )
            told = row.locator(".activation-time")
            await expect(told).to_contain_text("ms")
            times.append(_milliseconds(await told.inner_text()) / 1_000)
        await window.reload()
    await window.command("View: Close All Editors")
    return {name: Samples(tuple(times)) for name, times in found.items()}


def _milliseconds(told: str) -> float:
    if (number := re.search(r"(\d+)\s*ms", told)) is None:
        raise MeasurementFailed(f"VS Code tells no activation time: {told}")
    # VS Code rounds to whole milliseconds.
    return max(0.5, float(number[1]))


async def _posts(window: Workbench) -> Samples:
    chat = await window.open_chat()
    rates = []
    for _ in range(ROUNDS - 2):
        await window.begin_session()
        await chat.prompt.evaluate(_COUNT)
        await _stream(chat, DELTAS)
        times: list[float] = await chat.prompt.evaluate("() => window.__posts")
        rates.append(max(sum(start <= one < start + 1_000 for one in times) for start in times))
    return Samples(tuple(map(float, rates)))


async def _returns(window: Workbench, house: House) -> tuple[Samples, Samples]:
    """How long from the click on the icon until the end of the answer is there: a short one, and a very long one."""
    chat = window.chat()
    screens: list[float] = []
    hiddens: list[float] = []
    for _ in range(ROUNDS - 2):
        for deltas, times in ((20, screens), (HIDDEN_DELTAS, hiddens)):
            await window.begin_session()
            session_id = await window.session_id()
            await chat.ask({"stream": {"count": deltas, "size": 20}}, say("The end of it."))
            await window.leave_chat()
            await _over(house, session_id)
            started = time.perf_counter()
            await window.show()
            await expect(chat.answers.last).to_contain_text("The end of it.")
            times.append(time.perf_counter() - started)
    return Samples(tuple(screens)), Samples(tuple(hiddens))


async def _stream(chat: Chat, deltas: int) -> None:
    await chat.ask({"stream": {"count": deltas, "size": 20}}, say("The end of it."))
    await expect(chat.answers.last).to_contain_text("The end of it.")
    await chat.rested()


async def _over(house: House, session_id: str) -> None:
    def is_over() -> bool:
        return str(house.session(session_id)["summary"]["state"]).endswith("COMPLETED")

    await asyncio.to_thread(wait_until, is_over, "the end of the turn", seconds=_PATIENCE_MS / 1_000)


def _at_most(limit: float) -> Budget:
    return Budget("at most", limit)
