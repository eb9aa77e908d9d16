"""What the tests in VS Code share: one VS Code and one user per worker, a fresh window per test."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.browser.conftest import browser, built_page
from tests.browser.house import House, furnish
from tests.vscode.editor import VSIX, CodeServer, Workbench

__all__ = ["browser", "built_page"]

OUTPUT = Path(__file__).parent / "output"
Open = Callable[..., Awaitable[Workbench]]


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    if not VSIX.is_file():
        pytest.fail("The extension is not packed. Pack it first: make vsix")
    made = furnish(tmp_path_factory.mktemp("editor") / "home")
    yield made
    made.run("stop")
    made.close()


@pytest.fixture(scope="session")
def code_server(house: House) -> Iterator[CodeServer]:
    server = CodeServer(house.home / "vscode", house.environ())
    server.start()
    yield server
    server.end()


@pytest_asyncio.fixture(loop_scope="session")
async def open_window(browser: Browser, code_server: CodeServer, house: House) -> AsyncIterator[Open]:
    contexts = []

    async def open_one(folder: Path = house.workspace, server: CodeServer = code_server) -> Workbench:
        context = await browser.new_context(viewport={"width": 1280, "height": 820})
        contexts.append(context)
        window = Workbench(await context.new_page())
        await window.open(server, folder)
        return window

    yield open_one
    for context in contexts:
        await context.close()
