"""What Porter says to those who do not know its commands."""

from pathlib import Path

import pytest

from portico.acp import _schema as schema
from tests.porter.client import Client
from tests.porter.projects import bring_along


async def test_help_shows_every_command_that_was_announced(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, "/help") == "end_turn"
    [update] = client.updates(schema.AvailableCommandsUpdate)
    for command in update.available_commands:
        assert f"- `/{command.name}" in client.text
        assert command.description in client.text


async def test_help_for_one_command_shows_how_it_is_used(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/HELP /edit")
    assert "<<<<<<< SEARCH" in client.text
    client.forget()
    await client.prompt(session, "/help serch")
    assert "Did you mean `/search`?" in client.text


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("/serach x", "Unknown command `/serach`. Did you mean `/search`?"),
        ("/zzz", "Unknown command `/zzz`. `/help` lists all commands."),
    ],
)
async def test_an_unknown_command_gets_the_nearest_ones(
    client: Client, folder: Path, prompt: str, answer: str
) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, prompt) == "end_turn"
    assert client.text == answer


@pytest.mark.parametrize(
    "text", ["Refactor the parse_config function, please", "/usr/bin is full", "/", "//"]
)
async def test_free_text_gets_an_honest_answer(client: Client, folder: Path, text: str) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, text) == "end_turn"
    assert "no model is connected to me yet" in client.text
    assert "`portico models use PROVIDER:MODEL`" in client.text
    assert "`portico models pull qwen2.5-coder`" in client.text
    assert 'portico exec --agent claude "…"' in client.text
    assert "--agent-command" in client.text
    assert "`/help` lists all commands." in client.text
    assert client.calls == []


async def test_the_examples_fit_the_folder_and_the_question(client: Client, folder: Path) -> None:
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "ruff.toml").write_text("")
    bring_along(folder, "pytest", "ruff")
    session = await client.open(folder)
    await client.prompt(session, "What does parse_config do?")
    assert "- `/explain parse_config` shows" in client.text
    assert "- `/test` runs the tests of this project, with `.venv/bin/pytest`" in client.text
    assert "- `/fix` formats the code, with `.venv/bin/ruff check --fix .`" in client.text
    client.forget()
    (folder / "inner").mkdir()
    session = await client.open(folder / "inner")
    await client.prompt(session, "hello")
    assert "/test" not in client.text
    assert "- `/search TODO` finds text in all files" in client.text


async def test_a_pasted_word_of_megabytes_is_answered_at_once(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, f"{'a' * 2_000_000} parse_config") == "end_turn"
    assert "- `/explain parse_config` shows" in client.text


async def test_an_empty_prompt_is_answered_too(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    assert await client.prompt(session, " \n ") == "end_turn"
    assert "The prompt is empty." in client.text
    request = schema.PromptRequest(session_id=session, prompt=[])
    assert (await client.end.prompt(request)).stop_reason == "end_turn"


async def test_attachments_are_noticed(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    link = schema.ResourceLink(name="a.py", uri="file:///some/a.py")
    odd = schema.ResourceLink(name="odd", uri="http://[broken")
    sound = schema.AudioContent(data="", mime_type="audio/wav")
    await client.prompt(session, "what is this?", link, odd, sound)
    assert "You attached `a.py`, `odd`, `a recording`" in client.text


async def test_text_may_come_in_several_blocks(client: Client, folder: Path) -> None:
    session = await client.open(folder)
    await client.prompt(session, "/todo add", schema.TextContent(text=" milk"))
    assert "1. [ ] milk" in client.text
