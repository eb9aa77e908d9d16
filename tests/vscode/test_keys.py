"""Model keys kept by VS Code: they reach the server and nothing else, in a real VS Code."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, expect

from tests.browser.user_environment import House
from tests.support.processes import lives
from tests.support.waiting import wait_until
from tests.vscode.conftest import OUTPUT
from tests.vscode.editor import CodeServer
from tests.vscode.retry import ATTEMPT_MS, persist
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.asyncio(loop_scope="session")
VARIABLE = "MISTRAL_API_KEY"
KEY = "sk-nobody-may-see-this-7391"
TYPED_KEY = "sk-nor-may-anybody-this-2846"


@pytest.fixture(autouse=True)
def unreachable_providers(house: House) -> Iterator[None]:
    """Providers at an address where nothing answers: a key that is saved is not checked by a real one."""
    nowhere = {"address": "http://127.0.0.1:9"}
    usual = {"agent": "scripted", "agents": house.agents}
    house.settings({**usual, "models": dict.fromkeys(("mistral", "openrouter", "groq"), nowhere)})
    yield
    house.settings(usual)


def models(house: House) -> list[str]:
    if not (house.server.record_file.exists() and house.server.answers()):
        return []
    return [one["name"] for one in house.server.ask("ListModels", {}).get("models", [])]


def has_model(house: House, provider: str = "mistral") -> bool:
    return any(name.startswith(f"{provider}:") for name in models(house))


def files_with(words: bytes, *folders: Path) -> list[Path]:
    """Files that are no secret storage of a browser: VS Code keeps its secrets there, sealed."""
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if words in file.read_bytes()]


async def test_a_key_reaches_the_server_and_no_file_and_is_forgotten_on_request(
    window: Workbench, house: House, code_server: CodeServer
) -> None:
    await window.command("Portico: Connect a Model")
    dialog = window.chat_frame.get_by_role("dialog", name="Connect a model")
    await dialog.get_by_label("Provider").select_option("Mistral")
    await expect(dialog.get_by_text("Stored by VS Code")).to_be_visible()
    await window.page.screenshot(path=OUTPUT / "key.png")
    await dialog.get_by_label("Provider").select_option("Key for another agent…")
    await keep_by_form(dialog, VARIABLE, KEY)
    assert has_model(house)
    await dialog.get_by_role("button", name="Close").click()

    first = house.server.process
    assert VARIABLE not in first.environ()
    await window.command("Portico: Restart Server")
    wait_until(lambda: not lives(first) and has_model(house), "a server that has the key again")
    assert house.server.process.environ()[VARIABLE] == KEY
    await window.chat().ready()
    assert files_with(KEY.encode(), code_server.data, house.home / "portico", house.workspace) == []

    await window.command("Portico: Disconnect a Model")
    await window.pick(VARIABLE)
    await window.told(f"{VARIABLE} deleted")
    assert not has_model(house)
    await window.command("Portico: Disconnect a Model")
    await window.told("No model keys are stored")


async def keep_by_form(card: Locator, variable: str, key: str = TYPED_KEY) -> None:
    """Into the form for one, which is open."""
    await card.get_by_role("textbox", name=re.compile("^Environment variable")).fill(variable)
    field = card.get_by_role("textbox", name="Key", exact=True)
    await field.fill(key)
    await card.get_by_role("button", name="Save key").click()
    await expect(card.get_by_text("Key saved. Agents started from now on can use it.")).to_be_visible()
    await expect(field).to_have_value("")


async def restart(window: Workbench) -> None:
    async def attempt() -> None:
        await window.command("Portico: Restart Server")
        await expect(window.picker).to_be_hidden(timeout=ATTEMPT_MS)

    await persist(attempt)


async def forget_by_command(window: Workbench, variable: str) -> None:
    """The key entered last is the only one that is kept."""
    labels = window.picker.locator(".monaco-list-row .label-name:visible")

    async def attempt() -> None:
        await window.command("Portico: Disconnect a Model")
        await expect(labels).to_have_text([variable], timeout=ATTEMPT_MS)

    await persist(attempt)
    await window.pick(variable)
    await window.told(f"{variable} deleted")


async def test_a_key_that_is_typed_into_the_chat_is_kept_by_vs_code_and_outlives_the_server(
    window: Workbench, house: House, code_server: CodeServer
) -> None:
    chat = window.chat()
    await chat.new_session("guarded")
    await chat.ask("let me in")
    card = chat.card("Error: The agent needs you to sign in")
    await card.get_by_role("button", name="Connect with a key").click()
    await expect(
        card.get_by_text("Stored by VS Code, passed to agents as an environment variable")
    ).to_be_visible()

    await keep_by_form(card, "OPENROUTER_API_KEY")
    assert has_model(house, "openrouter")
    await card.get_by_role("button", name="Delete OPENROUTER_API_KEY").click()
    await expect(card.get_by_text("OPENROUTER_API_KEY deleted.")).to_be_visible()
    assert not has_model(house, "openrouter")

    await keep_by_form(card, "GROQ_API_KEY")
    await window.page.screenshot(path=OUTPUT / "key-form.png")
    first = house.server.process
    await restart(window)
    wait_until(lambda: not lives(first) and has_model(house, "groq"), "a server that has the key again")
    environ = house.server.process.environ()
    assert environ["GROQ_API_KEY"] == TYPED_KEY
    assert "OPENROUTER_API_KEY" not in environ
    await chat.ready()
    assert files_with(TYPED_KEY.encode(), code_server.data, house.home / "portico", house.workspace) == []

    await forget_by_command(window, "GROQ_API_KEY")
    assert not has_model(house, "groq")
