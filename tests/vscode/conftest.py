"""Fixtures of the tests in VS Code: one VS Code, one user and one window per worker, until the last of them."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, ViewportSize, async_playwright, expect

from tests.browser.conftest import ARGUMENTS, PATIENCE_MS, built_page, chromium
from tests.browser.user_environment import House, furnish
from tests.conftest import FAILED
from tests.vscode.editor import VSIX, CodeServer, install
from tests.vscode.workbench import Workbench

__all__ = ["built_page"]

OUTPUT = Path(__file__).parent / "output"
SIZE = ViewportSize(width=1280, height=820)
Open = Callable[..., Awaitable[Workbench]]
Serve = Callable[..., CodeServer]


@pytest.fixture(scope="package")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    made = furnish(tmp_path_factory.mktemp("editor") / "home")
    OUTPUT.mkdir(exist_ok=True)
    yield made
    made.run("stop")
    made.close()


@pytest.fixture
def own_house(tmp_path: Path) -> Iterator[House]:
    """A user of the test's own, without a server. Ask for it first: one is stopped when no window is left to start it."""
    made = furnish(tmp_path / "home")
    yield made
    made.run("stop")
    made.close()


@pytest.fixture(scope="package")
def extensions(tmp_path_factory: pytest.TempPathFactory, house: House, worker_id: str) -> Path:
    """Folder of the installed extension, once for all workers of a run."""
    if not VSIX.is_file():
        pytest.fail("The extension is not packed. Pack it first: make vsix")
    own = tmp_path_factory.getbasetemp()
    place = (own if worker_id == "master" else own.parent) / "extensions"
    install(place, house.environ())
    return place


@pytest.fixture(scope="package")
def code_server(house: House, extensions: Path) -> Iterator[CodeServer]:
    server = CodeServer(house.home / "vscode", extensions, house.environ())
    server.start()
    yield server
    server.end()


@pytest.fixture
def serve(extensions: Path) -> Iterator[Serve]:
    """A VS Code of the test's own: for another user, or with other settings."""
    servers: list[CodeServer] = []

    def serve_one(
        house: House, environ: Mapping[str, str] | None = None, settings: Mapping[str, Any] | None = None
    ) -> CodeServer:
        place = house.home / f"vscode-{len(servers)}"
        server = CodeServer(place, extensions, house.environ(environ), settings=settings)
        server.start()
        servers.append(server)
        return server

    yield serve_one
    for server in servers:
        server.end()


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def profile(
    built_page: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[BrowserContext]:
    """A browser with a profile on disk, which keeps the compiled scripts of VS Code from one window to the next."""
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=chromium(),
            args=ARGUMENTS,
            viewport=SIZE,
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        yield context
        await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def open_window(profile: BrowserContext, code_server: CodeServer, house: House) -> AsyncIterator[Open]:
    """Opens a window that has never been open before."""
    windows: dict[Workbench, str] = {}

    async def open_one(folder: Path = house.workspace, server: CodeServer = code_server) -> Workbench:
        window = Workbench(await profile.new_page())
        windows[window] = server.address
        await window.open(server.address, folder)
        return window

    yield open_one
    for window in windows:
        await window.close()
    for address in set(windows.values()):
        await forget(profile, address)
    calm(house)


async def forget(profile: BrowserContext, address: str) -> None:
    """Browser storage of windows at an address; their scripts stay."""
    page = await profile.new_page()
    tools = await profile.new_cdp_session(page)
    await tools.send("Storage.clearDataForOrigin", {"origin": address, "storageTypes": "all"})
    await page.close()


class Desk:
    """The window that tests share. After one that failed it is another window."""

    def __init__(self, profile: BrowserContext, server: CodeServer, folder: Path) -> None:
        self._profile = profile
        # Under this name the browser keeps nothing that a new window would find.
        self._address = server.address.replace("127.0.0.1", "localhost")
        self._folder = folder
        self._window: Workbench | None = None

    async def window(self) -> Workbench:
        if self._window is None:
            self._window = Workbench(await self._profile.new_page())
            await self._window.open(self._address, self._folder)
        await self._window.tidy()
        return self._window

    async def leave(self) -> None:
        if self._window is not None:
            await self._window.close()
            await forget(self._profile, self._address)
        self._window = None


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def desk(profile: BrowserContext, code_server: CodeServer, house: House) -> AsyncIterator[Desk]:
    desk = Desk(profile, code_server, house.workspace)
    yield desk
    await desk.leave()


@pytest_asyncio.fixture(loop_scope="session")
async def window(request: pytest.FixtureRequest, desk: Desk, house: House) -> AsyncIterator[Workbench]:
    """The window that tests share, with nothing open but a chat in a session of its own."""
    window = await desk.window()
    yield window
    failed = request.node.stash.get(FAILED, False)
    if failed:
        await window.page.screenshot(path=OUTPUT / f"failed-{request.node.name}.png")
        await desk.leave()
    calm(house)
    if failed:
        house.reset_files()


def calm(house: House) -> None:
    """End what a test left under way: the next one works in the same folder."""
    if house.server.record_file.exists() and house.server.answers():
        house.quiet()
