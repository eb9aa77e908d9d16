"""Fixtures of the page tests: one browser and one server per worker, a fresh profile per test."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from portico.doors.http.page import BUILT_PAGE
from scripts.find_browser import VARIABLE, find
from tests.browser.chat import Chat
from tests.browser.user_environment import House, furnish

OUTPUT = Path(__file__).parent / "output"
WIDTHS = (300, 480, 1100)
HEIGHT = 760
PATIENCE_MS = 20_000
# Behind the address bar of every window Chromium loads two pages of its own, which cost more than ours does, and beside
# every page it keeps a process in reserve. None of it is visible. The last one parses large scripts although it has
# them compiled.
UNSEEN = (
    *("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess"),
    "BackgroundResourceFetch",
)
# Of two lists Chromium takes the last one. These stand in the one that Playwright gives.
LEFT_OUT_BY_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=" + ",".join(LEFT_OUT_BY_PLAYWRIGHT + UNSEEN),
]

Open = Callable[..., Awaitable[Chat]]
Shoot = Callable[..., Awaitable[None]]


@pytest.fixture(scope="session")
def built_page() -> None:
    if not (BUILT_PAGE / "build.json").is_file():
        pytest.fail("The page is not built, so there is nothing to look at. Build it first: make page")


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def browser(built_page: None) -> AsyncIterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        found = await playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield found
        await found.close()


@pytest.fixture(scope="package")
def shared_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, str]]:
    house = furnish(tmp_path_factory.mktemp("house") / "home")
    link = house.open()
    yield house, link
    house.leave()


@pytest.fixture
def house(shared_house: tuple[House, str]) -> Iterator[House]:
    """The house that tests share: what they leave under way is ended."""
    yield shared_house[0]
    shared_house[0].quiet()


@pytest.fixture
def own_house(own_home: Path) -> Iterator[House]:
    """For a test that hurts its server."""
    house = furnish(own_home / "house")
    yield house
    house.leave()


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser) -> AsyncIterator[Open]:
    """Opens a page as a person would, by the link that the server prints. Nothing on it may go wrong unseen."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    async def open_page(link: str, *, beside: Chat | None = None, **options: Any) -> Chat:
        if beside is None:
            view = {"width": 1100, "height": HEIGHT}
            context = await browser.new_context(**{"viewport": view, "reduced_motion": "reduce", **options})
            context.set_default_timeout(PATIENCE_MS)
            await context.grant_permissions(["clipboard-read", "clipboard-write"])
            contexts.append(context)
        else:
            context = beside.page.context
        page = await context.new_page()
        _watch(page, problems)
        await page.goto(link)
        chat = Chat(page)
        await chat.ready()
        return chat

    yield open_page
    for context in contexts:
        await context.close()
    assert problems == []


@pytest_asyncio.fixture(loop_scope="session")
async def chat(house: House, shared_house: tuple[House, str], open_page: Open) -> Chat:
    """A page with a new session, at the house that tests share."""
    return await open_page(shared_house[1])


@pytest.fixture
def shoot() -> Shoot:
    """Keeps pictures of a page as it looks at the usual widths, by day and if wanted by night.

    They are for people. With several workers, as in a whole run, there are none: drawing them takes time.
    """

    async def shoot(chat: Chat, name: str, *, night: bool = False, widths: tuple[int, ...] = WIDTHS) -> None:
        if "PYTEST_XDIST_WORKER" in os.environ:
            return
        OUTPUT.mkdir(exist_ok=True)
        before = chat.page.viewport_size
        for width in widths:
            await chat.page.set_viewport_size({"width": width, "height": HEIGHT})
            await chat.page.screenshot(path=OUTPUT / f"{name}-{width}.png", animations="disabled")
            if night:
                await chat.page.emulate_media(color_scheme="dark")
                await chat.page.screenshot(path=OUTPUT / f"{name}-{width}-night.png", animations="disabled")
                await chat.page.emulate_media(color_scheme="light")
        if before is not None:
            await chat.page.set_viewport_size(before)

    return shoot


def chromium() -> str:
    program = find()
    if program is None:
        pytest.fail(f"There is no Chromium. Install one, or name it with {VARIABLE}=/path/to/chromium.")
    return program


def _watch(page: Page, problems: list[str]) -> None:
    page.on("pageerror", lambda error: problems.append(str(error)))
    # What the policy of the page forbids is said on the console, and nowhere else.
    page.on("console", lambda told: problems.append(told.text) if "Content Security" in told.text else None)
