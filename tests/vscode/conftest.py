"""What the tests in VS Code share: one VS Code, one user and one window per worker."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, ViewportSize

from tests.browser.conftest import browser, built_page
from tests.browser.user_environment import House, furnish
from tests.vscode.editor import VSIX, CodeServer, install
from tests.vscode.workbench import Workbench

__all__ = ["browser", "built_page"]

OUTPUT = Path(__file__).parent / "output"
SIZE = ViewportSize(width=1280, height=820)
FAILED = pytest.StashKey[bool]()
Open = Callable[..., Awaitable[Workbench]]
Serve = Callable[..., CodeServer]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[FAILED] = True
    return report


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def extensions(tmp_path_factory: pytest.TempPathFactory, house: House, worker_id: str) -> Path:
    """Where the extension is installed, once for all workers of a run."""
    if not VSIX.is_file():
        pytest.fail("The extension is not packed. Pack it first: make vsix")
    own = tmp_path_factory.getbasetemp()
    place = (own if worker_id == "master" else own.parent) / "extensions"
    install(place, house.environ())
    return place


@pytest.fixture(scope="session")
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


@pytest_asyncio.fixture(loop_scope="session")
async def open_window(browser: Browser, code_server: CodeServer, house: House) -> AsyncIterator[Open]:
    """Opens a window that has never been open before."""
    windows = []

    async def open_one(folder: Path = house.workspace, server: CodeServer = code_server) -> Workbench:
        context = await browser.new_context(viewport=SIZE)
        window = Workbench(await context.new_page())
        windows.append(window)
        await window.open(server, folder)
        return window

    yield open_one
    for window in windows:
        await window.close()
    calm(house)


class Desk:
    """The window that tests share. After one that failed it is another window."""

    def __init__(self, browser: Browser, server: CodeServer, folder: Path) -> None:
        self._browser = browser
        self._server = server
        self._folder = folder
        self._window: Workbench | None = None

    async def window(self) -> Workbench:
        if self._window is None:
            context = await self._browser.new_context(viewport=SIZE)
            self._window = Workbench(await context.new_page())
            await self._window.open(self._server, self._folder)
        await self._window.tidy()
        return self._window

    async def leave(self) -> None:
        if self._window is not None:
            await self._window.close()
        self._window = None


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def desk(browser: Browser, code_server: CodeServer, house: House) -> AsyncIterator[Desk]:
    desk = Desk(browser, code_server, house.workspace)
    yield desk
    await desk.leave()


@pytest_asyncio.fixture(loop_scope="session")
async def window(request: pytest.FixtureRequest, desk: Desk, house: House) -> AsyncIterator[Workbench]:
    """The window that tests share, with nothing open but a chat in a session of its own."""
    window = await desk.window()
    yield window
    if request.node.stash.get(FAILED, False):
        await window.page.screenshot(path=OUTPUT / f"failed-{request.node.name}.png")
        await desk.leave()
    calm(house)


def calm(house: House) -> None:
    """End what a test left under way: the next one works in the same folder."""
    if house.server.record_file.exists() and house.server.answers():
        house.quiet()
