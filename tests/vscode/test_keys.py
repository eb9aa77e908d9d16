"""Keys of models, which VS Code keeps: they reach the server and nobody else, in a real VS Code."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.house import House
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.editor import CodeServer
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")
VARIABLE = "MISTRAL_API_KEY"
KEY = "sk-nobody-may-see-this-7391"


def models(house: House) -> list[str]:
    if not (house.server.record_file.exists() and house.server.answers()):
        return []
    return [one["name"] for one in house.server.ask("ListModels", {}).get("models", [])]


def has_model(house: House) -> bool:
    return any(name.startswith("mistral:") for name in models(house))


def files_with(words: bytes, *folders: Path) -> list[Path]:
    """Files that are no secret storage of a browser: VS Code keeps its secrets there, sealed."""
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if words in file.read_bytes()]


async def test_a_key_reaches_the_server_and_no_file_and_is_forgotten_on_request(
    window: Workbench, house: House, code_server: CodeServer
) -> None:
    await window.command("Portico: Connect a Model")
    await window.pick("Mistral")
    field = window.picker.locator("input:visible").first
    await expect(field).to_have_attribute("type", "password")
    await window.type(KEY)
    await window.told(f"agents that start from now on have {VARIABLE}")
    assert has_model(house)
    await window.page.screenshot(path=OUTPUT / "key.png")

    first = house.server.process
    assert VARIABLE not in first.environ()
    await window.command("Portico: Restart Server")
    wait_until(lambda: not first.is_running() and has_model(house), "a server that has the key again")
    assert house.server.process.environ()[VARIABLE] == KEY
    await window.chat().ready()
    assert files_with(KEY.encode(), code_server.data, house.home / "portico", house.workspace) == []

    await window.command("Portico: Disconnect a Model")
    await window.pick(VARIABLE)
    await window.told(f"{VARIABLE} is forgotten")
    assert not has_model(house)
    await window.command("Portico: Disconnect a Model")
    await window.told("VS Code keeps no key of a model")
