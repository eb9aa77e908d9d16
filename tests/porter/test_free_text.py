"""Porter's answers to free text without a model."""

import subprocess
from pathlib import Path

import pytest

from portico.acp import _schema as schema
from portico.porter.commands.fallback_answer import symbols_in
from portico.porter.models.model import ModelFacts
from portico.porter.prompt import command_for
from tests.porter.client import Client, connected
from tests.porter.loop.scripted import Say, ScriptedModel
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
    assert client.text.startswith("No model is connected to me yet")
    assert "`/help` lists all commands" in client.text
    assert client.text.count("`portico ") == 1


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


EXPLAIN_SELECTION = """Explain lines 4–5 of @harbour/boats.py:

```python
def launch(boat):
    return boat.float_off()
```"""


@pytest.mark.parametrize(
    "text",
    [
        EXPLAIN_SELECTION,
        "Why does float_off fail?",
        "Explain line 9 of @a.py:\n\n```python\nlaunch(boat)\n```",
    ],
    ids=["a selected definition", "a name in a question", "a selected call"],
)
async def test_a_name_in_free_text_is_explained_without_a_model(
    client: Client, folder: Path, text: str
) -> None:
    (folder / "boats.py").write_text("def launch(boat):\n    pass\n\n\ndef float_off():\n    pass\n")
    session = await client.open(folder)
    assert await client.prompt(session, text) == "end_turn"
    assert client.text.startswith("No model is connected to me yet")
    name = "float_off" if text.startswith("Why") else "launch"
    assert f"**`{name}`** — function in `boats.py:" in client.text
    assert "portico models" not in client.text


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What is in boats.py and README.md?", []),
        ("```\n" * 20_000, []),
        ("```py\nclass Boat:\n    def sail(self): ...\n```", ["Boat", "sail"]),
        ("```py\nif (x): print(run_it(y))\n```", ["run_it"]),
    ],
    ids=["files", "fences", "definitions", "calls"],
)
def test_names_are_found_in_words_and_code(text: str, names: list[str]) -> None:
    assert symbols_in(text) == names


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


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("where is parse_config defined?", "/explain parse_config"),
        ("Where is the class `Session.Close()` implemented", "/explain Session.Close"),
        ("find the definition of parse_config", "/explain parse_config"),
        ("who calls parse_config?", "/explain parse_config"),
        ("run the tests", "/test"),
        ("Please run all tests again.", "/test"),
        ("do the tests still pass?", "/test"),
        ("what changed?", "/changes"),
        ("What have I changed so far?", "/changes"),
        ("show me the diff", "/changes"),
        ("search for TODO", "/search TODO"),
        ('search for "in tests"', '/search "in tests"'),
        ("grep `a b`", '/search "a b"'),
    ],
)
def test_a_text_that_a_command_answers_is_recognised(text: str, command: str) -> None:
    assert str(command_for(text)) == command


@pytest.mark.parametrize(
    "text",
    [
        "where is the bug?",
        "where is parse_config defined, and why does it fail?",
        "run the tests and fix what fails",
        "what changed between versions 1 and 2?",
        "search for a better name for this class",
        "what calls for a change here",
        f"where is {'x' * 300} defined",
        "",
    ],
)
def test_a_text_that_wants_more_is_for_a_model(text: str) -> None:
    assert command_for(text) is None


async def test_a_command_answers_free_text_without_a_model_and_says_so(client: Client, folder: Path) -> None:
    (folder / "a.py").write_text("def parse_config():\n    return {}\n")
    session = await client.open(folder)
    assert await client.prompt(session, "Where is parse_config defined?") == "end_turn"
    assert client.text.startswith(
        "Porter's command `/explain parse_config` answers this, without a model:\n\n"
    )
    assert "function in `a.py:1`" in client.text
    client.forget()
    await client.prompt(session, "run the tests")
    assert client.text.startswith(
        "Porter's command `/test` answers this, without a model:\n\nNo tests were found"
    )


async def test_a_command_answers_for_a_small_model_and_a_large_one_answers_itself(
    state: Path, folder: Path
) -> None:
    (folder / "a.py").write_text("def parse_config():\n    return {}\n")
    small = ScriptedModel([Say("As shown.")], ModelFacts(window=32_000, small=True))
    large = ScriptedModel([Say("In a.py.")])
    for model in (small, large):
        async with connected(state, setup_of=model.setup()) as client:
            session = await client.open(folder)
            await client.prompt(session, "where is parse_config defined?")
            assert ("`/explain parse_config` answers this" in client.text) is (model is small)
            assert len(model.requests) == (0 if model is small else 1)
            if model is small:
                await client.prompt(session, "and what does it do?")
    told = small.requests[0].messages[0].parts[0].text  # type: ignore[union-attr]
    assert told.startswith("[The user ran Porter's command '/explain parse_config'")


async def test_changes_since_the_last_commit_are_shown(client: Client, folder: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@localhost")
        subprocess.run(("git", *identity, *words), cwd=folder, check=True, capture_output=True)

    session = await client.open(folder)
    await client.prompt(session, "/changes")
    assert client.text == "This folder is not in a git repository, so what changed is not known."
    git("init", "-q")
    (folder / "a.py").write_text("x = 1\n")
    (folder / ".env").write_text("TOKEN=1\n")
    git("add", "-A")
    client.forget()
    await client.prompt(session, "what changed?")
    assert "2 files changed since the last commit:\n\n- `.env` +1 −0\n- `a.py` +1 −0" in client.text
    assert "+x = 1" in client.text
    assert "TOKEN" not in client.text
    assert "1 file may contain secrets" in client.text
    git("commit", "-qm", "One")
    client.forget()
    await client.prompt(session, "/changes")
    assert client.text == "Nothing changed since the last commit."
    (folder / "a.py").write_text("x = 2\n")
    (folder / "new file.py").write_text("y = 1\n")
    client.forget()
    await client.prompt(session, "/changes")
    assert "- `a.py` +1 −1\n- `new file.py` (new)" in client.text
    assert "-x = 1\n+x = 2" in client.text
    (folder / "inner").mkdir()
    client.forget()
    await client.prompt(await client.open(folder / "inner"), "/changes")
    assert client.text == "Nothing changed since the last commit."
